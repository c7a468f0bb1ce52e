"""What an instructor has decided about a class, applied to reports: extensions, late deductions and adjustments.

The same rules as in nbgrader. They change no test: a report keeps what was earned, and says why the points differ.
Adjustments are in adjustments.csv: points that are added or taken away, and comments. rubric.csv beside it has
deductions with a name, so that a change of one changes all who have it.
"""

from __future__ import annotations

import datetime
import functools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from grader.classes.matcher import Matcher
from grader.classes.roster import RosterEntry, read_roster
from grader.classes.tables import Table, TableRow, read_table
from grader.classes.times import Time, Times, read_times
from grader.course.model import Course
from grader.documents import nearest
from grader.reports.reading import in_zone
from grader.reports.report_model import Change, Received, Report, Unit

ADJUSTMENTS = "adjustments.csv"
_COLUMNS = ("student", "unit", "exercise", "points", "comment", "by")
RUBRIC = "rubric.csv"
_RUBRIC_COLUMNS = ("deduction", "points", "text")
_NUMBER = re.compile(r"[+-]?(\d{1,6}([.,]\d*)?|[.,]\d+)", re.ASCII)


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
    entries: list[RosterEntry] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    adjustments: list[Adjustment] = field(default_factory=list)
    staff: Sequence[RosterEntry] = ()
    notes: Sequence[str] = ()

    def entry(self, student: str) -> RosterEntry:
        """Return a student's line in the roster; one without extensions if there is none."""
        return next((entry for entry in self.entries if entry.student == student), RosterEntry(student))

    @functools.cached_property
    def matcher(self) -> Matcher:
        """What finds the people behind submissions by their names."""
        return Matcher([*self.entries, *self.staff])

    @property
    def folders(self) -> dict[str, list[str]]:
        """The students of folders and archives that the roster names, several of a group."""
        folders: dict[str, list[str]] = {}
        for entry in [one for one in self.entries if one.folder]:
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
        comments = self.adjusted(report.student, "")
        decided = {"name": entry.name, "timezone": self.course.timezone or "UTC", "comments": comments}
        return report.with_units(units).model_copy(update=decided)

    def _unit(self, name: str, unit: Unit, entry: RosterEntry, found: Mapping[str, Time | None]) -> Unit:
        # Of its exercises and its quiz, before any change.
        earned = sum(one.points for one in unit.exercises.values()) + ((unit.quiz.points or 0) if unit.quiz else 0)
        due = entry.due.get(name, self.course.units[name].due)
        time = found[name] if name in found else self.times.kept(entry.student, name, remembered(unit))
        changes = self.adjusted(entry.student, name)
        if time and (late := self._late(earned, time, due)):
            changes.insert(0, late)
        at = time.at.isoformat(timespec="seconds") if time and time.at else None
        # Exact, so that rounding cannot cost a point, and rounded once.
        points = math.floor(earned + sum(Fraction(str(change.points)) for change in changes))
        return unit.model_copy(
            update={
                "earned": earned,
                "changes": changes,
                "points": max(0, points),
                "received": time and Received(at=at, source=time.source),
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
        was_due = in_zone(due, self.course.timezone)
        reason = f"Late: {many} begun since it was due, {was_due}. {float(percent):g} %{most}."
        return Change(kind="late", points=-float(earned * percent / 100), reason=reason, exercise=None, by=None)


def remembered(unit: Unit) -> Time | None:
    """Return the time in a report."""
    if unit.received is None:
        return None
    return Time(datetime.datetime.fromisoformat(unit.received.at) if unit.received.at else None, unit.received.source)


def read_decisions(roster: Path | None, course: Course, downloads: Iterable[Path] = ()) -> Decisions:
    """Read a roster, if there is one, times and adjustments.csv in its folder, and the worksheets of the downloads.

    Raises:
        TableError: A line is wrong.
    """
    if roster is None:
        return Decisions(course)
    entries = read_roster(roster, course.units)
    times = read_times(roster.parent, entries, course, downloads)
    adjustments = read_adjustments(roster.parent, {entry.student for entry in entries}, course)
    return Decisions(course, entries, times, adjustments, entries.staff, entries.notes)


class Adjustment(NamedTuple):
    """One line of the file. Without an exercise it is about the whole unit, and without a unit about everything.

    Without points it is a comment.
    """

    student: str
    unit: str
    exercise: str | None
    points: Fraction
    comment: str
    by: str

    def change(self) -> Change:
        """Return what the report says of it."""
        return Change(
            kind="adjustment" if self.points else "comment",
            points=float(self.points),
            reason=self.comment,
            exercise=self.exercise,
            by=self.by,
        )


def read_adjustments(folder: Path, students: Collection[str], course: Course) -> list[Adjustment]:
    """Read adjustments.csv, with rubric.csv, in the folder of the roster; nothing if it does not exist.

    Raises:
        TableError: A line of one of them is wrong.
    """
    rubric = read_rubric(folder, course)
    path = folder / ADJUSTMENTS
    if not path.exists():
        return []
    table = read_table(path, ",".join(_COLUMNS))
    table.require_known(["student", "by"], ["unit", "exercise", "points", "deduction", "comment"])
    seen: dict[tuple[object, ...], int] = {}
    adjustments = []
    for row in table.rows:
        if row["student"] not in students:
            near = nearest(row["student"], students)
            table.report(row, "student", f"{row['student']!r} is not in the roster: correct the name.{near}")
        if not row["by"]:
            table.report(row, "by", "it is empty: write who decided, because the student reads it.")
        name = row["deduction"]
        deduction = rubric.get(name)
        adjustment = _adjustment(row, deduction, course)
        _check_place(table, row, adjustment, deduction, course)
        _check_text(table, row, adjustment, rubric)
        # A deduction counts once; without one, only what is the same in all cells can be a mistake.
        first = seen.setdefault((*adjustment[:3], name) if name else adjustment, row.line)
        if first != row.line:
            table.report(row, "deduction" if name else "comment", f"line {first} says the same: remove one.")
        adjustments.append(adjustment)
    table.require_sound()
    return adjustments


def _adjustment(row: TableRow, deduction: Deduction | None, course: Course) -> Adjustment:
    exercise = row["exercise"] or (deduction.exercise if deduction else None) or None
    unit = row["unit"] or _units(course).get(exercise or "", "")
    points = deduction.points if deduction else number(row["points"] or "0")
    comment = " ".join(filter(None, [deduction.text if deduction else "", row["comment"]]))
    return Adjustment(row["student"], unit, exercise, points or Fraction(0), comment, row["by"])


def _units(course: Course) -> dict[str, str]:
    """Return the unit of each exercise."""
    return {exercise: name for name, unit in course.units.items() for exercise in unit.exercises}


def _check_place(
    table: Table, row: TableRow, adjustment: Adjustment, deduction: Deduction | None, course: Course
) -> None:
    """Report what is wrong about the unit and the exercise."""
    unit, exercise = adjustment.unit, adjustment.exercise
    if row["exercise"] and deduction and deduction.exercise not in (None, exercise):
        sentence = f"{RUBRIC} has {row['deduction']!r} for {deduction.exercise}: leave this cell empty."
        table.report(row, "exercise", sentence)
    elif exercise and unit in course.units and exercise not in course.units[unit].exercises:
        near = nearest(exercise, course.units[unit].exercises)
        table.report(row, "exercise", f"there is no exercise {exercise!r} in {unit}.{near}")
    elif exercise and not unit:
        table.report(row, "exercise", f"there is no exercise {exercise!r}.{nearest(exercise, _units(course))}")
    elif unit and unit not in course.units:
        table.report(row, "unit", f"{unit!r} is not a unit: autograder.yml has {', '.join(course.units)}.")
    elif not unit and adjustment.points:
        table.report(row, "unit", "it is empty: points belong to a unit. A comment without points needs none.")


def _check_text(table: Table, row: TableRow, adjustment: Adjustment, rubric: Mapping[str, Deduction]) -> None:
    """Report what is wrong about the points, the name of a deduction and the comment."""
    name = row["deduction"]
    if name and name not in rubric:
        near = nearest(name, rubric)
        table.report(row, "deduction", f"{name!r} is not in {RUBRIC}: add a line there, or correct the name.{near}")
    elif name and row["points"]:
        table.report(row, "points", f"the points of {name!r} are in {RUBRIC}: leave this cell empty.")
    elif row["points"] and number(row["points"]) is None:
        table.report(row, "points", f"{row['points']!r} is no number of points: write 2, -1 or 0.5.")
    elif not name and not adjustment.comment:
        table.report(row, "comment", "it is empty: write why, because the student reads it.")


class Deduction(NamedTuple):
    """One line of the file. Without an exercise, the line of adjustments.csv says what it is about."""

    points: Fraction
    text: str
    exercise: str | None


def read_rubric(folder: Path, course: Course) -> Mapping[str, Deduction]:
    """Read rubric.csv in the folder of the roster; nothing if it does not exist. Raises TableError."""
    path = folder / RUBRIC
    if not path.exists():
        return {}
    table = read_table(path, ",".join(_RUBRIC_COLUMNS))
    table.require_known(_RUBRIC_COLUMNS, ["exercise"])
    exercises = _units(course)
    found: dict[str, Deduction] = {}
    lines: dict[str, int] = {}
    for row in table.rows:
        name, exercise, points = row["deduction"], row["exercise"] or None, number(row["points"])
        if not name:
            table.report(row, "deduction", "it is empty: write the name that adjustments.csv uses.")
        elif name in found:
            table.report(row, "deduction", f"{name!r} is in line {lines[name]}, too: remove one.")
        if points is None:
            table.report(row, "points", f"{row['points']!r} is no number of points: write -1 or -0.5.")
        elif points > 0:
            table.report(row, "points", f"a deduction takes points off: write -{row['points'].lstrip('+')}.")
        if not row["text"]:
            table.report(row, "text", "it is empty: write why, because the student reads it.")
        if exercise and exercise not in exercises:
            table.report(row, "exercise", f"there is no exercise {exercise!r}.{nearest(exercise, exercises)}")
        found[name] = Deduction(points or Fraction(0), row["text"], exercise)
        lines.setdefault(name, row.line)
    table.require_sound()
    return found


def number(text: str) -> Fraction | None:
    """Return a decimal number, exactly; None if it is something else."""
    return Fraction(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None
