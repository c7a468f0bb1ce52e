"""What a worker runs, in this process: one engine for all of its threads, and an answer to everything."""

from __future__ import annotations

import itertools
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import courses
import processes
import pytest

from grader.cluster import cluster_worker
from grader.cluster.cluster_messages import RemoteResult, Task, WorkerAnswer, read_answer
from grader.cluster.cluster_worker import installed
from grader.course.model import load_course
from grader.engine.engine_messages import EngineHandshake, EngineRequest
from grader.submissions.submission import UnitSource

UNIT = "simple_attention"
RIGHT = (courses.REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
STUB = (courses.REPOSITORY / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def new_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster_worker.COURSE_VARIABLE, str(courses.REPOSITORY))
    monkeypatch.setattr(cluster_worker, "WORKER", cluster_worker.WorkerProcess())


@pytest.fixture(scope="module")
def needed() -> dict[str, str]:
    return installed(courses.COURSE)


def request(text: str) -> EngineRequest:
    return EngineRequest(7, {UNIT: UnitSource(f"{UNIT}.py", (text,))})


@pytest.mark.usefixtures("true_engines")
def test_threads_share_an_engine_and_a_new_one_follows_one_that_was_killed(
    needed: dict[str, str], handshake: EngineHandshake
) -> None:
    def points(text: str) -> int | str:
        task = Task(needed, False, request(text))
        _, result = read_answer(cluster_worker.grade(task.to_bytes()), task.request, handshake.criteria)
        return sum(one.passed for one in result.outcomes) if isinstance(result, RemoteResult) else result

    most = sum(one.unit == UNIT for one in handshake.criteria)
    before = processes.children(os.getpid())
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(points, [RIGHT, STUB] * 2)) == [most, 0] * 2
        [engine] = set(processes.children(os.getpid())) - set(before)
        os.kill(engine, signal.SIGSTOP)
        waiting = threads.submit(points, RIGHT)
        processes.until(lambda: cluster_worker.WORKER.engine()._waiting)
        os.kill(engine, signal.SIGKILL)
        assert waiting.result() == "The grading engine ended with code -9."
    assert points(RIGHT) == most
    [engine] = set(processes.children(os.getpid())) - set(before)
    os.kill(engine, signal.SIGKILL)
    processes.until(lambda: processes.children(os.getpid()) == before)


def test_without_the_course_a_worker_refuses(
    needed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cluster_worker.COURSE_VARIABLE, str(tmp_path))
    answer = cluster_worker.grade(Task(needed, False, request(RIGHT)).to_bytes())
    found, reason = read_answer(answer, request(RIGHT), [])
    assert found.kind == "refused"
    assert "has no autograder.yml" in str(reason)


def test_another_grader_course_or_torch_is_refused_by_name(needed: dict[str, str]) -> None:
    others = {name: f"{version[:-1]}?" for name, version in needed.items()}
    answer = cluster_worker.grade(Task(others, False, request(RIGHT)).to_bytes())
    found, reason = read_answer(answer, request(RIGHT), [])
    assert found.kind == "refused"
    assert str(reason).split("; ") == [
        f"its {name} is {needed[name]}, and this machine's is {others[name]}" for name in ("grader", "course", "torch")
    ]


def test_what_is_installed_changes_with_the_grader_the_course_and_its_suites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, package = courses.make_small_course(tmp_path / "course"), tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(cluster_worker, "PACKAGE", package)
    suite = load_course(root).suites / "sums" / "add.py"
    found = [installed(load_course(root))]
    for file in (package / "text.py", root / "autograder.yml", root / "solutions" / "sums.py", suite):
        with file.open("a", encoding="utf-8") as opened:
            opened.write("# changed\n")
        found.append(installed(load_course(root)))
    changed = [[name for name in one if one[name] != other[name]] for one, other in itertools.pairwise(found)]
    assert changed == [["grader"], ["course"], ["course"], ["course"]]


def test_an_error_of_a_worker_is_an_answer_with_its_process() -> None:
    found, reason = read_answer(cluster_worker.grade(b"no task"), request(RIGHT), [])
    assert isinstance(found, WorkerAnswer)
    assert (found.kind, str(reason).partition(":")[0]) == ("failed", "JSONDecodeError")
    assert f"process {os.getpid()} on " in found.worker
