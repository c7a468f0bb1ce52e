"""What the emitters read out of a report alike: where each exercise stands, what to say of it, and where to point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from grader.reports.model import NOT_WRITTEN, Exercise, Message, Quiz, Report, Test, Unit
from grader.submissions.places import missing_sheet, missing_unit

State = Literal["done", "in progress", "waiting", "not written yet", "not graded", "not handed in"]
"""Of an exercise or a unit. Waiting: for another exercise. Not graded: there is a file, and it could not be read."""


NOTHING_YET = "Nothing is handed in yet: all is as you received it. Points count from the first answer on."


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
        if all(test.outcome == "passed" for test in self.exercise.tests):  # whatever they are worth
            return "done"
        if self.unit.path is None:
            return "not handed in" if is_missing(self.unit_name, self.unit) else "not graded"
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
        """The course's own sentence: on the mistake that it behaves like, or on what to fix first."""
        named = next((one.sentence for one in self.exercise.misconceptions), None)
        return named or self.exercise.waiting_for

    @property
    def found(self) -> str | None:
        """What was found where the first test failed."""
        return self.in_words(self._first_failed.reason)

    @property
    def expected(self) -> str | None:
        """What should have been found there, in the course's own words."""
        first = self._first_failed
        if first.reason is None and first.sentence is None:
            if not self.exercise.possible:
                return "Something is not right yet. It is worth no points, and more is not told here."
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

    def in_words(self, reason: str | None) -> str | None:
        """What a test found, as a sentence; if that was an error, with the error's own words."""
        message = self.raised_for(reason)
        return told(message, reason) if message else ended(reason) if reason else None

    def raised_for(self, reason: str | None) -> Message | None:
        """The error that a test gives as its reason."""
        return next((one for one in self.raised if reason and f"{one.text} ".startswith(f"{reason} ")), None)

    @property
    def unexplained(self) -> list[Message]:
        """What its code raised beside the errors that its tests give as their reasons."""
        explained = [self.raised_for(reason) for reason in self.missed]
        return [one for one in self.raised if one not in explained]


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
    """Each quiz whose points count, by its unit, with its points; none of those that are worth none."""
    for unit_name, unit in report.units.items():
        if unit.quiz and unit.quiz.points is not None and unit.quiz.possible:
            yield unit_name, unit.quiz, unit.quiz.points


def answer_feedback(quiz: Quiz) -> Iterator[tuple[str, str]]:
    """Yields the feedback on a quiz's answers after its due date: pairs of an item's name and a sentence."""
    for name, item in quiz.items.items():
        for sentence in item.sentences:
            yield name, sentence


def is_missing(name: str, unit: Unit) -> bool:
    """Whether there is no file of the unit at all: it is not begun, and nothing is wrong."""
    return unit.path is None and unit.remarks == [missing_unit(name)]


def not_handed_in(report: Report) -> list[str]:
    """The units of which there is nothing to tell: no file, and no quiz in which somebody wrote."""
    return [name for name, unit in report.units.items() if is_missing(name, unit) and _is_blank(name, unit.quiz)]


def _is_blank(name: str, quiz: Quiz | None) -> bool:
    if quiz is None:
        return True
    is_there = any(remark != missing_sheet(name) for remark in quiz.remarks)
    return not is_there and not any(item.answered or item.problem for item in quiz.items.values())


def not_run(report: Report, unit_name: str) -> list[Message]:
    """The lines of a unit, outside its exercises, that could not be run."""
    return [one for one in report.messages if (one.unit, one.exercise, one.kind) == (unit_name, None, "not run")]


def own_line(message: Message, unit: Unit) -> Place | None:
    """The line of the unit's own script that a message speaks of; None where it is another's or a notebook's."""
    if unit.path is None or not unit.path.endswith(".py") or message.file != PurePosixPath(unit.path).name:
        return None
    return Place(unit.path, message.line) if message.line and message.line > 0 else None


def place_of(message: Message, unit: Unit) -> Place:
    """Where a message says that it comes from, with the whole path where that is known."""
    return own_line(message, unit) or Place(message.file, message.line)


def told(message: Message, reason: str | None = None) -> str:
    """A message as sentences: its reason, and after a colon the error's own words, as in `It raised a ValueError: no`.

    reason: as a test gives it; where there is none, it is the message's first sentence.
    """
    reason = reason or message.text.partition(". ")[0] + "."
    own_words = message.text.removeprefix(reason).strip()
    if own_words in ("", message.text.strip()):
        return ended(message.text)
    # The error's words belong to the first sentence: another one may tell of its cause.
    first, _, cause = reason.partition(". ")
    return " ".join(filter(None, [ended(f"{first.removesuffix('.')}: {own_words}"), cause]))


def ended(text: str) -> str:
    """As a sentence: what code raises often has no end."""
    return text if text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."


def points(possible: int) -> str:
    return f"{possible} point" if possible == 1 else f"{possible} points"


def meaning(report: Report) -> str:
    """What the points of a report are worth."""
    if not report.handed_in:
        return NOTHING_YET
    if report.suites == "visible":
        by = "By the visible tests. The grade is made with others, on your instructor's side."
    else:
        by = "By the hidden tests of the course."
    return by if report.isolation.enough else f"{by} Your code was not isolated while it ran here."
