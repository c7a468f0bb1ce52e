"""A submission that is wrong, slow or printing everywhere costs the class its own limits, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from courses import SMALL_COURSE, hand_in, read_reports, run_grader

from grader.course.model import load_course
from grader.sandbox.limits import LEAST_COUNTED

pytestmark = pytest.mark.proof(part="attacks")

HONEST = SMALL_COURSE["solutions/sums.py"]
EVERYTHING = {
    "wrong": "def add(a, b):\n    return a - b\n\n\ndef Scale(factor):\n    return lambda x: x\n",
    "slow": """\
import time


def add(a, b):
    time.sleep(3600)


def Scale(factor):
    while True:
        pass


time.sleep(3600)
""",
    "printing": """\
def add(a, b):
    while True:
        print("y" * 10**6)


def Scale(factor):
    for _ in range(10**6):
        print("\\x1b[2J::error::x")


for _ in range(100):
    print("z" * 10**6)
""",
}


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    """Return what is the same each time the same submission is graded."""
    return {key: value for key, value in report.items() if key not in ("student", "messages", "timing", "versions")}


@pytest.fixture(scope="module")
def honest_alone(small_course: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("honest")
    hand_in(folder / "class" / "ada", HONEST)
    run = run_grader(small_course, "grade", folder / "class", "--out", folder / "reports")
    assert run.returncode == 0, run.stderr
    return read_reports(folder / "reports")["ada"]


@pytest.mark.parametrize("everything", EVERYTHING)
def test_everything_wrong_slow_or_printing_costs_its_own_limits(
    small_course: Path, tmp_path: Path, honest_alone: dict[str, Any], everything: str
) -> None:
    for student, text in (("ada", HONEST), ("bo", EVERYTHING[everything]), ("cy", HONEST)):
        hand_in(tmp_path / "class" / student, text)
    run = run_grader(small_course, "grade", tmp_path / "class", "--out", tmp_path / "reports")
    assert run.returncode == 0, run.stderr
    reports = read_reports(tmp_path / "reports")
    assert [lasting(reports[name]) for name in ("ada", "cy")] == [lasting(honest_alone)] * 2
    assert reports["bo"]["points"] == 0
    limits = load_course(small_course).limits
    # Only a share of waiting for a processor is charged.
    assert reports["bo"]["timing"]["seconds"] < (limits.unit_seconds + limits.call_seconds) / LEAST_COUNTED
    assert all(len(message["text"]) < limits.output_kb * 1024 for message in reports["bo"]["messages"])
