"""What grading a submission came to, before there are points: the engine gives it, and reports are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.reports.model import Message


@dataclass(frozen=True)
class Described:
    """A criterion as reports show it; `sentence` is what a student reads where it fails."""

    unit: str
    exercise: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Judged:
    """What a criterion came to.

    Attributes:
        unit: The criterion's unit.
        exercise: Its exercise.
        name: Its name.
        passed: Whether it passed.
        reason: Why not, for the student; empty where it is waiting, for that is said once for the whole exercise.
        waiting: Whether it cannot be judged before other exercises are right.
        substitutes: The exercises whose substitutes had a part in it, or that it is waiting for.
        remarks: What costs nothing, for the student.
    """

    unit: str
    exercise: str
    name: str
    passed: bool
    reason: str = ""
    waiting: bool = False
    substitutes: Sequence[str] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Diagnosed:
    """The misconception behind an exercise's outcomes."""

    unit: str
    exercise: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Result:
    """What the suites came to on one submission.

    Attributes:
        outcomes: Of every criterion of the units that were graded.
        misconceptions: Those that were recognized.
        messages: What the student's code printed, raised or attempted.
        layers: What isolated the student's process; empty where there was none.
        exceeded: The units that took more than the grading process may use.
        seconds: How long it took.
        pytest: Pytest's own report, for the instructor alone.
    """

    outcomes: list[Judged] = field(default_factory=list)
    misconceptions: list[Diagnosed] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    layers: dict[str, bool] = field(default_factory=dict)
    exceeded: list[str] = field(default_factory=list)
    seconds: float = 0.0
    pytest: dict[str, Any] = field(default_factory=dict)
