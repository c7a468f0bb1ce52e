"""Writes dates, adjustments and penalties into nbgrader's gradebook, so that its scores are the points of reports."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from nbgrader.utils import parse_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grader.classes.roster import Entry
    from grader.course.model import Course, Late
    from grader.reports.model import Change

_ADJUSTED, _COMMENT = "Adjusted by ", "Comment by "
"""How a comment on an adjustment begins, and one without points."""


def differences(found: Mapping[str, float], possible: Mapping[str, float]) -> str:
    """Return in which cells the points of nbgrader differ from those of the course; "" if in none."""
    wrong = [name for name in {**possible, **found} if found.get(name) != possible.get(name)]
    return ", ".join(f"{name} {_points(found, name)} instead of {_points(possible, name)}" for name in wrong)


def write_extension(submission: Any, entry: Entry, course: Course) -> None:
    """Write the extension of a student's line in the roster, or that there is none."""
    name = submission.assignment.name
    due = entry.due.get(name)
    submission.extension = parse_utc(due) - parse_utc(course.units[name].due) if due else None


def write_adjustments(notebook: Any, changes: Iterable[Change], exercises: Iterable[str]) -> None:
    """Write adjustments as extra credit with a comment: on the exercise, or on the first one if on the whole unit.

    A comment that somebody enters in formgrader takes its place.
    """
    first = next(iter(exercises))
    extra: dict[str, Fraction] = {}
    comments: dict[str, list[str]] = {}
    for change in changes:
        if change.kind != "late":
            exercise = change.exercise or first
            cell = f"test_{exercise}"
            extra[cell] = extra.get(cell, Fraction(0)) + Fraction(str(change.points))
            points = f"{change.points:+g} points. " if change.kind == "adjustment" else ""
            text = f"{_ADJUSTED if points else _COMMENT}{change.by}: {points}{change.reason}"
            comments.setdefault(exercise, []).append(text)
    for grade in notebook.grades:
        grade.extra_credit = float(extra.get(grade.name, 0)) or None
    for comment in notebook.comments:
        if comment.name in comments or (comment.auto_comment or "").startswith((_ADJUSTED, _COMMENT)):
            comment.auto_comment = "\n".join(comments.get(comment.name, [])) or None


def write_penalty(gradebook: Any, notebook: Any, late: Late) -> None:
    """Write what late work and rounding take off, which nbgrader subtracts from the score.

    Args:
        gradebook: nbgrader's gradebook.
        notebook: The submitted notebook, with its scores and dates.
        late: The rules of the course.
    """
    earned, extra = Fraction(0), Fraction(0)
    for grade in notebook.grades:
        score = grade.auto_score if grade.manual_score is None else grade.manual_score
        # Without a score, nbgrader ignores the extra credit of a cell.
        if score is not None:
            earned += Fraction(str(score))
            extra += Fraction(str(grade.extra_credit or 0))
    remains: Fraction | int = earned + extra
    if (percent := late.percent(late.days(notebook.assignment.total_seconds_late))) or extra:
        remains = max(0, math.floor(earned * (100 - percent) / 100 + extra))
    penalty = float(earned + extra - remains)
    gradebook.db.flush()
    gradebook.db.refresh(notebook, ["score"])
    if notebook.score - penalty != remains:
        # Decimal fractions are not exact in nbgrader, but this difference is.
        penalty = notebook.score - float(remains)
    notebook.late_submission_penalty = penalty or None
    gradebook.db.flush()
    # nbgrader computes the sums when they are read again.
    gradebook.db.expire(notebook.assignment)


def _points(points: Mapping[str, float], name: str) -> str:
    return f"{points[name]:g}" if name in points else "none"
