"""The results of grading a submission, before points: the engine returns them, and reports are made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.reports.model import Message
from grader.testing.drawings import Drawing, OwnQuestion


@dataclass(frozen=True)
class Described:
    """A criterion as reports show it; `sentence` is for students who fail it."""

    unit: str
    exercise: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Judged:
    """The outcome of a criterion.

    Attributes:
        unit: The criterion's unit.
        exercise: Its exercise.
        name: Its name.
        passed: Whether it passed.
        reason: Why it failed, for the student; empty if it is waiting, which is reported once for the exercise.
        waiting: Whether it cannot be judged before other exercises are right.
        substitutes: The exercises whose substitutes were called, or that it is waiting for.
        remarks: Notes for the student that cost no points.
        is_main: Whether it explains most of the failures of its exercise.
    """

    unit: str
    exercise: str
    name: str
    passed: bool
    reason: str = ""
    waiting: bool = False
    substitutes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    is_main: bool = False


@dataclass(frozen=True)
class Diagnosed:
    """A misconception that explains an exercise's outcomes, or a property of its wrong results."""

    unit: str
    exercise: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Result:
    """The results of the suites on one submission.

    Attributes:
        outcomes: The outcomes of all criteria of the graded units.
        misconceptions: The misconceptions that were recognized.
        messages: What the student's code printed, raised or attempted.
        layers: The layers that isolated the student process; empty if there was no such process.
        exceeded: The units that used more than the grading process may use.
        drawings: The pictures of the exercises that were to be drawn.
        questions: The questions on the student's own code for these exercises.
        seconds: How long grading took.
        pytest: Pytest's own report, for the instructor only.
    """

    outcomes: list[Judged] = field(default_factory=list)
    misconceptions: list[Diagnosed] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    layers: dict[str, bool] = field(default_factory=dict)
    exceeded: list[str] = field(default_factory=list)
    drawings: list[Drawing] = field(default_factory=list)
    questions: list[OwnQuestion] = field(default_factory=list)
    seconds: float = 0.0
    pytest: dict[str, Any] = field(default_factory=dict)
