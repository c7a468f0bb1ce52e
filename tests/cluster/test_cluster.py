"""A class graded by the workers of a Dask cluster: the scheduler and each worker are processes of their own."""

from __future__ import annotations

import dataclasses
import datetime
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import courses
import pytest
from dask_cluster import DaskCluster, dask_cluster, steady_reports
from distributed import Client, KilledWorker
from processes import children, until, until_ended

from grader.cluster import cluster_client, connection
from grader.cluster.cluster_client import ClusterGrading
from grader.cluster.cluster_messages import WorkerAnswer
from grader.cluster.connection import CERTIFICATE_COMMAND
from grader.engine.engine_messages import EngineRequest
from grader.errors import GraderError, InternalError
from grader.submissions.submission import Submission

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
# Takes the whole time of its unit, so that it is certainly being graded when its worker is killed.
ENDLESS = RIGHT.replace("    hidden_in", "    while True:\n        pass\n    hidden_in")
CLASS = {
    "ada": ENDLESS,
    "bob": RIGHT,
    "cyd": RIGHT.replace("a + b", "a - b"),
    "dan": "print('loud', __file__)\nraise ValueError('\\udc80 in an error')\n",
    "fay": RIGHT.replace("    hidden_in", "    raise ValueError('\\udc80' + __file__)\n    hidden_in"),
    "eve": courses.SMALL_COURSE["exercises/sums.py"],
}

TWO = ("cyd", "fay")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return courses.make_small_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    for name, text in CLASS.items():
        courses.hand_in(folder / name, text)
    return folder


@pytest.fixture(scope="module")
def serial(course: Path, submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The reports of a run without a cluster, one submission at a time."""
    reports = tmp_path_factory.mktemp("serial")
    done = courses.run_grader(course, "grade", submissions, "--out", reports, "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return steady_reports(reports)


@pytest.fixture
def cluster(course: Path, tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path / "cluster", course) as cluster:
        yield cluster


def test_any_plain_worker_gives_the_reports_of_a_serial_run_to_the_byte(
    course: Path, submissions: Path, serial: dict[str, bytes], cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.worker(course)
    done = courses.run_grader(course, "grade", submissions, "--out", tmp_path / "out", "--scheduler", cluster.address)
    assert done.returncode == 0, done.stderr
    assert steady_reports(tmp_path / "out") == serial
    assert {path.name for path in (tmp_path / "out" / "instructor").iterdir()} == {
        f"{name}.pytest.json" for name in CLASS
    }


@pytest.mark.proof(part="grading")
def test_a_worker_that_is_killed_while_it_grades_loses_no_student_and_doubles_none(
    course: Path, submissions: Path, serial: dict[str, bytes], cluster: DaskCluster, tmp_path: Path
) -> None:
    killed = cluster.worker(course, "--no-nanny", "--nthreads", "1")
    command = courses.grader_command("grade", submissions, "--out", tmp_path / "out", "--scheduler", cluster.address)
    with (
        Client(cluster.address, set_as_default=False) as client,
        subprocess.Popen(
            command, cwd=course, env=courses.environment(course), stderr=subprocess.PIPE, text=True
        ) as grading,
    ):
        until(lambda: any(client.processing().values()))
        # The worker's child is the engine, whose children are the fork server and a grading process.
        [engine] = until(lambda: [one for one in children(killed.pid) if len(children(one)) > 1])
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        until_ended([engine])
        cluster.worker(course, "--no-nanny", "--nthreads", "1")
        _, errors = grading.communicate()
    assert grading.returncode == 0, errors
    graded = [line.split()[1] for line in errors.splitlines() if line.startswith("graded ")]
    assert sorted(graded) == sorted(CLASS)
    assert steady_reports(tmp_path / "out") == serial


@pytest.mark.proof(part="grading")
def test_a_worker_that_cannot_isolate_grades_only_if_that_is_allowed(
    course: Path, submissions: Path, cluster: DaskCluster, tmp_path: Path
) -> None:
    command = [*courses.WHERE_NOTHING_ISOLATES, sys.executable, "-m", "distributed.cli.dask_worker", cluster.address]
    environment = courses.environment(course)
    grade = ("grade", submissions / "bob", "--out", tmp_path / "out", "--scheduler", cluster.address)
    with subprocess.Popen(
        [*command, "--no-nanny", "--no-dashboard", "--local-directory", tmp_path / "scratch"],
        cwd=course,
        env=environment,
        stderr=subprocess.DEVNULL,
    ) as worker:
        try:
            refused = courses.run_grader(course, *grade)
            allowed = courses.run_grader(course, *grade, "--allow-unisolated")
        finally:
            worker.kill()
    assert refused.returncode == 3
    assert "Student code cannot be isolated on the worker tcp://127.0.0.1:" in refused.stderr
    assert "seccomp: This system refuses seccomp filters" in refused.stderr
    assert "To grade without isolation: --allow-unisolated" in refused.stderr
    assert allowed.returncode == 0, allowed.stderr
    [report] = courses.read_reports(tmp_path / "out").values()
    assert (report["isolation"]["enough"], report["units"]["sums"]["points"]) == (False, 5)


@pytest.mark.proof(part="grading")
def test_certificates_by_the_command_of_the_message_are_enough_for_tls(
    course: Path, submissions: Path, serial: dict[str, bytes], tmp_path: Path
) -> None:
    subprocess.run(shlex.split(CERTIFICATE_COMMAND), cwd=tmp_path, check=True, capture_output=True)
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    options = ["--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key)]
    with dask_cluster(tmp_path / "cluster", course, options) as cluster:
        assert cluster.address.startswith("tls://")
        cluster.worker(course, "--nthreads", "2")
        given = [submissions / name for name in TWO]
        command = courses.grader_command("grade", *given, "--out", tmp_path / "out", "--scheduler", cluster.address)
        environment = courses.environment(course)
        without = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, check=False)
        tls = "DASK_DISTRIBUTED__COMM__TLS__"
        environment |= {f"{tls}CA_FILE": str(certificate)}
        environment |= {f"{tls}CLIENT__CERT": str(certificate), f"{tls}CLIENT__KEY": str(key)}
        with_them = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, check=False)
    assert without.returncode == 2
    assert "Dask's settings do not name the certificate of the authority" in without.stderr
    assert CERTIFICATE_COMMAND in without.stderr
    assert with_them.returncode == 0, with_them.stderr
    assert steady_reports(tmp_path / "out") == {name: serial[name] for name in TWO}


@pytest.mark.proof(part="grading")
def test_a_scheduler_that_is_stopped_ends_the_batch_with_what_is_graded(
    course: Path, submissions: Path, cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.worker(course, "--no-nanny", "--nthreads", "1")
    # The second one takes so long that it is certainly being graded.
    given = [submissions / name for name in ("bob", "ada")]
    command = courses.grader_command("grade", *given, "--out", tmp_path / "out", "--scheduler", cluster.address)
    with subprocess.Popen(
        command, cwd=course, env=courses.environment(course), stderr=subprocess.PIPE, text=True
    ) as grading:
        until(lambda: list((tmp_path / "out").glob("*.json")))
        cluster.close()
        _, errors = grading.communicate()
    assert grading.returncode == 3
    assert "scheduler" in errors
    assert "the same command continues with them" in errors
    assert steady_reports(tmp_path / "out").keys() == {"bob"}


def test_everybody_who_handed_in_the_same_gets_the_result() -> None:
    ada, bob = (Submission(name, None, {}) for name in ("ada", "bob"))
    grading = ClusterGrading(courses.COURSE, {}, allow_unisolated=False, scheduler="")
    made = grading.marked(dataclasses.replace(ada, copies=(bob,)), "a reason", datetime.datetime.now(datetime.UTC))
    assert [(one.student, reason) for one, reason in made] == [("ada", "a reason"), ("bob", "a reason")]


def test_a_malformed_answer_and_the_end_of_all_workers_are_faults_that_name_the_worker() -> None:
    def reason(error: Exception | None) -> object:
        future: Any = SimpleNamespace(exception=lambda: error, result=lambda: b"{}")
        return grading._result(future, EngineRequest(1, {}), [])

    grading = ClusterGrading(courses.COURSE, {}, allow_unisolated=False, scheduler="tcp://here")
    there: Any = SimpleNamespace(address="tcp://there", who_has=lambda _: {"a task": ["tcp://there"]})
    grading._client = there
    assert reason(None) == "the worker tcp://there sent a malformed answer: kind: Field required"
    killed = KilledWorker("a task", there, 1)
    assert reason(killed) == "each worker that graded it ended, the last one at tcp://there"
    with pytest.raises(InternalError, match=r"^Dask could not run the grader at tcp://here \(ImportError: no dask\)"):
        reason(ImportError("no dask"))


def test_a_worker_that_refuses_ends_the_batch_and_is_named() -> None:
    answer = WorkerAnswer(kind="refused", worker="tcp://there", reasons=["its torch is 1"], missing={}, versions={})
    with pytest.raises(InternalError, match=r"The worker tcp://there refuses to grade: its torch is 1\. Install"):
        cluster_client._why_not_graded(answer, "its torch is 1")


def test_without_dask_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    missing = pytest.raises(GraderError, match=r"needs distributed, which is not installed: pip install .*\[cluster\]")
    with missing, connection.connect("tcp://127.0.0.1:8786"):
        pass
