"""One student's grade in one unit, from the report on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from grader.reports.model import Report, Unit
from grader.reports.reading import in_zone, is_late, undated
from grader.reports.reading import is_handed_in as has_files
from grader.text import in_words

if TYPE_CHECKING:
    import datetime
    from collections.abc import Collection, Mapping

    from grader.classes.outdated import Current
    from grader.classes.roster import Entry

_NO_REPORT = "There is no report: grade again."
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

    def grade(self, entry: Entry, name: str, own: Mapping[str, Report | str]) -> UnitGrade:
        """Return a student's grade in a unit."""
        course = self.current.decisions.course
        found = own.get(name, _NO_REPORT)
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

    def _problem(self, entry: Entry, name: str, report: Report, is_over: bool) -> str:
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


def comparable(column: list[UnitGrade]) -> list[UnitGrade]:
    """Return the grades in a unit, without those that have other possible points than the newest report."""
    made = [(one.report.started, one.unit.possible) for one in column if one.report and one.unit]
    possible = max(made)[1] if made else 0
    note = "It has other possible points than the newest report: grade again."
    return [
        UnitGrade("not graded", one.report, note=note) if one.unit and one.unit.possible != possible else one
        for one in column
    ]
