"""What the checks of one run of a test looked at, so that a diagnosis can compare it with the misconceptions."""

from __future__ import annotations

import contextlib
import math
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Observation:
    """One thing that a check looked at: a tensor, a number (an estimate, good to `within`), or a word."""

    value: torch.Tensor | float | str
    within: float = 0.0

    def resembles(self, other: Observation) -> bool:
        """Return whether two submissions that behave alike would show both."""
        if isinstance(self.value, torch.Tensor) and isinstance(other.value, torch.Tensor):
            return self.value.shape == other.value.shape and torch.allclose(
                self.value.double(), other.value.double(), rtol=1e-3, atol=1e-4, equal_nan=True
            )
        if isinstance(self.value, float) and isinstance(other.value, float):
            # Each is an estimate of its own, and off by its own error.
            near = abs(self.value - other.value) <= self.within + other.within
            return near or self.value == other.value or (math.isnan(self.value) and math.isnan(other.value))
        # bool(…): before torch 2.6 or so, the types say that == of tensors gives a tensor.
        return bool(type(self.value) is type(other.value) and self.value == other.value)


class Recorder:
    """The observations of one run, in order, and what it has to say to the student at no cost."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.observations: list[Observation] = []
        self.remarks: list[str] = []

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Give this recorder what the checks inside the block look at."""
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)


# The recorder of the run that goes on: suites call the checks as plain functions, and so hand on none.
_CURRENT: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def note(value: torch.Tensor | float | str, within: float = 0.0) -> None:
    """Record one observation of the run that goes on, if one does."""
    if recorder := _CURRENT.get():
        recorder.observations.append(Observation(value, within))


def remark(sentence: str) -> None:
    """Record a remark of the run that goes on, if one does."""
    if recorder := _CURRENT.get():
        recorder.remarks.append(sentence)
