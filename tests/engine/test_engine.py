"""While suites run: the memory of each process, the effect of killing one, and that none is left running."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import courses
import processes
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes through /proc")

MEGABYTES = 300
# The answers contain a text that is in no source, allocate memory to show that they have started, and may continue.
ANSWERS = f"""\
import mmap, time
CONSTANT = "".join(["zebra", "-on-", "roller-skates/"]) * 20
TAKEN = mmap.mmap(-1, {MEGABYTES} * 2**20)
"""
MADE_AT_IMPORT = "zebra-on-roller-skates/" * 3
FOR_EVER, FOR_A_WHILE = "time.sleep(1000)\n", "time.sleep(2)\n"
Done = subprocess.CompletedProcess[str]
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")


@dataclass
class Running:
    """The running program and its processes."""

    program: subprocess.Popen[str]

    @property
    def engine(self) -> int:
        [engine] = processes.children(self.program.pid)
        return engine

    @property
    def server(self) -> int:
        return processes.children(self.engine)[0]

    @property
    def graders(self) -> list[int]:
        return processes.children(self.engine)[1:]

    def student(self) -> int:
        """The student process, when its answers have allocated their memory."""

        def look() -> list[int]:
            return [
                pid
                for engine in processes.children(self.program.pid)
                for server in processes.children(engine)
                for pid in processes.children(server)
                if processes.address_space(pid) >= processes.address_space(server) + MEGABYTES * 2**20
            ]

        return processes.until(look)[0]

    def end(self) -> Done:
        """Wait for the program, and return its result."""
        output, errors = self.program.communicate()
        return Done(self.program.args, self.program.returncode, output, errors)


Starts = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starts]:
    """Start grading the submissions, given as texts by student; reports go to `reports`."""
    started: list[Running] = []

    def start(course: Path, unit: str, at_once: int = 2, **texts: str) -> Running:
        for student, text in texts.items():
            courses.hand_in(tmp_path / "class" / student, text, unit)
        command = courses.grader_command("grade", tmp_path / "class", "--out", tmp_path / "reports", "--jobs", at_once)
        environment = courses.environment(course)
        program = subprocess.Popen(command, cwd=course, env=environment, stdout=-1, stderr=-1, text=True)
        started.append(Running(program))
        return started[-1]

    yield start
    for running in started:
        running.program.kill()
        running.program.communicate()


@pytest.fixture
def patient_course(own_small_course: Path) -> Path:
    """The small course with long time limits."""
    path = own_small_course / "autograder.yml"
    path.write_text(
        path.read_text().replace("call_seconds: 1", "call_seconds: 60").replace("unit_seconds: 4", "unit_seconds: 600")
    )
    return own_small_course


def distinctive_texts(folder: Path) -> list[str]:
    """A few long texts, docstrings included, that are in these files and nowhere in the student process."""
    texts: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isascii():
                texts |= {line.strip() for line in node.value.splitlines()}
    theirs = "".join(path.read_text(encoding="utf-8") for path in (folder.parents[1] / "sandbox").glob("*.py"))
    found = sorted(text for text in texts if len(text) > 40 and text not in theirs)
    return found[:: len(found) // 8]


def test_no_process_holds_what_it_must_not_hold(start: Starts, tmp_path: Path) -> None:
    """With this repository's course: the student process holds nothing hidden, and ours nothing of the student's."""
    course = courses.copy_course(tmp_path / "course", call_seconds=60, unit_seconds=600)
    suites = set(distinctive_texts(course / "grader" / "suites" / "self_attention"))
    solution = "queries, keys, values = project_qkv(inputs, self.W_query, self.W_key, self.W_value)"
    assert solution in (course / "solutions" / "self_attention.py").read_text(encoding="utf-8")
    running = start(course, "self_attention", eve=ANSWERS + FOR_EVER)
    student = running.student()

    # The search finds what is there.
    assert processes.found_in_memory(student, {MADE_AT_IMPORT}) == {MADE_AT_IMPORT}
    assert processes.found_in_memory(running.engine, suites)

    substitute = "(d,), (T, d) to (T,): with the squares of the inputs."
    assert substitute in (course / "grader" / "suites" / "simple_attention" / "substitutes.py").read_text(
        encoding="utf-8"
    )
    assert processes.found_in_memory(student, {*suites, solution, substitute}) == set()
    root = str(Path(__file__).parents[2])  # a checkout may be in a folder of any name
    files = {file.removeprefix(root) for file in processes.mapped_files(student)}
    assert not {file for file in files if "suites" in file or "solutions" in file or str(course) in file}
    trusted = [running.program.pid, running.engine, running.server, *running.graders]
    assert len(trusted) == 4
    for pid in trusted:
        assert processes.found_in_memory(pid, {MADE_AT_IMPORT}) == set()


def kept_and_graded(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.partition(" (")[0] for line in courses.without_seconds(done.stderr).splitlines()]


def steady(reports: Path) -> dict[str, dict[str, Any]]:
    """The parts that are the same in every report on a submission."""
    return {
        student: {name: value for name, value in report.items() if name not in ("timing", "messages")}
        for student, report in courses.read_reports(reports).items()
    }


@pytest.fixture
def undisturbed(tmp_path: Path) -> Callable[[Path], dict[str, dict[str, Any]]]:
    """The reports of the same class if nothing is killed."""

    def undisturbed(course: Path) -> dict[str, dict[str, Any]]:
        courses.run_grader(course, "grade", tmp_path / "class", "--out", tmp_path / "undisturbed")
        return steady(tmp_path / "undisturbed")

    return undisturbed


@pytest.mark.proof(part="grading")
def test_the_next_run_continues_a_batch_that_was_killed(start: Starts, patient_course: Path, tmp_path: Path) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_EVER)
    ada = tmp_path / "reports" / "ada.json"
    processes.until(ada.exists)
    running.student()
    left = processes.descendants(running.program.pid)
    assert len(left) >= 4
    running.program.kill()
    processes.until_ended(left)
    assert courses.read_reports(tmp_path / "reports").keys() == {"ada"}
    before = ada.stat()
    (tmp_path / "class" / "eve" / "sums.py").write_text(RIGHT)
    done = courses.run_grader(patient_course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert kept_and_graded(done) == ["skipped ada", "graded eve"]
    assert ada.stat() == before
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"ada.json", "eve.json", "instructor"}


@pytest.mark.proof(part="grading")
def test_a_second_batch_on_the_same_folder_names_the_first(start: Starts, patient_course: Path, tmp_path: Path) -> None:
    running = start(patient_course, "sums", eve=ANSWERS + FOR_EVER)
    running.student()
    command = ("grade", tmp_path / "class", "--out", tmp_path / "reports")
    second = courses.run_grader(patient_course, *command)
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr == (
        f"--out: another batch is writing to {tmp_path / 'reports'} (process {running.program.pid}): "
        "wait for its end, or name another folder.\n"
    )
    running.program.kill()
    running.end()
    (tmp_path / "class" / "eve" / "sums.py").write_text(RIGHT)
    assert kept_and_graded(courses.run_grader(patient_course, *command)) == ["graded eve"]


@pytest.mark.proof(part="grading")
def test_a_killed_engine_is_reported_and_leaves_no_process_behind(
    start: Starts, patient_course: Path, tmp_path: Path
) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_EVER)
    processes.until((tmp_path / "reports" / "ada.json").exists)
    running.student()
    left = processes.descendants(running.program.pid)
    os.kill(running.engine, 9)
    done = running.end()
    assert done.returncode == 3
    assert done.stderr.splitlines()[1].startswith("The grading engine ended with code -9.")
    assert "Traceback" not in done.stderr
    again = "remove the cause, and the same command continues with them.\n"
    assert done.stderr.endswith(f"1 of 2 were not graded: {again}")
    ada, eve = (line.split() for line in done.stdout.splitlines()[3:5])
    assert ada[:3] == ["ada", "5", "5/5"]
    assert eve == ["eve", "-", "-", "not", "graded"]
    processes.until_ended(left)


@pytest.mark.proof(part="grading")
def test_a_submission_whose_grading_process_dies_is_graded_once_more(
    start: Starts, patient_course: Path, tmp_path: Path, undisturbed: Callable[[Path], dict[str, dict[str, Any]]]
) -> None:
    running = start(patient_course, "sums", at_once=1, ada=RIGHT, eve=ANSWERS + FOR_A_WHILE + RIGHT)
    running.student()
    [grader] = running.graders
    os.kill(grader, 9)
    assert kept_and_graded(running.end()) == ["graded ada", "graded eve"]
    assert steady(tmp_path / "reports") == undisturbed(patient_course)


@pytest.mark.proof(part="grading")
def test_a_grading_process_that_dies_twice_affects_only_its_submission(
    start: Starts, patient_course: Path, tmp_path: Path
) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_EVER, zoe=RIGHT)
    for name in ("ada", "zoe"):
        processes.until((tmp_path / "reports" / f"{name}.json").exists)
    for _ in range(2):
        student = running.student()
        os.kill(running.graders[0], 9)
        processes.until_ended([student])
    done = running.end()
    assert done.returncode == 3
    assert courses.without_seconds(done.stderr).splitlines()[2:] == [
        "could not grade eve (3 of 3)",
        "eve was not graded: the grading process ended with code -9.",
        "1 of 3 were not graded: remove the cause, and the same command continues with them.",
    ]
    assert ["eve", "-", "-", "not", "graded"] in [line.split() for line in done.stdout.splitlines()]
    assert {name: report["points"] for name, report in courses.read_reports(tmp_path / "reports").items()} == {
        "ada": 5, "zoe": 5,
    }  # fmt: skip


@pytest.mark.proof(part="grading")
def test_a_student_process_that_is_killed_twice_affects_only_its_submission(
    start: Starts, patient_course: Path, tmp_path: Path
) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_EVER)
    processes.until((tmp_path / "reports" / "ada.json").exists)
    for _ in range(2):
        student = running.student()
        os.kill(student, 9)
        processes.until_ended([student])
    done = running.end()
    assert done.returncode == 3
    assert "ServerLost: a student's process was killed from outside (signal 9)" in done.stderr
    assert courses.read_reports(tmp_path / "reports").keys() == {"ada"}


@pytest.mark.proof(part="grading")
@pytest.mark.parametrize("neighbours", [{}, {"ada": RIGHT, "zoe": WRONG}], ids=["alone", "in a batch"])
def test_a_fork_server_that_dies_is_restarted_and_changes_no_report(
    start: Starts,
    patient_course: Path,
    tmp_path: Path,
    undisturbed: Callable[[Path], dict[str, dict[str, Any]]],
    neighbours: dict[str, str],
) -> None:
    running = start(patient_course, "sums", eve=ANSWERS + FOR_A_WHILE + RIGHT, **neighbours)
    running.student()
    os.kill(running.server, 9)
    done = running.end()
    assert sorted(kept_and_graded(done)) == [f"graded {student}" for student in sorted({"eve", *neighbours})]
    reports = steady(tmp_path / "reports")
    assert reports == undisturbed(patient_course)
    assert all(report["isolation"]["enough"] for report in reports.values())
