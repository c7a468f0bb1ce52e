"""The gradebook: the grade of every student in every unit, from the roster and the reports."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from grader.classes.record import Grade, grades
from grader.classes.roster import Entry
from grader.errors import GraderError
from grader.reports.changes import undated
from grader.reports.folder import read_report
from grader.reports.model import Report, Unit
from grader.reports.reading import entries_of, is_handed_in
from grader.text import in_words

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from grader.classes.collected import Collected
    from grader.course.model import Course

_NO_REPORT = "There is no report: grade again."
UNTOUCHED = ("not written yet", "not handed in")
"""The states of exercises that a student has not begun."""
NO_RECORDS: Mapping[str, Grade] = MappingProxyType({})
Reports = dict[str, dict[str, Report | str]]
"""The report on each unit of each student, or why it cannot be read."""
State = Literal["graded", "not handed in", "exempt", "not due", "not graded"]


@dataclass(frozen=True)
class UnitGrade:
    """One student's grade in one unit.

    Attributes:
        state: What the grade is: "not handed in" counts as 0 points; "exempt", "not due" and "not graded" do not count.
        report: The report with the unit, if there is one.
        unit: The unit in it, if the state is "graded" or "not handed in".
        note: Why it is not graded, or what an instructor has to know about it.
    """

    state: State
    report: Report | None = None
    unit: Unit | None = None
    note: str = ""

    @property
    def points(self) -> int | None:
        """The points; None if the unit does not count."""
        if self.state == "graded" and self.unit:
            return self.unit.points
        return 0 if self.state == "not handed in" else None


@dataclass(frozen=True)
class Row:
    """A student's grades by unit, and anomalies."""

    entry: Entry
    grades: Mapping[str, UnitGrade]
    noticed: Sequence[str] = ()

    @property
    def points(self) -> int:
        """The sum over the units that count."""
        return sum(grade.points or 0 for grade in self.grades.values())

    @property
    def is_complete(self) -> bool:
        """Whether no unit waits to be graded."""
        return all(grade.state != "not graded" for grade in self.grades.values())


@dataclass(frozen=True)
class Gradebook:
    """The class.

    Attributes:
        possible: The possible points of each unit.
        rows: The students, in the order of the roster; then those who are in no roster.
        strangers: The students who have a report and are not in the roster.
    """

    possible: Mapping[str, int]
    rows: Sequence[Row]
    strangers: Sequence[str] = ()

    def total(self, row: Row) -> int | None:
        """Return a student's points; None if a unit waits to be graded, because the rest would look like a grade."""
        return row.points if row.is_complete else None

    def total_possible(self, row: Row) -> int:
        """Return the possible points of a student, without the units that do not count."""
        return sum(
            possible for unit, possible in self.possible.items() if row.grades[unit].state not in ("exempt", "not due")
        )


def read_gradebook(
    course: Course,
    entries: Sequence[Entry],
    reports: Path,
    now: datetime.datetime,
    unit: str | None = None,
    collected: Collected | None = None,
) -> Gradebook:
    """Read the reports of a class: reports/<student>.json, or reports/<unit>/<student>.json.

    Args:
        course: The course.
        entries: The roster. If it is empty, every student with a report is in the class.
        reports: The folder of the reports.
        now: Only units that are over count.
        unit: Only this unit, even if it is not over.
        collected: If given, only reports on the commits that it names are grades.

    Raises:
        GraderError: There are no reports, or some of a unit have other possible points than the rest.
    """
    found = read_reports(course, reports)
    of_record = {grade.student.student: grade for grade in grades(collected, reports)} if collected else {}
    return gradebook_of(course, entries, found, now, [unit] if unit else [], of_record)


def gradebook_of(
    course: Course,
    entries: Sequence[Entry],
    found: Reports,
    now: datetime.datetime,
    asked: Sequence[str] = (),
    of_record: Mapping[str, Grade] = NO_RECORDS,
) -> Gradebook:
    """Make the gradebook from reports that were read.

    Args:
        course: The course.
        entries: The roster, or nothing.
        found: The reports.
        now: Only units that are over count.
        asked: Only these units, even if they are not over.
        of_record: What `grader collect` found of each student.

    Raises:
        GraderError: Some reports of a unit have other possible points than the rest.
    """
    known = {entry.student for entry in entries}
    strangers = [name for name in found if name not in known] if entries else []
    listed = [*(entries or map(Entry, found)), *map(Entry, strangers)]
    units = [*asked] or _units_that_count(course, listed, found, now)
    rows = []
    for entry in listed:
        record = of_record.get(entry.student)
        own: Mapping[str, Report | str] = record.reports if record else found.get(entry.student, {})
        dated = course if asked else course.with_due(entry.due)
        cells = {name: _grade(entry, name, own.get(name, _NO_REPORT), dated, now, bool(asked)) for name in units}
        rows.append(Row(entry, cells, record.student.noticed if record else ()))
    return Gradebook({name: _possible(name, rows) for name in units}, rows, strangers)


def read_reports(course: Course, folder: Path) -> Reports:
    """Return the report on each unit of each student, or why it cannot be read. Raises GraderError."""
    found: dict[str, dict[str, Report | str]] = {}
    for one in (folder, *(folder / unit for unit in course.units)):
        for path in sorted(one.glob("*.json"), key=lambda path: path.stem.casefold()):
            report = read_report(path.stem, one)
            units = report.units if report else [one.name] if one != folder else course.units
            own = found.setdefault(path.stem, {})
            own |= dict.fromkeys(units, report or f"{path} is not a report of this version: grade again.")
    if not found:
        raise GraderError(f"{folder} holds no reports: run `grader grade` with --out {folder} first.")
    return found


def units_begun(reports: Iterable[Report]) -> list[str]:
    """Return the units that somebody has begun; all units of the reports if nobody has."""
    reports = list(reports)
    units = list(dict.fromkeys(name for report in reports for name in report.units))
    begun = [
        name
        for name in units
        if any(
            entry.state not in UNTOUCHED
            for report in reports
            if name in report.units
            for entry in entries_of(report, name)
        )
    ]
    return begun or units


def _units_that_count(course: Course, entries: Sequence[Entry], found: Reports, now: datetime.datetime) -> list[str]:
    """Return the units that are over for somebody, and that somebody has handed in."""
    handed_in = {
        unit
        for own in found.values()
        for unit, report in own.items()
        if isinstance(report, Report) and is_handed_in(unit, report.units[unit])
    }
    over = {unit for entry in entries for unit in course.units if course.with_due(entry.due).is_over(unit, now)}
    return [unit for unit in course.units if unit in handed_in & over]


def _grade(
    entry: Entry, name: str, report: Report | str, course: Course, now: datetime.datetime, asked: bool
) -> UnitGrade:
    """Return a student's grade in a unit, from the report on it. The course has the student's due dates."""
    if name in entry.exempt:
        return UnitGrade("exempt")
    is_over = course.is_over(name, now)
    if not is_over and not asked:
        return UnitGrade("not due", note=f"Due {course.units[name].due_text}.")
    if isinstance(report, str):
        return UnitGrade("not graded", note=report)
    unit = report.units[name]
    if report.suites != "hidden":
        return UnitGrade("not graded", report, note="The report is by the visible tests: grade with `grader grade`.")
    if is_over and unit.quiz and unit.quiz.points is None:
        return UnitGrade("not graded", report, note="It was graded before the due date, without the quiz: grade again.")
    if not is_handed_in(name, unit):
        return UnitGrade("not handed in", report, unit)
    return UnitGrade("graded", report, unit, undated(unit))


def _possible(name: str, rows: Sequence[Row]) -> int:
    """Return the possible points of a unit. Raises GraderError if reports differ."""
    found: dict[int, list[str]] = {}
    for row in rows:
        if unit := row.grades[name].unit:
            found.setdefault(unit.possible, []).append(row.entry.student)
    if len(found) > 1:
        few = min(found.values(), key=len)
        raise GraderError(
            f"The reports on {name} have {in_words([str(points) for points in sorted(found)])} possible points, for "
            f"example that of {few[0]}: grade the class again."
        )
    return next(iter(found), 0)
