"""How the points of a unit became the grade: when it was handed in, deductions and adjustments, as sentences."""

from __future__ import annotations

import contextlib
import datetime
import zoneinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grader.course.model import Late
    from grader.reports.model import Change, Received, Unit


def change_sentences(unit: Unit, timezone: str = "UTC") -> list[str]:
    """Return a sentence on an exemption, on when the unit was handed in, on each change of its points and each comment.

    A comment on an exercise is left out if the exercise is shown, because it belongs there.
    """
    sentences = ["You are exempt from this unit: it does not count."] if unit.exempt else []
    if unit.due and (unit.received or unit.extended):
        sentences.append(_received(unit.received, timezone))
        due = in_zone(datetime.datetime.fromisoformat(unit.due), timezone)
        sentences.append(f"Due: {due}{', with your extension' if unit.extended else ''}.")
    changes = [one for one in unit.changes if one.kind != "comment"]
    if changes:
        sentences.append(f"Earned: {unit.earned} of {unit.possible}.")
    for change in changes:
        about = f", {change.exercise}" if change.exercise else ""
        by = f" ({change.by})" if change.by else ""
        sentences.append(f"{change.points:+g} points{about}: {change.reason}{by}")
    if changes:
        sentences.append(f"Together, rounded down: {unit.points} of {unit.possible}.")
    return [*sentences, *comments(one for one in unit.changes if not _is_at_exercise(one, unit))]


def comments(changes: Iterable[Change]) -> list[str]:
    """Return a sentence for each comment among changes: who wrote it, on which exercise, and what."""
    return [
        f"Comment by {one.by}{f' on {one.exercise}' if one.exercise else ''}: {one.reason}"
        for one in changes
        if one.kind == "comment"
    ]


def exercise_comments(unit: Unit, exercise: str) -> list[str]:
    """Return a sentence for each comment on an exercise of a unit."""
    return [
        f"Comment by {one.by}: {one.reason}"
        for one in unit.changes
        if one.kind == "comment" and one.exercise == exercise
    ]


def _is_at_exercise(change: Change, unit: Unit) -> bool:
    """Return whether pages show the exercise that a change is about."""
    exercise = unit.exercises.get(change.exercise or "")
    return unit.path is not None and exercise is not None and bool(exercise.tests)


def is_late(unit: Unit, late: Late) -> bool:
    """Return whether a unit was handed in after its due date and the grace, or is marked as late without a time."""
    if unit.received is None or unit.due is None:
        return any(one.kind == "late" for one in unit.changes)
    if unit.received.at is None:
        return unit.received.source == "Canvas"
    times = (datetime.datetime.fromisoformat(text).astimezone(datetime.UTC) for text in (unit.received.at, unit.due))
    received, due = times
    return late.days((received - due).total_seconds()) > 0


def in_zone(time: datetime.datetime, timezone: str | None) -> str:
    """Return a time as text in a zone; in UTC for None, and where the system does not know the zone."""
    zone: datetime.tzinfo = datetime.UTC
    with contextlib.suppress(KeyError, ValueError, OSError):  # Windows knows none
        zone = zoneinfo.ZoneInfo(timezone) if timezone else zone
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def undated(unit: Unit) -> str:
    """Return a sentence for the instructor on work that may be late, or is, without a time; "" for all other work."""
    if unit.exempt or unit.received is None or unit.received.at is not None:
        return ""
    source = unit.received.source
    if source == "times.csv":
        return "Time unknown: no line of times.csv is surely about it, so it may be late: name its `submission` there."
    if source == "Canvas":
        return "Time unknown: Canvas marked it as late, and does not say when it came: add the time to times.csv."
    return f"Time unknown: {source} does not say when it came, so it may be late: add the time to times.csv."


def _received(received: Received | None, timezone: str) -> str:
    if received is None or received.at is None:
        return "It is not known when this was handed in, so nothing is taken off for now."
    return f"Handed in: {in_zone(datetime.datetime.fromisoformat(received.at), timezone)} ({received.source})."
