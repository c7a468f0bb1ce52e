"""rubric.csv: deductions with a name, which adjustments.csv uses. A change of one changes all who have it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.tables import read_table
from grader.documents import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from grader.course.model import Course

RUBRIC = "rubric.csv"
_COLUMNS = ("deduction", "points", "text")
_NUMBER = re.compile(r"[+-]?(\d{1,6}([.,]\d*)?|[.,]\d+)", re.ASCII)


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
    table = read_table(path, ",".join(_COLUMNS))
    table.require_known(_COLUMNS, ["exercise"])
    exercises = [exercise for unit in course.units.values() for exercise in unit.exercises]
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
