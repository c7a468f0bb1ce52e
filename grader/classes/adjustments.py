"""adjustments.csv: points that an instructor adds or takes away, and comments. Every grading applies them again."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.rubric import RUBRIC, Deduction, number, read_rubric
from grader.classes.tables import read_table
from grader.documents import nearest
from grader.reports.model import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from grader.classes.tables import Row
    from grader.course.model import Course

ADJUSTMENTS = "adjustments.csv"
_COLUMNS = ("student", "unit", "exercise", "points", "comment", "by")
_Problem = tuple[str, str]
"""A column, and what is wrong in it."""


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
        deduction = rubric.get(row["deduction"])
        adjustment = _adjustment(row, deduction, course)
        problems = [*_place_problems(row, adjustment, deduction, course), *_text_problems(row, adjustment, rubric)]
        name = row["deduction"]
        # A deduction counts once; without one, only what is the same in all cells can be a mistake.
        first = seen.setdefault((*adjustment[:3], name) if name else adjustment, row.line)
        if first != row.line:
            problems.append(("deduction" if name else "comment", f"line {first} says the same: remove one."))
        for column, sentence in problems:
            table.report(row, column, sentence)
        adjustments.append(adjustment)
    table.require_sound()
    return adjustments


def _adjustment(row: Row, deduction: Deduction | None, course: Course) -> Adjustment:
    units = {exercise: name for name, unit in course.units.items() for exercise in unit.exercises}
    exercise = row["exercise"] or (deduction.exercise if deduction else None) or None
    unit = row["unit"] or units.get(exercise or "", "")
    points = deduction.points if deduction else number(row["points"] or "0")
    comment = " ".join(filter(None, [deduction.text if deduction else "", row["comment"]]))
    return Adjustment(row["student"], unit, exercise, points or Fraction(0), comment, row["by"])


def _place_problems(
    row: Row, adjustment: Adjustment, deduction: Deduction | None, course: Course
) -> Iterator[_Problem]:
    """Yield what is wrong about the unit and the exercise."""
    unit, exercise = adjustment.unit, adjustment.exercise
    if row["exercise"] and deduction and deduction.exercise not in (None, exercise):
        yield "exercise", f"{RUBRIC} has {row['deduction']!r} for {deduction.exercise}: leave this cell empty."
    elif exercise and unit in course.units and exercise not in course.units[unit].exercises:
        near = nearest(exercise, course.units[unit].exercises)
        yield "exercise", f"there is no exercise {exercise!r} in {unit}.{near}"
    elif exercise and not unit:
        known = [name for described in course.units.values() for name in described.exercises]
        yield "exercise", f"there is no exercise {exercise!r}.{nearest(exercise, known)}"
    elif unit and unit not in course.units:
        yield "unit", f"{unit!r} is not a unit: autograder.yml has {', '.join(course.units)}."
    elif not unit and adjustment.points:
        yield "unit", "it is empty: points belong to a unit. A comment without points needs none."


def _text_problems(row: Row, adjustment: Adjustment, rubric: Mapping[str, Deduction]) -> Iterator[_Problem]:
    """Yield what is wrong about the points, the name of a deduction and the comment."""
    name = row["deduction"]
    if name and name not in rubric:
        near = nearest(name, rubric)
        yield "deduction", f"{name!r} is not in {RUBRIC}: add a line there, or correct the name.{near}"
    elif name and row["points"]:
        yield "points", f"the points of {name!r} are in {RUBRIC}: leave this cell empty."
    elif row["points"] and number(row["points"]) is None:
        yield "points", f"{row['points']!r} is no number of points: write 2, -1 or 0.5."
    elif not name and not adjustment.comment:
        yield "comment", "it is empty: write why, because the student reads it."
