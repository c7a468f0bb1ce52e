"""While suites run: what each process holds, and that none outlives the program."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import courses
import processes
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes through /proc")

THREADS = 40
# The answers hold a text that no source text holds, say by their threads that they have come this far, and go on
# or not.
ANSWERS = f"""\
import threading, time
CONSTANT = "".join(["zebra", "-on-", "roller-skates/"]) * 20
for _ in range({THREADS}):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
"""
MADE_AT_IMPORT = "zebra-on-roller-skates/" * 3
FOR_EVER, FOR_A_WHILE = "time.sleep(1000)\n", "time.sleep(2)\n"
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]


@dataclass
class Running:
    """The program at work, and its processes. Grading processes and students' come and go."""

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
        """The student's process, once its answers have come to their last line."""

        def look() -> list[int]:
            found = processes.descendants(self.program.pid)
            return [pid for pid in found if int(processes.status(pid).get("Threads", 0)) > THREADS]

        return processes.until(look)[0]

    def end(self) -> tuple[int, str]:
        """The exit code and what was written as errors."""
        _, errors = self.program.communicate()
        return self.program.returncode, errors


Starts = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starts]:
    """Starts grading the submissions, given as texts by student; reports go to `reports`."""
    started: list[Running] = []

    def start(course: Path, unit: str, **texts: str) -> Running:
        for student, text in texts.items():
            courses.hand_in(tmp_path / "class" / student, text, unit)
        command = courses.grader_command("grade", tmp_path / "class", "--out", tmp_path / "reports", "--jobs", 2)
        options = {"cwd": course, "env": courses.environment(course), "text": True}
        started.append(Running(subprocess.Popen(command, stdout=-1, stderr=-1, **options)))  # type: ignore[call-overload]
        return started[-1]

    yield start
    for running in started:
        running.program.kill()
        running.program.communicate()


@pytest.fixture
def patient_course(own_small_course: Path) -> Path:
    """The small course, for code that takes its time."""
    path = own_small_course / "autograder.yml"
    path.write_text(
        path.read_text().replace("call_seconds: 1", "call_seconds: 60").replace("unit_seconds: 4", "unit_seconds: 60")
    )
    return own_small_course


def distinctive_texts(folder: Path) -> list[str]:
    """A few long texts from the files there, docstrings included, that stand nowhere on the student's side."""
    texts: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isascii():
                texts |= {line.strip() for line in node.value.splitlines()}
    theirs = "".join(path.read_text(encoding="utf-8") for path in (folder.parents[1] / "sandbox").glob("*.py"))
    found = sorted(text for text in texts if len(text) > 40 and text not in theirs)
    return found[:: len(found) // 8]


def test_no_process_holds_what_it_must_not_hold(start: Starts, tmp_path: Path) -> None:
    """On this repository's own course: the student's process holds nothing of ours, and ours nothing of theirs."""
    course = courses.copy_course(tmp_path / "course", call_seconds=60, unit_seconds=600)
    suites = set(distinctive_texts(course / "grader" / "suites" / "self_attention"))
    solution = "queries, keys, values = project_qkv(inputs, self.W_query, self.W_key, self.W_value)"
    assert solution in (course / "solutions" / "self_attention.py").read_text(encoding="utf-8")
    running = start(course, "self_attention", eve=ANSWERS + FOR_EVER)
    student = running.student()

    # What is there is found, so what is not found is not there.
    assert processes.found_in_memory(student, {MADE_AT_IMPORT}) == {MADE_AT_IMPORT}
    assert processes.found_in_memory(running.engine, suites)

    assert processes.found_in_memory(student, {*suites, solution}) == set()
    files = processes.mapped_files(student)
    assert not {file for file in files if "suites" in file or "solutions" in file or str(course) in file}
    trusted = [running.program.pid, running.engine, running.server, *running.graders]
    assert len(trusted) == 4
    for pid in trusted:
        assert processes.found_in_memory(pid, {MADE_AT_IMPORT}) == set()


def test_a_program_that_is_killed_leaves_no_process_behind(start: Starts, small_course: Path) -> None:
    running = start(small_course, "sums", eve=ANSWERS + FOR_EVER, mel=ANSWERS + FOR_EVER)
    running.student()
    left = processes.descendants(running.program.pid)
    assert len(left) >= 4
    running.program.kill()
    processes.until_ended(left)


def test_where_the_engine_is_killed_it_is_said_and_no_process_is_left(start: Starts, patient_course: Path) -> None:
    running = start(patient_course, "sums", eve=ANSWERS + FOR_EVER)
    running.student()
    left = processes.descendants(running.program.pid)
    os.kill(running.engine, 9)
    code, errors = running.end()
    assert code == 3
    assert "The grading engine ended with code -9" in errors
    assert "Traceback" not in errors
    processes.until_ended(left)


def test_a_grading_process_that_dies_is_tried_once_more(start: Starts, patient_course: Path, tmp_path: Path) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_A_WHILE + RIGHT)
    running.student()
    processes.until((tmp_path / "reports" / "ada.json").exists)
    [grader] = running.graders
    os.kill(grader, 9)
    code, errors = running.end()
    assert (code, "not graded" in errors) == (0, False)
    assert {name: report["points"] for name, report in courses.read_reports(tmp_path / "reports").items()} == {
        "ada": 5, "eve": 5,
    }  # fmt: skip


def test_one_that_dies_twice_is_our_fault_and_costs_no_one_else(
    start: Starts, patient_course: Path, tmp_path: Path
) -> None:
    running = start(patient_course, "sums", ada=RIGHT, eve=ANSWERS + FOR_EVER, zoe=RIGHT)
    for name in ("ada", "zoe"):
        processes.until((tmp_path / "reports" / f"{name}.json").exists)
    for _ in range(2):
        student = running.student()
        os.kill(running.graders[0], 9)
        processes.until_ended([student])
    code, errors = running.end()
    assert code == 3
    assert "eve was not graded: the grading process ended with code -9." in errors
    assert {name: report["points"] for name, report in courses.read_reports(tmp_path / "reports").items()} == {
        "ada": 5, "zoe": 5,
    }  # fmt: skip


def test_a_fork_server_that_dies_is_started_anew_and_costs_no_one_a_point(
    start: Starts, patient_course: Path, tmp_path: Path
) -> None:
    eve, zoe = ANSWERS + FOR_A_WHILE + RIGHT, RIGHT
    running = start(patient_course, "sums", ada=RIGHT, eve=eve, zoe=zoe)
    running.student()
    os.kill(running.server, 9)
    code, errors = running.end()
    assert (code, "not graded" in errors) == (0, False)
    reports = courses.read_reports(tmp_path / "reports")
    assert {name: report["points"] for name, report in reports.items()} == {"ada": 5, "eve": 5, "zoe": 5}
    assert all(report["isolation"]["enough"] for report in reports.values())
