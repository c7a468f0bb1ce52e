"""Records what the checks of one run observe, so that the diagnosis can compare it with the misconceptions."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

Value = TypeVar("Value")


@dataclass
class Observation:
    """One observation of a check: a tensor, a number (an estimate with an error of at most `within`), or a word."""

    value: torch.Tensor | float | str
    within: float = 0.0

    def resembles(self, other: Observation) -> bool:
        """Return whether two submissions that behave alike could have these observations."""
        if isinstance(self.value, torch.Tensor) and isinstance(other.value, torch.Tensor):
            return self.value.shape == other.value.shape and torch.allclose(
                self.value.double(), other.value.double(), rtol=1e-3, atol=1e-4, equal_nan=True
            )
        if isinstance(self.value, float) and isinstance(other.value, float):
            # Both are estimates, each with its own error.
            near = abs(self.value - other.value) <= self.within + other.within
            return near or self.value == other.value or (math.isnan(self.value) and math.isnan(other.value))
        # bool(…): in the types of torch before 2.6, == of tensors returns a tensor.
        return bool(type(self.value) is type(other.value) and self.value == other.value)


Sizes = dict[str, int]
"""The whole numbers and the last two sizes of the tensors that a call takes, by what a student reads."""


class Recorder:
    """The observations of one run, in order, and remarks for the student that cost no points.

    is_in_training: whether the test has put a module into training mode. calls: the sizes of each call's arguments.
    results: those of the last call that gave several, after what is said if they are in another order.
    """

    def __init__(self, test: str = "", substituted: Sequence[Any] = ()) -> None:
        """Start without observations.

        Args:
            test: The unit and the name of the test that runs.
            substituted: What its comparisons expect, in order, because substitutes are used; None: what they say.
        """
        self.test = test
        self.substituted = iter(substituted)
        self.observations: list[Observation] = []
        self.remarks: list[str] = []
        self.is_in_training = False
        self.calls: list[Sizes] = []
        self.results: tuple[str, Sequence[Any]] = "", ()

    def recording(self) -> AbstractContextManager[Recorder]:
        """Record the observations of the checks inside the block."""
        return bound(_CURRENT, self)


@contextlib.contextmanager
def bound(variable: ContextVar[Any], value: Value) -> Iterator[Value]:
    """Give a variable this value inside the block."""
    before = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(before)


# The recorder of the current run. Suites call the checks as plain functions, so they cannot pass it on.
_CURRENT: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def current_recorder() -> Recorder:
    """Return the recorder of the current run; one that nobody reads if there is no run."""
    return _CURRENT.get() or Recorder()


def note(value: torch.Tensor | float | str, within: float = 0.0) -> None:
    """Record one observation of the current run, if there is one."""
    current_recorder().observations.append(Observation(value, within))


def note_call(arguments: Sequence[Any]) -> None:
    """Record the sizes of a call's arguments, if there is a current run. The dimensions of batches do not count."""
    if arguments:
        sizes = {f"argument {place}": one for place, one in enumerate(arguments, 1) if type(one) is int}
        for place, one in enumerate(arguments, 1):
            shape = one.shape[-2:] if isinstance(one, torch.Tensor) else ()
            sizes |= {f"dimension {dim - len(shape)} of argument {place}": size for dim, size in enumerate(shape)}
        current_recorder().calls.append(sizes)
