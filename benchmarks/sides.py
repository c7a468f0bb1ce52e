"""The sides that bench.py compares: each grades the same answers with the same tests, and says who has full marks."""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import in_nbgrader
import peers
from answers import COURSE, ROOT, UNITS, make, write_scripts
from figures import Measured
from measuring import Took, run

from grader.engine.criteria import criteria_of_unit

UNIT = "self_attention"
# How many submissions the slow sides grade in a round. The others grade the whole class.
FEW = 20


@dataclass(frozen=True)
class Side:
    """One way to grade.

    name: what the table calls it. key: what the figures call it. size: how many submissions one command grades. cores:
    how many it may use. beside: the key of the side of which it should be a multiple.
    """

    key: str
    name: str
    size: int
    cores: int
    beside: str
    measure: Callable[[], Measured]


def each(grade: Callable[[Path], tuple[Took, bool]], submissions: Sequence[Path], name: str) -> Measured:
    """Grade each submission with a command of its own."""
    graded = {submission.name: grade(submission) for submission in submissions}
    check(name, submissions, {student for student, (_, full) in graded.items() if full})
    return mean(took for took, _ in graded.values())


def together(grade: Callable[[], tuple[Took, set[str]]], submissions: Sequence[Path], name: str) -> Measured:
    """Grade all submissions with one command."""
    took, full = grade()
    check(name, submissions, full)
    return Measured(took.wall / len(submissions), took.processor / len(submissions), took.memory)


def mean(all_took: Iterable[Took]) -> Measured:
    took = list(all_took)
    wall, processor = (statistics.mean(getattr(one, clock) for one in took) for clock in ("wall", "processor"))
    return Measured(wall, processor, max(one.memory for one in took))


def check(name: str, submissions: Sequence[Path], full: set[str]) -> None:
    """Exit unless exactly the right answers have full marks: otherwise the sides did not run the same tests."""
    right = {submission.name for submission in submissions if submission.name.startswith("right")}
    for student in sorted(right ^ full):
        found = "has no full marks" if student in right else "has full marks"
        raise SystemExit(f"{student} {found} with {name}, so the sides cannot be compared.")


# -- ours and pytest -----------------------------------------------------------------------------------------------


def grade_command(submissions: Path, into: Path, jobs: int, unit: str | None) -> list[str]:
    only = ["--unit", unit] if unit else []
    return [sys.executable, "-m", "grader", "grade", str(submissions), "--out", str(into), "--jobs", str(jobs), *only]


def run_ours(submissions: Path, unit: str | None, jobs: int, cores: Collection[int]) -> tuple[Took, dict[str, Any]]:
    """Grade all submissions of a folder. Returns what it took, and the report of each student."""
    with tempfile.TemporaryDirectory() as into:
        took, _ = run(grade_command(submissions, Path(into), jobs, unit), ROOT, cores=cores)
        return took, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path(into).glob("*.json")}


def full_marks(reports: dict[str, Any]) -> set[str]:
    """Return the students with full marks for all exercises. No submission here answers a quiz."""
    found = set()
    for student, report in reports.items():
        exercises = [exercise for unit in report["units"].values() for exercise in unit["exercises"].values()]
        if sum(one["points"] for one in exercises) == sum(one["possible"] for one in exercises):
            found.add(student)
    return found


def run_pytest(submission: Path, unit: str | None, cores: Collection[int]) -> tuple[Took, int]:
    """Run the suites on a submission in a new pytest process. Returns what it took, and how many tests passed."""
    settings = ROOT / "grader" / "engine" / "pytest.ini"
    suites = [path for one in ([unit] if unit else UNITS) for path in COURSE.hidden_tests(one)]
    command = [
        sys.executable, "-m", "pytest", *map(str, suites), "-c", str(settings), "--noconftest", "-q",
        "--tb=native", "-p", "in_process", "--submission", str(submission),
    ]  # fmt: skip
    paths = f"{ROOT}{os.pathsep}{Path(__file__).resolve().parent}"
    took, output = run(command, submission, (0, 1), cores, PYTHONPATH=paths, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    passed = re.search(r"(\d+) passed", output)
    return took, int(passed[1]) if passed else 0


def number_of_tests(unit: str | None) -> int:
    return sum(len(criteria_of_unit(COURSE, one)) for one in ([unit] if unit else UNITS))


# -- all -----------------------------------------------------------------------------------------------------------


class Sides:
    """Makes the classes in a folder, and what each side needs to grade them."""

    def __init__(self, folder: Path, size: int, cores: Sequence[int]) -> None:
        self.folder, self.size, self.few = folder, size, min(size, FEW)
        self.one, self.both = cores[:1], cores[:2]
        self.students = make([UNIT], size)
        self.submissions = self.write("class", list(self.students))
        # Of the same kinds, but of all units. Its commands take long, so it is smaller.
        self.whole_size = max(1, size // 5)
        write_scripts(make(UNITS, self.whole_size), folder / "whole")
        self.whole = sorted((folder / "whole").iterdir(), key=lambda path: path.name.rpartition("-")[2])

    def write(self, name: str, students: Sequence[str]) -> list[Path]:
        write_scripts({student: self.students[student] for student in students}, self.folder / name)
        return [self.folder / name / student for student in students]

    def ratio(self) -> list[Side]:
        """Return the sides whose ratio is compared each night: cold pytest, and a small class."""
        few = self.write("few", list(self.students)[: self.few])
        return [
            self.pytest("pytest", f"cold `pytest`, `{UNIT}`", self.submissions[: self.few], UNIT),
            self.ours("few", "warm, 1 job", few, UNIT, 1),
        ]

    def all(self, others: Sequence[Side] = ()) -> list[Side]:
        """Return every side in the order of the table. The others are those that need a download."""
        submissions = self.submissions
        imports = [sys.executable, "-c", "import torch, pytest"]
        return [
            Side("imports", "`import torch, pytest` alone", 1, 1, "", lambda: self.cold_imports(imports)),
            *self.ratio(),
            self.cold("cold_1", 1),
            self.cold("cold_2", 2),
            *([self.ours("warm_1", "warm, 1 job", submissions, UNIT, 1)] if self.size > self.few else []),
            self.ours("warm_2", "warm, 2 jobs", submissions, UNIT, 2),
            *self.nbgrader(),
            *others,
            self.pytest("whole_pytest", "cold `pytest`, all units", self.whole[: self.few], None),
            self.ours("whole_1", "warm, 1 job", self.whole, None, 1),
        ]

    def cold_imports(self, command: list[str]) -> Measured:
        return mean(run(command, ROOT, cores=self.one)[0] for _ in range(self.few))

    def pytest(self, key: str, name: str, submissions: Sequence[Path], unit: str | None) -> Side:
        tests = number_of_tests(unit)

        def grade(submission: Path) -> tuple[Took, bool]:
            took, passed = run_pytest(submission, unit, self.one)
            return took, passed == tests

        return Side(key, name, 1, 1, "", lambda: each(grade, submissions, name))

    def ours(self, key: str, how: str, submissions: Sequence[Path], unit: str | None, jobs: int) -> Side:
        def grade() -> tuple[Took, set[str]]:
            took, reports = run_ours(submissions[0].parent, unit, jobs, self.both[:jobs])
            return took, full_marks(reports)

        name = f"`grader grade`, {how}" + ("" if unit else ", all units")
        beside = "pytest" if unit else "whole_pytest"
        return Side(key, name, len(submissions), jobs, beside, lambda: together(grade, submissions, name))

    def cold(self, key: str, jobs: int) -> Side:
        name = f"`grader grade`, cold, {jobs} {'job' if jobs == 1 else 'jobs'}"

        def grade(submission: Path) -> tuple[Took, bool]:
            took, reports = run_ours(submission, UNIT, jobs, self.both[:jobs])
            return took, submission.name in full_marks(reports)

        return Side(key, name, 1, jobs, "pytest", lambda: each(grade, self.submissions[: self.few], name))

    def nbgrader(self) -> list[Side]:
        ours, own = in_nbgrader.make_courses(self.folder / "nbgrader", UNIT, self.students, self.few)
        names = "nbgrader, its own `Execute`", "nbgrader, our preprocessor"
        few = self.submissions[: self.few]

        def side(key: str, name: str, course: Path, submissions: Sequence[Path]) -> Side:
            def measure() -> Measured:
                return together(lambda: in_nbgrader.autograde(course, UNIT, self.both), submissions, name)

            return Side(key, name, len(submissions), 2, "pytest", measure)

        return [side("nbgrader", names[0], own, few), side("in_nbgrader", names[1], ours, self.submissions)]

    def peers(self) -> list[Side]:
        """Install otter-grader and check50, and return their sides: none if they cannot be installed."""
        python = peers.install(self.folder / "peers")
        if python is None:
            return []
        archive = peers.make_otter(python, self.folder / "otter", UNIT)
        checks = peers.make_check50(self.folder / "check50" / UNIT, UNIT)
        few = self.submissions[: self.few]

        def otter() -> Measured:
            return together(lambda: peers.run_otter(python, archive, UNIT, few, self.both), few, "otter-grader")

        def check50() -> Measured:
            return each(lambda one: peers.run_check50(python, checks, one, self.both), few, "check50")

        return [
            Side("otter", "otter-grader, without a container", len(few), 2, "pytest", otter),
            Side("check50", "check50, local checks", 1, 2, "pytest", check50),
        ]
