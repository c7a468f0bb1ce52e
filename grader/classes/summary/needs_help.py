"""Who needs help: a few simple rules, and the students whom they fit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from grader.reports.reading import undated
from grader.text import in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grader.classes.gradebook import Gradebook, Row
    from grader.classes.unit_grades import UnitGrade
    from grader.reports.model import Unit

LOW, FALL = 50, 30
"""In percent of the points."""


@dataclass(frozen=True)
class NeedsHelp:
    """A student, the total in percent, and why: by the rule, in words."""

    row: Row
    percent: float | None
    reasons: Mapping[str, str]


def total_percent(gradebook: Gradebook, row: Row) -> float | None:
    """Return a student's points in percent of the possible ones; None if no unit counts, or one is not graded."""
    total, possible = gradebook.total(row), gradebook.total_possible(row)
    return 100 * total / possible if total is not None and possible else None


def handed_in_nothing(row: Row) -> bool:
    """Return whether a student handed in no unit that counts."""
    asked = [grade for grade in row.grades.values() if grade.state not in ("exempt", "not due")]
    return bool(asked) and all(grade.state == "not handed in" for grade in asked)


def needs_help(gradebook: Gradebook) -> list[NeedsHelp]:
    """Return the students whom a rule fits: the lowest total first, then the most reasons, then by name."""
    found = []
    for row in gradebook.rows:
        reasons = {rule: text for rule, find in RULES.items() if (text := find(row))}
        if reasons:
            found.append(NeedsHelp(row, total_percent(gradebook, row), reasons))
    return sorted(found, key=_urgency)


def _urgency(one: NeedsHelp) -> tuple[float, int, str]:
    return (-1.0 if one.percent is None else one.percent, -len(one.reasons), one.row.entry.student.casefold())


def _missing(row: Row) -> str:
    if handed_in_nothing(row):
        return "Nothing is handed in."
    due = [grade for grade in row.grades.values() if grade.state in ("graded", "not handed in")]
    missing = _units(row, lambda grade: grade.state == "not handed in")
    if not missing or 2 * len(missing) < len(due):
        return ""
    return f"{in_words(missing)}: not handed in."


def _low(row: Row) -> str:
    done = [grade.unit for grade in row.grades.values() if grade.state == "graded" and grade.unit]
    points, possible = sum(unit.points for unit in done), sum(unit.possible for unit in done)
    if not possible or handed_in_nothing(row) or 100 * points >= LOW * possible:
        return ""
    return f"{points} of {possible} points in what is handed in."


def _falling(row: Row) -> str:
    shares = [
        (name, 100 * grade.points / grade.unit.possible)
        for name, grade in row.grades.items()
        if grade.unit and grade.points is not None and grade.unit.possible
    ]
    for (before, first), (name, last) in list(pairwise(shares))[-1:]:
        if first - last >= FALL:
            return f"{name}: {last:.0f} %, after {first:.0f} % in {before}."
    return ""


def _quiz_only(row: Row) -> str:
    units = _of_units(row, lambda unit: unit.path is None and _answered(unit))
    return f"{in_words(units)}: only the quiz, no exercise." if units else ""


def _unreadable(row: Row) -> str:
    units = _of_units(row, lambda unit: unit.path is None and not _answered(unit))
    return f"{in_words(units)}: the file could not be read." if units else ""


def _undated(row: Row) -> str:
    units = _of_units(row, lambda unit: bool(undated(unit)))
    return f"{in_words(units)}: time unknown, perhaps late." if units else ""


def _not_graded(row: Row) -> str:
    units = _units(row, lambda grade: grade.state == "not graded")
    return f"{in_words(units)}: not graded." if units else ""


def _units(row: Row, fits: Callable[[UnitGrade], bool]) -> list[str]:
    return [name for name, grade in row.grades.items() if fits(grade)]


def _of_units(row: Row, fits: Callable[[Unit], bool]) -> list[str]:
    return _units(row, lambda grade: grade.state == "graded" and grade.unit is not None and fits(grade.unit))


def _answered(unit: Unit) -> bool:
    return unit.quiz is not None and any(item.answered for item in unit.quiz.items.values())


RULES: dict[str, Callable[[Row], str]] = {
    "at least half of the units are not handed in": _missing,
    f"less than {LOW} % of the points in what is handed in": _low,
    f"the newest unit is at least {FALL} percentage points below the one before": _falling,
    "the quiz of a unit is answered, and no exercise is handed in": _quiz_only,
    "a file could not be read": _unreadable,
    "the time of a unit is unknown: it may be late": _undated,
    "a unit is not graded": _not_graded,
}
"""Each rule in words, and a function that says why it fits a student, or "" if it does not."""
