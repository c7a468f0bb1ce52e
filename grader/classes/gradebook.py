"""The gradebook: the grade of every student in every unit, from the roster and the reports."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.classes.decisions import Decisions
from grader.classes.differences import Current
from grader.classes.record import Grade
from grader.classes.roster import RosterEntry
from grader.course.model import Course
from grader.errors import GraderError
from grader.reports.folder import not_graded, read_report
from grader.reports.reading import entries_of, in_zone, is_late, undated
from grader.reports.reading import is_handed_in as has_files
from grader.reports.report_model import Report, Unit
from grader.text import in_words

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
        is_late: Whether it was handed in after the due date and the grace.
    """

    state: State
    report: Report | None = None
    unit: Unit | None = None
    note: str = ""
    is_late: bool = False

    @property
    def points(self) -> int | None:
        """The points; None if the unit does not count. Without a submission they are those of adjustments."""
        if self.state in ("graded", "not handed in"):
            return self.unit.points if self.unit else 0
        return None


def is_handed_in(report: Report, name: str) -> bool:
    """Return whether a unit of a report is handed in: something that differs from what students receive."""
    return report.handed_in and has_files(name, report.units[name])


@dataclass(frozen=True)
class UnitGrader:
    """Makes grades from reports.

    Attributes:
        current: What reports made now would be based on.
        now: Decides which units are over.
        is_asked: Whether units count that are not over.
        graded: The units whose submissions were graded.
    """

    current: Current
    now: datetime.datetime
    is_asked: bool
    graded: Collection[str]

    def grade(self, entry: RosterEntry, name: str, own: Mapping[str, Report | str]) -> UnitGrade:
        """Return a student's grade in a unit."""
        course = self.current.decisions.course
        found = own.get(name, "There is no report: grade again.")
        report = found if isinstance(found, Report) else None
        if name in entry.exempt:
            return UnitGrade("exempt", report)
        is_over = course.with_due(entry.due).is_over(name, self.now)
        if not is_over and (course.is_over(name, self.now) or not self.is_asked):
            due = in_zone(entry.due.get(name, course.units[name].due), course.timezone)
            return UnitGrade("not due", report, note=f"Due {due}.")
        if not isinstance(found, Report):
            return UnitGrade("not graded", note=found)
        if problem := self._problem(entry, name, found, is_over):
            return UnitGrade("not graded", found, note=problem)
        unit = found.units[name]
        if not is_handed_in(found, name):
            return UnitGrade("not handed in", found, unit)
        return UnitGrade("graded", found, unit, undated(unit), is_late(unit, course.late))

    def _problem(self, entry: RosterEntry, name: str, report: Report, is_over: bool) -> str:
        """Return why a report is no grade; "" if it is one."""
        if report.suites != "hidden":
            return "The report is by the visible tests: grade with `grader grade`."
        quiz = report.units[name].quiz
        if is_over and quiz and quiz.points is None:
            return "It was graded before the due date, without the quiz: grade again."
        if changed := self.current.changed(name, report, entry, is_over):
            return f"It was graded before a change of {in_words(changed)}: grade again."
        if is_over and name not in self.graded:
            return (
                f"It is over, and nobody has handed it in: grade its submissions, with --unit {name} and a folder of "
                "its own for --out; or write exempt into the roster."
            )
        return ""


def _comparable(column: list[UnitGrade]) -> list[UnitGrade]:
    """Return the grades in a unit, without those that have other possible points than the newest report."""
    made = [(one.report.started, one.unit.possible) for one in column if one.report and one.unit]
    possible = max(made)[1] if made else 0
    note = "It has other possible points than the newest report: grade again."
    return [
        UnitGrade("not graded", one.report, note=note) if one.unit and one.unit.possible != possible else one
        for one in column
    ]


@dataclass(frozen=True)
class StudentRow:
    """A student's grades by unit, and anomalies."""

    entry: RosterEntry
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
        possible: The possible points of each unit; 0 if nobody is graded.
        rows: The students of the class, in the order of the roster.
        strangers: The students who have a report and are not in the roster, so that they are not in the class.
    """

    possible: Mapping[str, int]
    rows: Sequence[StudentRow]
    strangers: Sequence[StudentRow] = ()

    def total(self, row: StudentRow) -> int | None:
        """Return a student's points; None if a unit waits to be graded, because the rest would look like a grade."""
        return row.points if row.is_complete else None

    def total_possible(self, row: StudentRow) -> int:
        """Return the possible points of a student, without the units that do not count."""
        return sum(
            possible for unit, possible in self.possible.items() if row.grades[unit].state not in ("exempt", "not due")
        )

    @property
    def unknown(self) -> list[str]:
        """The units with nobody's points, because all wait to be graded, so that the possible points are not known."""
        rows = [*self.rows, *self.strangers]
        waiting = [unit for unit in self.possible if any(row.grades[unit].state == "not graded" for row in rows)]
        return [unit for unit in waiting if not any(row.grades[unit].unit for row in rows)]

    def hand_ins(self, unit: str) -> list[StudentRow]:
        """Return a row for each submission of a unit that is graded: of students who handed in together, the first."""
        found: dict[object, StudentRow] = {}
        for row in self.rows:
            grade = row.grades[unit]
            if grade.state == "graded":
                together = tuple(grade.report.together) if grade.report else ()
                found.setdefault(together or row.entry.student, row)
        return list(found.values())


def gradebook_of(
    decisions: Decisions,
    found: Reports,
    now: datetime.datetime,
    asked: Sequence[str] = (),
    collected: Sequence[Grade] = (),
    graded: Collection[str] = (),
) -> Gradebook:
    """Make the gradebook from reports that were read.

    Args:
        decisions: The course, the roster, or none, and adjustments.
        found: The reports.
        now: Only units that are over count.
        asked: Only these units, even if they are not over.
        collected: The grades of the students that `grader collect` found.
        graded: Units whose submissions were graded, whether or not somebody has handed them in.
    """
    course, entries = decisions.course, decisions.entries
    known = {entry.student for entry in entries}
    others = [_entry_of(name, own) for name, own in found.items() if name not in known]
    members, strangers = (entries, others) if entries else (others, [])
    units = [*asked] or [
        unit for unit in course.units if any(course.with_due(one.due).is_over(unit, now) for one in members)
    ]
    grader = UnitGrader(Current(decisions), now, bool(asked), {*graded, *_graded_units(found)})
    reports: Reports = {**found, **{one.student.student: one.reports for one in collected}}
    noticed = {one.student.student: one.student.noticed for one in collected}
    listed = [*members, *strangers]
    columns = {
        unit: _comparable([grader.grade(one, unit, reports.get(one.student, {})) for one in listed]) for unit in units
    }
    rows = [
        StudentRow(entry, {unit: columns[unit][number] for unit in units}, noticed.get(entry.student, ()))
        for number, entry in enumerate(listed)
    ]
    possible = {
        unit: next((grade.unit.possible for grade in column if grade.unit), 0) for unit, column in columns.items()
    }
    return Gradebook(possible, rows[: len(members)], rows[len(members) :])


def read_reports(course: Course, folder: Path) -> Reports:
    """Return the report on each unit of each student, or why it cannot be read. Raises GraderError."""
    found: dict[str, dict[str, Report | str]] = {}
    for one in (folder, *(folder / unit for unit in course.units)):
        for path in sorted(one.glob("*.json"), key=lambda path: path.stem.casefold()):
            report = read_report(path.stem, one)
            units = report.units if report else [one.name] if one != folder else course.units
            own = found.setdefault(path.stem, {})
            own |= dict.fromkeys(units, report or f"{path} is not a report of this version: grade again.")
        for student, reason in not_graded(one).items():
            own = found.setdefault(student, {})
            own |= dict.fromkeys((own or course.units) if one == folder else [one.name], reason)
    if not found:
        raise GraderError(f"{folder} holds no reports: run `grader grade` with --out {folder} first.")
    return found


def units_begun(reports: Iterable[Report]) -> list[str]:
    """Return the units that somebody has begun; all units of the reports if nobody has."""
    reports = list(reports)
    units = list(dict.fromkeys(name for report in reports for name in report.units))
    return [name for name in units if any(is_begun(one, name) for one in reports if name in one.units)] or units


def is_begun(report: Report, name: str) -> bool:
    """Return whether a student has begun an exercise of a unit."""
    return any(entry.state not in ("not written yet", "not handed in") for entry in entries_of(report, name))


def _entry_of(student: str, own: Mapping[str, Report | str]) -> RosterEntry:
    """Return what the reports on a student say of the roster that they were made with."""
    reports = {name: report for name, report in own.items() if isinstance(report, Report)}
    units = {name: report.units[name] for name, report in reports.items()}
    return RosterEntry(
        student,
        next((report.name for report in reports.values() if report.name), ""),
        due={name: datetime.datetime.fromisoformat(one.due) for name, one in units.items() if one.extended and one.due},
        exempt=frozenset(name for name, one in units.items() if one.exempt),
    )


def _graded_units(found: Reports) -> set[str]:
    """Return the units that somebody handed in, and those that were graded on their own."""
    reports = [(unit, report) for own in found.values() for unit, report in own.items() if isinstance(report, Report)]
    return {unit for unit, report in reports if is_handed_in(report, unit) or [*report.units] == [unit]}
