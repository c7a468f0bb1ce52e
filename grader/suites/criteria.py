"""A criterion is one hidden test: what it asks, the inputs it draws, and what a run of it came to."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, TypeVar

import torch

from grader.sandbox import door
from grader.sandbox.processes import OurFault
from grader.sandbox.student import Asked, Student
from grader.suites.checks import SEEN, Sighting, Wrong

Implementation = TypeVar("Implementation", bound=Callable[..., Any])
NOT_WRITTEN = "It is not written yet."


@dataclass(frozen=True)
class Criterion:
    """One hidden test of an exercise. sentence: what a student reads where it fails. rule: as the stub states it."""

    unit: str
    exercise: str
    name: str
    sentence: str
    rule: str
    function: Callable[..., None]
    version: str

    def fresh(self) -> Fresh:
        """Draws this test's own inputs: not the worked examples', and the same in every run of a course version."""
        return Fresh(self._seed("inputs"))

    def prepare(self, asked: Asked) -> Student:
        """Loads the unit over there and gives every global random state there a beginning of its own.

        Not the one that the inputs are drawn from: nobody over there is to know them before they come.
        """
        try:
            asked.load(self.unit)
            student = Student(asked, self.unit)
            student.seed(self._seed("student"))
        except (door.Failure, OurFault):
            raise
        except Exception as error:
            raise OurFault(f"{self.name} could not be prepared: {error!r}") from error
        return student

    def _seed(self, purpose: str) -> int:
        text = f"{self.version}/{self.unit}/{self.name}/{purpose}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])

    def run(self, asked: Asked) -> Outcome:
        """One run, outside pytest."""
        SEEN.clear()
        try:
            student = self.prepare(asked)
            wanted = inspect.signature(self.function).parameters
            given = {"student": student, "fresh": self.fresh()}
            self.function(**{name: given[name] for name in wanted})
        except Exception as error:
            return judge(error)
        return judge(None)


class Fresh:
    """Draws standard normal inputs, the same ones in every run of a test."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64).to(dtype)


@dataclass(frozen=True)
class Outcome:
    """What one run came to. reason, detail, line, file: see door.Failure. kind tells apart why there is no value."""

    passed: bool
    kind: str = "passed"
    reason: str = ""
    detail: str = ""
    line: int | None = None
    file: str | None = None
    sightings: tuple[Sighting, ...] = field(default=(), repr=False)

    def explained(self, lost: Sequence[door.Lost]) -> Outcome:
        """The same, with the reason traced to the piece of source that should have defined what is missing."""
        names = self.missing_names()
        for piece in lost:
            # What is no Python may have been to define anything; any other line says which names it binds.
            could_be_anything = self.kind == "not defined" and not piece.names and piece.reason == door.NOT_PYTHON
            if names & set(piece.names) or could_be_anything:
                where = f"line {piece.line} of {piece.file}" if piece.line and piece.file else "a line of it"
                cause = f"{piece.reason[:1].lower()}{piece.reason[1:]}"
                return replace(self, reason=f"{self.reason} The cause is {where}: {cause}")
        return self

    def missing_names(self) -> set[str]:
        """The name that the student's code, or the suite, looked for in vain."""
        if self.kind == "not defined":
            return {self.reason.partition(" ")[0]}
        found = re.match(r"name '(\w+)' is not defined", self.detail) if "NameError" in self.reason else None
        return {found[1]} if found else set()

    def resembles(self, other: Outcome) -> bool:
        """Whether two submissions that behave alike would both come to this."""
        return (
            self.kind == other.kind
            and len(self.sightings) == len(other.sightings)
            and all(mine.resembles(theirs) for mine, theirs in zip(self.sightings, other.sightings, strict=True))
        )


def judge(error: BaseException | None) -> Outcome:
    """The outcome of a test that ended with `error`, from what was seen since it began."""
    seen = tuple(SEEN)
    match error:
        case None:
            return Outcome(True, sightings=seen)
        case OurFault():
            raise error
        case Wrong():
            return Outcome(False, "wrong", error.reason, sightings=seen)
        case door.Raised():
            reason = NOT_WRITTEN if error.types[0] == "NotImplementedError" else error.reason
            kind = "not written" if reason is NOT_WRITTEN else "raised"
            seen = (*seen, Sighting(f"raised {error.types[0]}"))
            return Outcome(False, kind, reason, error.detail, error.line, error.file, seen)
        case door.Failure():
            kinds = {door.NotDefined: "not defined", door.TimedOut: "timed out", door.Ended: "ended"}
            seen = (*seen, Sighting(error.reason))
            return Outcome(False, kinds.get(type(error), "refused"), error.reason, error.detail, sightings=seen)
    # A value that no check foresaw: only a suite proved on the solution may say so of an answer.
    return Outcome(False, "wrong", "The result is not of the kind that was asked for.", sightings=seen)


def criterion_of(function: Callable[..., None], unit: str, version: str) -> Criterion:
    """The criterion that a test function is, by its mark, its name and its docstring. Raises ValueError."""
    marker = next((mark for mark in getattr(function, "pytestmark", ()) if mark.name == "exercise"), None)
    if marker is None or len(marker.args) != 1 or "rule" not in marker.kwargs:
        raise ValueError("it needs @pytest.mark.exercise('name', rule='the stub's words')")
    sentence = " ".join((inspect.getdoc(function) or "").split())
    if not sentence:
        raise ValueError("it needs a docstring: the sentence that a student reads")
    name = function.__name__.removeprefix("test_")
    return Criterion(unit, marker.args[0], name, sentence, marker.kwargs["rule"], function, version)


def criteria_of(suite: ModuleType, unit: str, version: str) -> list[Criterion]:
    """The criterion of every test that a suite defines, in the order of its definitions, without pytest."""
    tests = (value for name, value in vars(suite).items() if name.startswith("test_"))
    return [criterion_of(test, unit, version) for test in tests]


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one exercise, and the sentence that would help who wrote it."""

    exercise: str
    name: str
    sentence: str
    implementation: Callable[..., Any]


def misconception(exercise: str, sentence: str) -> Callable[[Implementation], Implementation]:
    """Marks a function or class as a known wrong answer to `exercise`; its own name becomes the misconception's."""

    def mark(implementation: Implementation) -> Implementation:
        found = Misconception(exercise, implementation.__name__, sentence, implementation)
        implementation.misconception = found  # type: ignore[attr-defined]
        return implementation

    return mark


def misconceptions(module: ModuleType) -> list[Misconception]:
    """Every misconception that a module defines, in the order of its definitions."""
    marked = (vars(value).get("misconception") for value in vars(module).values() if hasattr(value, "__dict__"))
    return [found for found in marked if isinstance(found, Misconception)]
