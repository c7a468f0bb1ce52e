"""What the grader remembers of one student's folder, and how far the student is by the last checks.

It is in the user's own state folder: the hints that were shown, and the state of each exercise as the last check of the
same code found it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from filelock import FileLock, Timeout
from platformdirs import user_state_path

from grader.course.model import Course
from grader.errors import GraderError
from grader.files import write_atomically
from grader.practice.check import Answers, read_answers
from grader.practice.exercise_code import Statements
from grader.reports.reading import entries
from grader.reports.report_model import Report
from grader.submissions.reader import read_submission

_APPLICATION = "attention-from-scratch"
_SECONDS = 10
"""How long to wait for another program that changes the state."""

CHECKED = "checked"
State = Literal["passes", "fails", "waits", "not written", "changed"]
"""Of an exercise. Waits: another one has to be fixed first. Changed: it was not checked since its code, or code that it
uses, was changed."""
STATES: dict[str, State] = {"done": "passes", "waiting": "waits"}
"""The states that a check can find. All others are "fails"."""


@dataclass
class StudentState:
    """What is remembered.

    Attributes:
        content: One section for each subject, such as {"hints": {"an_exercise": 2}}.
        problem: A sentence for the student if the file was damaged and so was started anew.
    """

    content: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def section(self, name: str) -> dict[str, Any]:
        """Return a section, to read or to change; an empty one if there is none."""
        if not isinstance(self.content.get(name), dict):
            self.content[name] = {}
        section: dict[str, Any] = self.content[name]
        return section


def state_folder(folder: Path) -> Path:
    """Return where the grader keeps what belongs to a student's folder. It may not exist yet."""
    place = folder.resolve()
    key = hashlib.sha256(str(place).encode()).hexdigest()[:12]
    return user_state_path(_APPLICATION, appauthor=False) / f"{place.name}-{key}"


def read_state(folder: Path) -> StudentState:
    """Return what is remembered of a student's folder. Raises OSError."""
    path = _file(folder)
    if not path.is_file():
        return StudentState()
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return StudentState(problem=f"{path} was damaged: what it remembered, such as your last hint, starts anew.")
    return StudentState(content)


@contextlib.contextmanager
def updated_state(folder: Path) -> Iterator[StudentState]:
    """Give what is remembered of a student's folder, and save it at the end of the block if no error is raised.

    Raises:
        GraderError: Another program holds it.
        OSError: It cannot be read or written.
    """
    path = _file(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=_SECONDS):
            state = read_state(folder)
            yield state
            write_atomically(path, json.dumps(state.content, indent=1) + "\n")
    except Timeout:
        raise GraderError(f"Another program has held {path} for {_SECONDS} seconds: end it and try again.") from None


def _file(folder: Path) -> Path:
    return state_folder(folder) / "state.json"


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


class StudentProgress:
    """The state of every exercise of a course in a student's folder.

    Attributes:
        answers: The student's answers, as they were read last.
    """

    def __init__(self, course: Course, folder: Path, answers: Answers) -> None:
        """Read what earlier checks found. Raises OSError."""
        self._course = course
        self._folder = folder
        self._known = read_state(folder).section(CHECKED)
        self.answers = answers

    def read_again(self) -> list[str]:
        """Read the answers again. Return the exercises whose own code changed or, if none, those that use what did.

        Raises GraderError if they cannot be read.
        """
        before = self.answers.code
        self.answers = read_answers(self._course, self._folder)
        code = self.answers.code
        names = list(self._course.unit_of)
        own = [name for name in names if code.code(name) != before.code(name)]
        return own or [name for name in names if code.digest(name) != before.digest(name)]

    def steps(self) -> list[Step]:
        """Return all exercises, in the course's order."""
        return [
            Step(unit, exercise, self._state(unit, exercise), self._place(unit, exercise))
            for exercise, unit in self._course.unit_of.items()
        ]

    def remember(self, report: Report, code: Statements) -> None:
        """Keep what a check of this code found, which may have been read before the latest. Raises OSError."""
        found = {
            entry.name: {"code": code.digest(entry.name), "state": STATES.get(entry.state, "fails")}
            for entry in entries(report)
            if entry.name in self._course.unit_of
        }
        with updated_state(self._folder) as state:
            state.section(CHECKED).update(found)
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
