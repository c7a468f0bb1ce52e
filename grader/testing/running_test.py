"""What the checks of the running test observe, and the values of the solution that they expect.

The diagnosis compares the observations with those of the misconceptions.

The values are those that the solution gives in the visible tests: written at `build`, compared at `grader check`. So
the visible tests need no second implementation of an exercise. The file has them by unit, test and name. Values with
substitutes for other exercises are in another file: see grader/testing/substitutes.py. What differs is shown in few
numbers: the whole row or column that is wrong.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from grader.errors import InternalError

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


# -- the values of the solution ----------------------------------------------------------------------------------

FILENAME = "expected_values.json"
ABSOLUTE, RELATIVE = 1e-4, 1e-4
"""Values that differ by less are the same."""

Values = dict[str, Any]
"""Numbers, true or false, in lists as deep as the tensor has dimensions; by name."""


class Substituted(NamedTuple):
    """What the running test compares without substitutes, by name, and with them, in order: None if nothing changes."""

    solved: Values
    compared: list[Any]


_WRITTEN: ContextVar[Values | None] = ContextVar("written", default=None)
_SUBSTITUTED: ContextVar[Substituted | None] = ContextVar("substituted", default=None)


def written_values() -> AbstractContextManager[Values]:
    """Collect the values that the test inside the block compares, instead of comparing them."""
    values: Values = {}
    return bound(_WRITTEN, values)


def substituted_values(solved: Values) -> AbstractContextManager[Substituted]:
    """Collect what the test inside the block compares in a run with substitutes.

    solved: what `written_values` collected in a run without them.
    """
    return bound(_SUBSTITUTED, Substituted(solved, []))


def read_values(path: Path) -> dict[str, dict[str, Values]]:
    """Return the values of a file, by unit and test. A file that does not exist yet has none."""
    known: dict[str, dict[str, Values]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return known


def solution_value(known: dict[str, dict[str, Values]], name: str, yours: Any) -> torch.Tensor:
    """Return what the solution gives under this name in the running test.

    While the values are written, that is `yours`. Raises InternalError if there is no value.
    """
    running = current_recorder().test
    if (written := _WRITTEN.get()) is not None:
        if name in written:
            raise InternalError(f"{running} compares two values as {name!r}: give each a name of its own")
        written[name] = plain(torch.as_tensor(yours).detach())
        return torch.as_tensor(written[name])
    unit, _, test = running.partition("/")
    substituted = _SUBSTITUTED.get()
    values = substituted.solved if substituted else known.get(unit, {}).get(test, {})
    if name not in values:
        raise InternalError(f"{running} has no value for {name!r}: run `grader build`")
    return expected_here(yours, torch.as_tensor(values[name]))


def expected_here(yours: Any, expected: torch.Tensor) -> torch.Tensor:
    """Return what a comparison of the running test expects: with substitutes, what the solution gives with them."""
    if substituted := _SUBSTITUTED.get():
        value = plain(torch.as_tensor(yours).detach())
        is_same = unchanged(plain(expected), value)
        substituted.compared.append(None if is_same else value)
        return expected if is_same else torch.as_tensor(value)
    value = next(current_recorder().substituted, None)
    return expected if value is None else torch.as_tensor(value)


def unchanged(old: Any, new: Any) -> bool:
    """Return whether two values of a file are the same up to rounding."""
    try:
        one, other = torch.as_tensor(old), torch.as_tensor(new)
    except (TypeError, ValueError):
        return False
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(torch.isclose(one.double(), other.double(), rtol=RELATIVE / 2, atol=ABSOLUTE / 2, equal_nan=True).all())


def plain(value: torch.Tensor) -> Any:
    """Return a tensor as lists of numbers with six digits."""
    return _rounded(value.double().tolist()) if value.is_floating_point() else value.tolist()


def _rounded(value: Any) -> Any:
    return [_rounded(one) for one in value] if isinstance(value, list) else float(f"{value:.6g}")


MOST_SHOWN = 8
"""Of a longer row, only the first wrong number is shown."""


class Difference(NamedTuple):
    """The part that differs: its place, such as `[1]` or `[:, 0]`, and both versions as text."""

    place: str
    expected: str
    yours: str


def difference(yours: torch.Tensor, expected: torch.Tensor) -> Difference | None:
    """Return the first row of a tensor that differs from the expected one, or the column if only one is wrong.

    The shapes are the same. A row lies along the last dimension, a column along the one before it.
    """
    close = torch.isclose(yours.detach().double(), expected.double(), rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    if close.all():
        return None
    wrong = (~close).nonzero()
    first = wrong[0].tolist()
    place: tuple[Any, ...] = tuple(first[:-1])
    if expected.dim() > 1:
        here = wrong[(wrong[:, :-2] == wrong[0, :-2]).all(dim=1)]
        in_one_column, in_one_row = (bool((here[:, n] == here[0, n]).all()) for n in (-1, -2))
        if in_one_column and not in_one_row:
            place = (*first[:-2], slice(None), first[-1])
    if expected[place].numel() > MOST_SHOWN:
        place = tuple(first)
    shown = ", ".join(":" if isinstance(one, slice) else str(one) for one in place)
    return Difference(f"[{shown}]" if place else "", _text(expected[place]), _text(yours.detach()[place]))


def _text(part: torch.Tensor) -> str:
    """Return a number or a row of them as text."""
    return number(part.item()) if part.dim() == 0 else f"[{', '.join(map(number, part.tolist()))}]"


def number(value: float) -> str:
    """Return a number as text: whole numbers and truth values as such, others with four decimals."""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
