"""adjustments.csv: points that an instructor adds or takes away, with a comment. Every grading applies them again."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from grader.course.model import Course

ADJUSTMENTS = "adjustments.csv"
_COLUMNS = ("student", "unit", "exercise", "points", "comment", "by")


class Adjustment(NamedTuple):
    """One line of the file. Without an exercise, it is about the whole unit."""

    student: str
    unit: str
    exercise: str | None
    points: Fraction
    comment: str
    by: str


def read_adjustments(folder: Path, students: Collection[str], course: Course) -> list[Adjustment]:
    """Read adjustments.csv in the folder of the roster; nothing if it does not exist. Raises TableError."""
    path = folder / ADJUSTMENTS
    if not path.exists():
        return []
    table = read_table(path, ",".join(_COLUMNS))
    table.require_known(["student", "points", "comment", "by"], ["unit", "exercise"])
    units = {exercise: name for name, unit in course.units.items() for exercise in unit.exercises}
    adjustments = []
    for row in table.rows:
        exercise = row["exercise"] or None
        unit = row["unit"] or units.get(row["exercise"], "")
        if row["student"] not in students:
            table.report(row, "student", f"{row['student']!r} is not in the roster: correct the name.")
        if exercise and (exercise not in units or units[exercise] != unit):
            table.report(row, "exercise", f"there is no exercise {exercise!r}{f' in {unit}' if unit else ''}.")
        elif unit not in course.units:
            table.report(row, "unit", f"{unit!r} is not a unit: autograder.yml has {', '.join(course.units)}.")
        for column in ("comment", "by"):
            if not row[column]:
                table.report(row, column, "it is empty: write why, and who decided, because the student reads it.")
        points = _number(row["points"])
        if points is None:
            table.report(row, "points", f"{row['points']!r} is no number of points: write 2, -1 or 0.5.")
        adjustments.append(Adjustment(row["student"], unit, exercise, points or Fraction(0), row["comment"], row["by"]))
    table.require_sound()
    return adjustments


def _number(text: str) -> Fraction | None:
    """Return a decimal number, exactly; None if it is something else."""
    try:
        return Fraction(text.replace(",", ".")) if "/" not in text else None
    except ValueError:
        return None
