"""What the emitters read out of a report alike: where each exercise stands, what to say of it, and where to point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from grader.report import NOT_WRITTEN, Exercise, Message, Quiz, Report, Test, Unit

State = Literal["done", "in progress", "waiting", "not written yet", "not graded"]
"""Of an exercise or a unit. Waiting: for another exercise. Not graded: there was no file, or it could not be read."""


class Place(NamedTuple):
    """A line of a student's own file, as far as it is known."""

    path: str | None
    line: int | None

    def words(self) -> str:
        return ", ".join([*filter(None, [self.path]), *([f"line {self.line}"] if self.line else [])])


@dataclass(frozen=True)
class Entry:
    """One exercise in its unit, and what its own code raised."""

    unit_name: str
    unit: Unit
    name: str
    exercise: Exercise
    raised: tuple[Message, ...]

    @property
    def state(self) -> State:
        if self.exercise.points == self.exercise.possible:
            return "done"
        if self.unit.path is None:
            return "not graded"
        reasons = {test.reason for test in self.exercise.tests if test.outcome == "failed"}
        if reasons == {NOT_WRITTEN}:
            return "not written yet"
        return "waiting" if self.exercise.waiting_for and reasons <= {NOT_WRITTEN, None} else "in progress"

    @property
    def place(self) -> Place:
        """Where its code raised, else where it begins."""
        return next((place for one in self.raised if (place := own_line(one, self.unit))), self._beginning)

    @property
    def _beginning(self) -> Place:
        return Place(self.unit.path, self.exercise.line)

    @property
    def advice(self) -> str | None:
        """The course's own sentence: on the mistake that it behaves like, or on what to mend before."""
        named = next((one.sentence for one in self.exercise.misconceptions), None)
        return named or self.exercise.waiting_for

    @property
    def found(self) -> str | None:
        """What was found where the first test failed; if that was an error, in the error's own words."""
        reason = self._first_failed.reason
        raised = (one.text for one in self.raised if reason and one.text.startswith(reason))
        return ended(next(raised, reason)) if reason else None

    @property
    def expected(self) -> str | None:
        """What should have been found there, in the course's own words."""
        first = self._first_failed
        if first.reason is None and first.sentence is None:
            lost = self.exercise.possible - self.exercise.points
            return f"{lost} of {points(self.exercise.possible)} are missing. More is not told here."
        return first.sentence

    @property
    def explanation(self) -> str:
        """The one thing to say first."""
        return self.advice or " ".join(filter(None, [self.found, self.expected]))

    @property
    def _first_failed(self) -> Test:
        return next(test for test in self.exercise.tests if test.outcome == "failed")

    @property
    def missed(self) -> dict[str, list[str]]:
        """What was expected by each test that failed, under what was found instead, which many have in common.

        Not of those that wait for another exercise: they found nothing.
        """
        missed: dict[str, list[str]] = {}
        for test in self.exercise.tests:
            if test.outcome == "failed" and (test.reason or not self.exercise.waiting_for):
                missed.setdefault(test.reason or "", []).append(test.sentence or test.name.replace("_", " "))
        return missed


def entries(report: Report) -> Iterator[Entry]:
    """Every exercise that is tested, in the order of the course."""
    for unit_name in report.units:
        yield from entries_of(report, unit_name)


def entries_of(report: Report, unit_name: str) -> Iterator[Entry]:
    """Those of one unit."""
    unit = report.units[unit_name]
    said = [one for one in report.messages if one.unit == unit_name and one.kind in ("raised", "not run")]
    for name, exercise in unit.exercises.items():
        if exercise.tests:
            yield Entry(unit_name, unit, name, exercise, tuple(one for one in said if one.exercise == name))


def counted_quizzes(report: Report) -> Iterator[tuple[str, Quiz, int]]:
    """Each quiz whose points count, by its unit, with its points."""
    for unit_name, unit in report.units.items():
        if unit.quiz and unit.quiz.points is not None and unit.quiz.possible:
            yield unit_name, unit.quiz, unit.quiz.points


def not_run(report: Report, unit_name: str) -> list[Message]:
    """The lines of a unit, outside its exercises, that could not be run."""
    return [one for one in report.messages if (one.unit, one.exercise, one.kind) == (unit_name, None, "not run")]


def own_line(message: Message, unit: Unit) -> Place | None:
    """The line of the unit's own script that a message speaks of; None where it is another's or a notebook's."""
    if unit.path is None or not unit.path.endswith(".py") or message.file != PurePosixPath(unit.path).name:
        return None
    return Place(unit.path, message.line) if message.line and message.line > 0 else None


def ended(text: str) -> str:
    """As a sentence: what code raises often has no end."""
    return text if text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."


def points(possible: int) -> str:
    return f"{possible} point" if possible == 1 else f"{possible} points"


def meaning(report: Report) -> str:
    """What the points of a report are worth."""
    if report.suites == "visible":
        by = "By the visible tests. The grade is made with others, on your instructor's side."
    else:
        by = "By the hidden tests of the course."
    return by if report.isolation.enough else f"{by} Your code was not locked in while it ran here."
