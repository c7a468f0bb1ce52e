"""How the points of a unit became the grade: when it was handed in, deductions and adjustments, as sentences."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.reports.model import Received, Unit


def change_sentences(unit: Unit) -> list[str]:
    """Return a sentence on an exemption, on when the unit was handed in, and on each change of its points."""
    sentences = ["You are exempt from this unit: it does not count."] if unit.exempt else []
    if unit.due and (unit.received or unit.extended):
        sentences.append(_received(unit.received))
        sentences.append(f"Due: {_time(unit.due)}{', with your extension' if unit.extended else ''}.")
    if unit.changes:
        sentences.append(f"Earned: {unit.earned} of {unit.possible}.")
    for change in unit.changes:
        about = f", {change.exercise}" if change.exercise else ""
        by = f" ({change.by})" if change.by else ""
        sentences.append(f"{change.points:+g} points{about}: {change.reason}{by}")
    if unit.changes:
        sentences.append(f"Together, rounded down: {unit.points} of {unit.possible}.")
    return sentences


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


def _received(received: Received | None) -> str:
    if received is None or received.at is None:
        return "It is not known when this was handed in, so nothing is taken off for now."
    return f"Handed in: {_time(received.at)} ({received.source})."


def _time(text: str) -> str:
    return f"{datetime.datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}"
