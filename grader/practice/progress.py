"""How far a student is: the state of each exercise, as the last check of the same code found it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from grader.practice.check import read_answers
from grader.practice.state import read_state, updated_state
from grader.practice.statements import Statements
from grader.reports.reading import entries
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grader.course.model import Course
    from grader.practice.check import Answers
    from grader.reports.model import Report

SECTION = "checked"
State = Literal["passes", "fails", "waits", "not written", "changed"]
"""Of an exercise. Waits: another one has to be fixed first. Changed: it was not checked since its code, or code that it
uses, was changed."""
STATES: dict[str, State] = {"done": "passes", "waiting": "waits"}
"""The states that a check can find. All others are "fails"."""


class Step(NamedTuple):
    """An exercise: its unit, its name, its state, and where its code begins, "" if there is no file."""

    unit: str
    exercise: str
    state: State
    place: str


def next_step(steps: Sequence[Step], after: str | None = None) -> Step | None:
    """Return the next exercise that does not pass yet: the first after this one, or else the first of all."""
    names = [step.exercise for step in steps]
    start = names.index(after) + 1 if after in names else 0
    return next((step for step in [*steps[start:], *steps[:start]] if step.state != "passes"), None)


@cache
def received_code(course: Course) -> Statements:
    """Return the code of a course's exercises as students receive them. It is read once in a process."""
    return Statements(read_submission("stubs", course.exercises, course.units, course.exercises).sources)


class Progress:
    """The state of every exercise of a course in a student's folder.

    Attributes:
        answers: The student's answers, as they were read last.
    """

    def __init__(self, course: Course, folder: Path, answers: Answers) -> None:
        """Read what earlier checks found. Raises OSError."""
        self._course = course
        self._folder = folder
        self._known = read_state(folder).section(SECTION)
        self.answers = answers

    def read_again(self) -> list[str]:
        """Read the answers again. Return the exercises whose own code changed or, if none, those that use what did.

        Raises GraderError if they cannot be read.
        """
        before = self.answers.code
        self.answers = read_answers(self._course, self._folder)
        code = self.answers.code
        names = [exercise for unit in self._course.units.values() for exercise in unit.exercises]
        own = [name for name in names if code.code(name) != before.code(name)]
        return own or [name for name in names if code.digest(name) != before.digest(name)]

    def steps(self) -> list[Step]:
        """Return all exercises, in the course's order."""
        return [
            Step(unit, exercise, self._state(unit, exercise), self._place(unit, exercise))
            for unit, described in self._course.units.items()
            for exercise in described.exercises
        ]

    def remember(self, report: Report, code: Statements) -> None:
        """Keep what a check of this code found, which may have been read before the latest. Raises OSError."""
        exercises = {exercise for unit in self._course.units.values() for exercise in unit.exercises}
        found = {
            entry.name: {"code": code.digest(entry.name), "state": STATES.get(entry.state, "fails")}
            for entry in entries(report)
            if entry.name in exercises
        }
        with updated_state(self._folder) as state:
            state.section(SECTION).update(found)
        self._known |= found

    def _state(self, unit: str, exercise: str) -> State:
        code = self.answers.code
        own = code.code(exercise)
        if unit not in code.unclear and own in ("", received_code(self._course).code(exercise)):
            return "not written"
        known = self._known.get(exercise)
        if not isinstance(known, dict) or known.get("code") != code.digest(exercise):
            return "changed"
        state: State = known.get("state", "changed")
        return state

    def _place(self, unit: str, exercise: str) -> str:
        source = self.answers.submission.sources.get(unit)
        if source is None:
            return ""
        line = source.line_of(exercise)
        return f"{source.path}, line {line}" if line else source.path
