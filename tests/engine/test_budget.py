"""The limits of a grading process: exceeding one affects only the submission that caused it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import courses
import pytest
from users import as_ordinary_user

import grader
from grader.engine.grading_processes import OUT_OF_MEMORY

pytestmark = pytest.mark.proof(part="grading")

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
ASKED = "expect_close(student.add(a, b), a + b, "
TOO_LONG = "Checking its results took more than 2 s of processor time in the grader."
# The work of a check, for an answer of seven, that exceeds each limit.
GREEDY = {
    "memory": ("bytearray(2**31)", OUT_OF_MEMORY),
    "torch's memory": ("__import__('torch').ones(2**30)", OUT_OF_MEMORY),
    "processor time": ("[None for _ in iter(int, 1)]", TOO_LONG),
    "processor time, in code that handles all errors": (
        "exec('try:\\n    [None for _ in iter(int, 1)]\\nexcept Exception: pass')",
        TOO_LONG,
    ),
}


def make_greedy(course: Path, work: str) -> None:
    """Make a test of the course do this work if the answer is seven."""
    suite = course / "suites" / "sums" / "add.py"
    text = suite.read_text(encoding="utf-8")
    assert ASKED in text
    suite.write_text(
        text.replace(ASKED, f"if student.add(3, 4) == 7 and student.add(0, 0) == 7: {work}\n    {ASKED}"),
        encoding="utf-8",
    )
    settings = course / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("cpu_seconds: 30", "cpu_seconds: 2"))


@pytest.mark.parametrize("limit", GREEDY)
def test_a_unit_that_exceeds_a_limit_gets_no_points_and_the_other_submissions_keep_theirs(
    own_small_course: Path, tmp_path: Path, limit: str
) -> None:
    work, reason = GREEDY[limit]
    make_greedy(own_small_course, work)
    seven = RIGHT.replace("return hidden_in_the_solution", "return 7 if type(b) is int else hidden_in_the_solution")
    for student, text in (("ada", RIGHT), ("eve", seven), ("zoe", RIGHT)):
        courses.hand_in(tmp_path / "class" / student, text)
    done = courses.run_grader(own_small_course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert done.returncode == 0, done.stderr
    reports = courses.read_reports(tmp_path / "reports")
    assert {student: report["points"] for student, report in reports.items()} == {"ada": 5, "eve": 0, "zoe": 5}
    assert reasons(reports["eve"]) == {reason}


def reasons(report: dict[str, Any]) -> set[str]:
    """The reasons why the tests of its exercises failed."""
    exercises = report["units"]["sums"]["exercises"].values()
    return {test["reason"] for exercise in exercises for test in exercise["tests"]}


# Grades two submissions while the engine or its fork server may start no process, and one afterwards.
CROWDED = """\
import resource, sys
from pathlib import Path
from grader.course.model import find_course
from grader.engine.engine_client import Engine
from grader.submissions.reader import read_submission

def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

right = read_submission("ada", Path(sys.argv[1]), ["sums"], Path(sys.argv[1]))
with Engine(find_course(Path(sys.argv[3]))) as engine:
    engine.handshake()
    pid = engine._process.pid
    crowded = pid if sys.argv[2] == "engine" else int(children(pid)[0])
    _, most = resource.prlimit(crowded, resource.RLIMIT_NPROC, (1, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
    for _, result in engine.turns(2).all([right, right]):
        print(result.splitlines()[-1])
    resource.prlimit(crowded, resource.RLIMIT_NPROC, (most, most))
    for _, result in engine.turns(1).all([right]):
        print(sum(outcome.passed for outcome in result.outcomes))
"""
REFUSED = "could not be started: Resource temporarily unavailable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user whose processes are limited")
@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("engine", f"a grading process {REFUSED}"),
        ("server", f"grader.sandbox.processes.ServerLost: a process {REFUSED}"),
    ],
)
def test_a_failed_fork_affects_only_its_submission(small_course: Path, tmp_path: Path, place: str, fault: str) -> None:
    for folder in (tmp_path, small_course):
        folder.chmod(0o755)
    answers = courses.hand_in(tmp_path / "ada", RIGHT)
    command = [sys.executable, "-c", CROWDED, answers, place, small_course]
    needed = [tmp_path, small_course, Path(grader.__file__).parents[1]]
    done = subprocess.run(as_ordinary_user(command, needed), cwd="/", capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [fault, fault, "3"], done.stderr
