"""The outcome of one run of a criterion, and its reason."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from grader.course.modules import described
from grader.engine.grading_processes import OUT_OF_MEMORY, LimitExceeded, ran_out_of_memory
from grader.errors import InternalError
from grader.reports.report_model import NOT_WRITTEN
from grader.sandbox.failures import Ended, FailedStatement, Failure, NotDefined, Raised, TimedOut
from grader.sandbox.replies import ALWAYS_TRUE
from grader.testing.checks import NO_ERROR, RAISED, REFUSALS, CheckFailed
from grader.testing.properties import Comparison
from grader.testing.running_test import Observation, Recorder, Sizes

# What torch advises and this course does not, what only torch's developers can use, what its allocator says beside the
# size, and the text of `exit()`.
ADVICE = re.compile(
    r" Use tensor\.detach\(\)\.numpy\(\) instead\.|\[enforce fail at [^]]*\] .*?: (?=can't allocate memory)"
    r"|^None$|(?<=bytes)\. Error code \d+ \(Cannot allocate memory\)"
    r"|(?s: This could be because the operator doesn't exist.*)"
)
# A TypeError has many causes, so its type alone does not identify a mistake.
TYPE_ERRORS = re.compile(
    r"(?:__init__|forward)\(\)|not callable|not iterable|as an integer|unsupported operand|not a Module subclass"
    r"|cannot assign|\bargument(?=s?\b)(?! after)"
)
# Before the statement that should have defined a missing name.
CAUSE = " The cause is "
# The errors that shapes explain, and what they are about.
SHAPE_ERRORS = ("RuntimeError", "IndexError", "ValueError")
SHAPES = re.compile(r"shape|\bsizes?\b|dimension|\bdims?\b|out of (?:range|bounds)|elements", re.IGNORECASE)
# Python's errors about a missing name, attribute or module.
MISSING = re.compile(r"(?:name|cannot import name|No module named) '(\w+)'")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run. reason, detail, line, file, trace, shapes, about: see Failure. kind: why it has no value.

    substitutes: the exercises whose substitutes were called. The kind is "waiting" if those were no help.
    comparison: the tensors that differ. is_in_training, calls: see Recorder.
    is_explained: whether the reason names the lines that are the cause.
    fault: the suite's file and line, and the error that the test itself raised there; "" if none.
    """

    passed: bool
    kind: str = "passed"
    reason: str = ""
    detail: str = ""
    line: int | None = None
    file: str | None = None
    observations: tuple[Observation, ...] = field(default=(), repr=False)
    substitutes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    comparison: Comparison | None = field(default=None, repr=False, compare=False)
    is_in_training: bool = False
    calls: tuple[Sizes, ...] = field(default=(), repr=False, compare=False)
    trace: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    shapes: tuple[str, ...] = ()
    about: str = ""
    is_explained: bool = field(default=False, compare=False)
    fault: str = field(default="", compare=False)

    def explained(self, lost: Sequence[FailedStatement], others: Collection[str]) -> Outcome:
        """Return this outcome with its cause: the statement that should have defined a missing name.

        Args:
            lost: The statements that did not run, and asserts that are always true, which may be why no error came.
            others: The units and the other exercises. If one of these is missing, the outcome is "waiting".
        """
        names = self.missing_names()
        wanted = _wanted(names, lost).intersection(others)
        if wanted:
            return replace(self, kind="waiting", substitutes=tuple(sorted(wanted)))
        if self.about in others:
            return replace(self, reason=f"{self.reason} It is about your `{self.about}`: check that exercise first.")
        for piece in lost:
            if piece.ran:
                if (
                    piece.reason == ALWAYS_TRUE
                    and NO_ERROR in self.reason
                    and not set(piece.names).intersection(others)
                ):
                    hint = f"The assert in line {piece.line} of {piece.file} is always true, because it tests a tuple"
                    return replace(self, reason=f"{self.reason} {hint}: write it without the brackets.")
                continue
            if names & set(piece.names):
                where = f"line {piece.line} of {piece.file}" if piece.line and piece.file else "a line of it"
                cause = f"{piece.reason[:1].lower()}{piece.reason[1:]}"
                return replace(self, reason=f"{self.reason}{CAUSE}{where}: {cause}", is_explained=True)
        return self

    def missing_names(self) -> set[str]:
        """Return the name that the student's code or the suite did not find."""
        if self.kind == "not defined":
            return {self.reason.partition(" ")[0]}
        found = MISSING.match(self.detail) if self.kind == "raised" else None
        return {found[1]} if found else set()

    @property
    def is_about_refusal(self) -> bool:
        """Whether the run tested that arguments are refused."""
        words = [one.value for one in self.observations if isinstance(one.value, str)]
        return self.kind in ("passed", "wrong") and any(word.startswith(RAISED) for word in words)

    @property
    def wrong_value(self) -> torch.Tensor | float | None:
        """The tensor or number that the run ended at because it is wrong."""
        value = self.observations[-1].value if self.kind == "wrong" and self.observations else None
        return None if isinstance(value, str) else value

    def resembles(self, other: Outcome) -> bool:
        """Return whether two submissions that behave alike could have these outcomes."""
        return (
            self.kind == other.kind
            and len(self.observations) == len(other.observations)
            and all(mine.resembles(theirs) for mine, theirs in zip(self.observations, other.observations, strict=True))
        )


def _wanted(names: set[str], lost: Sequence[FailedStatement]) -> set[str]:
    """Return these names, and those that were missing in the statements that should have defined them."""
    found = set(names)
    while True:
        causes = [MISSING.match(piece.detail) for piece in lost if found & set(piece.names)]
        more = {cause[1] for cause in causes if cause} - found
        if not more:
            return found
        found |= more


def judge(error: BaseException | None, recorder: Recorder, place: tuple[Path, int] | None = None) -> Outcome:
    """Return the outcome of a run that ended with `error` and whose observations are in the recorder.

    place: the file and line of the test, if an error of its own is to be described.

    Raises:
        InternalError: The submission is not the cause of the error.
    """
    outcome = _judged(error, recorder, place)
    return replace(outcome, is_in_training=recorder.is_in_training, calls=tuple(recorder.calls))


def _judged(error: BaseException | None, recorder: Recorder, place: tuple[Path, int] | None) -> Outcome:
    seen = tuple(recorder.observations)
    match error:
        case None:
            return Outcome(True, observations=seen, remarks=tuple(recorder.remarks))
        case InternalError():
            raise error
        case _ if ran_out_of_memory(error):
            raise LimitExceeded(OUT_OF_MEMORY) from error
        case CheckFailed():
            return Outcome(False, "wrong", error.reason, observations=seen, comparison=error.comparison)
        case Raised():
            # A stub gives no text. Torch does, for what it cannot do.
            if error.types[0] == "NotImplementedError" and not error.detail:
                kind, reason = "not written", NOT_WRITTEN
            else:
                kind, reason = "raised", error.reason
            seen = (*seen, Observation(_described(error)))
            outcome = Outcome(False, kind, reason, ADVICE.sub("", error.detail), error.line, error.file, seen)
            is_about_shapes = error.types[0] in SHAPE_ERRORS and SHAPES.search(error.detail)
            return replace(outcome, trace=error.trace, shapes=error.shapes if is_about_shapes else ())
        case Failure():
            kinds = {NotDefined: "not defined", TimedOut: "timed out", Ended: "ended"}
            # The text in brackets is the student's own, such as a shape.
            seen = (*seen, Observation(re.sub(r"\(.*?\)", "(…)", error.reason)))
            kind = kinds.get(type(error), "refused")
            return Outcome(False, kind, error.reason, error.detail, error.line, error.file, seen, about=error.about)
    # The test itself raised. The answer is the cause only if the test raises nothing with the solution.
    fault = described(error, *place) if place else ""
    return Outcome(False, "wrong", "The result has an unexpected type.", observations=seen, fault=fault)


def _described(error: Raised) -> str:
    """Return what identifies an error for the diagnosis: its type and, for a TypeError, what it is about."""
    if REFUSALS & set(error.types):
        return f"{RAISED} a refusal"
    about = TYPE_ERRORS.search(error.detail) if error.types[0] == "TypeError" else None
    return f"{RAISED} {error.types[0]}{f': {about[0]}' if about else ''}"
