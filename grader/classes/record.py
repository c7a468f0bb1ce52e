"""The grades of record of a class on GitHub: the reports on the commits that collected.json names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classes.collected import Collected, CollectError, Student, alike
from grader.reports import model
from grader.reports.folder import not_graded, read_report

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_GRADED = "not graded"


@dataclass(frozen=True)
class Grade:
    """One student's report of record on each unit, or why there is none; and whether a group has the repository."""

    student: Student
    reports: dict[str, model.Report | str]
    is_shared: bool = False

    @property
    def units(self) -> dict[str, model.Unit | str]:
        """The grade in each unit, or why there is none."""
        return {name: one if isinstance(one, str) else one.units[name] for name, one in self.reports.items()}

    @property
    def graded(self) -> list[model.Unit]:
        """The units that have a grade."""
        return [unit for unit in self.units.values() if isinstance(unit, model.Unit)]

    @property
    def missing(self) -> list[str]:
        """Why something is not graded."""
        if self.student.problem:
            return [self.student.problem]
        return alike({unit: f"{NOT_GRADED}: {why}" for unit, why in self.units.items() if isinstance(why, str)})


def grades_in(reports: Mapping[str, Mapping[str, model.Report | str]]) -> list[Grade]:
    """Return the grade of every student of a class that is not on GitHub, from the reports on each unit."""
    return [Grade(Student(student=student, repository=""), dict(own)) for student, own in reports.items()]


def grades(collected: Collected, reports: Path) -> list[Grade]:
    """Return the grade of every collected student, from reports/<unit>/<student>.json.

    Raises:
        CollectError: There are no reports.
    """
    students = [student for student in collected.students if not student.problem]
    works = [work for student in students for unit, work in student.units.items() if unit in collected.units]
    is_wanted = any(not work.problem for work in works)
    if is_wanted and not any(path for unit in collected.units for path in (reports / unit).glob("*.json")):
        raise CollectError(
            f"{reports} holds no report of {', '.join(collected.units)}: run `grader grade` with --unit <unit> --out "
            f"{reports}/<unit> first."
        )
    reasons = {unit: not_graded(reports / unit) for unit in collected.units}
    # GitHub ignores case in names.
    repositories = [student.repository.casefold() for student in collected.students]
    return [
        Grade(
            student,
            {unit: _report(student, unit, reports / unit, reasons[unit]) for unit in collected.units},
            repositories.count(student.repository.casefold()) > 1,
        )
        for student in collected.students
    ]


def _report(student: Student, name: str, folder: Path, reasons: Mapping[str, str]) -> model.Report | str:
    """Return the report on a unit in the collected commit, or why there is none."""
    if student.student in reasons:
        return reasons[student.student]
    work = student.units.get(name)
    if student.problem or work is None:
        return student.problem or "it was not collected."
    if work.problem:
        return work.problem
    found = read_report(student.student, folder)
    if found is None or name not in found.units:
        return f"there is no report of it in {folder}."
    if work.of(found.commit) is None:
        return f"the report in {folder} is of another commit: grade again."
    if found.suites != "hidden":
        return f"the report in {folder} is by the visible tests: grade with `grader grade`."
    return found
