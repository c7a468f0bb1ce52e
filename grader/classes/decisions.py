"""What an instructor has decided about a class, applied to reports: extensions, late deductions and adjustments.

The same rules as in nbgrader. They change no test: a report keeps what was earned, and says why the points differ.
"""

from __future__ import annotations

import datetime
import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classes.adjustments import Adjustment, read_adjustments
from grader.classes.matcher import Matcher
from grader.classes.roster import Entry, read_roster
from grader.classes.times import Time, Times, read_times
from grader.reports.model import Change, Received, Report, Unit
from grader.reports.reading import in_zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grader.course.model import Course


@dataclass(frozen=True)
class Decisions:
    """The roster of a class, when its units were handed in, and the adjustments.

    Attributes:
        course: The course, whose `late` has the rules.
        entries: The students; none without a roster.
        times: What tables say about when units were handed in.
        adjustments: The instructor's changes of points.
        staff: Who is in an exported roster and only teaches.
        notes: Sentences on roles in it.
    """

    course: Course
    entries: list[Entry] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    adjustments: list[Adjustment] = field(default_factory=list)
    staff: Sequence[Entry] = ()
    notes: Sequence[str] = ()

    def entry(self, student: str) -> Entry:
        """Return a student's line in the roster; one without extensions if there is none."""
        return next((entry for entry in self.entries if entry.student == student), Entry(student))

    @functools.cached_property
    def matcher(self) -> Matcher:
        """What finds the people behind submissions by their names."""
        return Matcher([*self.entries, *self.staff])

    @property
    def folders(self) -> dict[str, list[str]]:
        """The students of folders and archives that the roster names, several of a group."""
        folders: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.folder:
                folders.setdefault(entry.folder, []).append(entry.student)
        return folders

    def adjusted(self, student: str, unit: str) -> list[Change]:
        """Return the adjustments of a student's points in a unit, and the comments on it; without a unit, on all."""
        return [one.change() for one in self.adjustments if (one.student, one.unit) == (student, unit)]

    def applied(self, report: Report, found: Mapping[str, Time | None]) -> Report:
        """Return a report with the decisions about its student; a second call changes nothing.

        Args:
            report: The report.
            found: When its units were handed in, as far as it is known. Units that are not there were graded before,
                and keep their time.
        """
        entry = self.entry(report.student)
        units = {name: self._unit(name, unit, entry, found) for name, unit in report.units.items()}
        decided = {
            "name": entry.name,
            "timezone": self.course.timezone or "UTC",
            "comments": self.adjusted(report.student, ""),
        }
        return report.with_units(units).model_copy(update=decided)

    def _unit(self, name: str, unit: Unit, entry: Entry, found: Mapping[str, Time | None]) -> Unit:
        earned = earned_points(unit)
        due = entry.due.get(name, self.course.units[name].due)
        time = found[name] if name in found else self.times.kept(entry.student, name, _remembered(unit))
        changes = self.adjusted(entry.student, name)
        if time and (late := self._late(earned, time, due)):
            changes.insert(0, late)
        received = time and Received(
            at=time.at.isoformat(timespec="seconds") if time.at else None,
            source=time.source,
        )
        # Exact, so that rounding cannot cost a point, and rounded once.
        points = math.floor(earned + sum(Fraction(str(change.points)) for change in changes))
        return unit.model_copy(
            update={
                "earned": earned,
                "changes": changes,
                "points": max(0, points),
                "received": received,
                "due": due.isoformat(timespec="seconds"),
                "extended": name in entry.due,
                "exempt": name in entry.exempt,
            }
        )

    def _late(self, earned: int, time: Time, due: datetime.datetime) -> Change | None:
        """Return the deduction of a unit; None if it was in time, or if nobody knows when it came."""
        late, days = self.course.late, 0
        if time.at:
            # In UTC, because the difference of two times in one zone leaves out its changes of the clocks.
            days = late.days((time.at.astimezone(datetime.UTC) - due.astimezone(datetime.UTC)).total_seconds())
        percent = late.percent(days)
        if not percent * earned:
            return None
        many = "1 day has" if days == 1 else f"{days} days have"
        most = ", the most that is taken off" if percent == Fraction(str(late.most_percent)) else ""
        reason = (
            f"Late: {many} begun since it was due, {in_zone(due, self.course.timezone)}. {float(percent):g} %{most}."
        )
        return Change(kind="late", points=-float(earned * percent / 100), reason=reason, exercise=None, by=None)


def _remembered(unit: Unit) -> Time | None:
    """Return the time in a report."""
    if unit.received is None:
        return None
    return Time(datetime.datetime.fromisoformat(unit.received.at) if unit.received.at else None, unit.received.source)


def earned_points(unit: Unit) -> int:
    """Return the points of a unit's exercises and its quiz, before any change."""
    return sum(one.points for one in unit.exercises.values()) + ((unit.quiz.points or 0) if unit.quiz else 0)


def read_decisions(roster: Path, course: Course, downloads: Iterable[Path] = ()) -> Decisions:
    """Read a roster, and times and adjustments.csv in its folder; of the downloads to grade, also their worksheets.

    Raises:
        TableError: A line is wrong.
    """
    entries = read_roster(roster, course.units)
    times = read_times(roster.parent, entries, course, downloads)
    students = {entry.student for entry in entries}
    adjustments = read_adjustments(roster.parent, students, course)
    return Decisions(course, entries, times, adjustments, entries.staff, entries.notes)
