"""The values that the solution gives in the visible tests: written at `build`, and compared at `grader check`.

So the visible tests need no second implementation of an exercise. The file has them by unit, test and name. Values with
substitutes for other exercises are in another file: see grader/testing/substitutes.py.
"""

from __future__ import annotations

import contextlib
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from grader.errors import InternalError
from grader.testing.recorder import running_test, substituted_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILENAME = "expected_values.json"
ABSOLUTE, RELATIVE = 1e-4, 1e-4
"""Values that differ by less are the same."""

Values = dict[str, Any]
"""Numbers, true or false, in lists as deep as the tensor has dimensions; by name."""

_WRITTEN: ContextVar[Values | None] = ContextVar("written", default=None)


class _Substituted(NamedTuple):
    """What the running test compares without substitutes, by name, and with them, in order."""

    solved: Values
    compared: list[Any]


_SUBSTITUTED: ContextVar[_Substituted | None] = ContextVar("substituted", default=None)


@contextlib.contextmanager
def written_values() -> Iterator[Values]:
    """Collect the values that the test inside the block compares, instead of comparing them."""
    values: Values = {}
    before = _WRITTEN.set(values)
    try:
        yield values
    finally:
        _WRITTEN.reset(before)


@contextlib.contextmanager
def substituted_values(solved: Values) -> Iterator[list[Any]]:
    """Collect what the test inside the block compares in a run with substitutes: None where they change nothing.

    solved: what `written_values` collected in a run without them.
    """
    compared: list[Any] = []
    before = _SUBSTITUTED.set(_Substituted(solved, compared))
    try:
        yield compared
    finally:
        _SUBSTITUTED.reset(before)


def read_values(path: Path) -> dict[str, dict[str, Values]]:
    """Return the values of a file, by unit and test. A file that does not exist yet has none."""
    known: dict[str, dict[str, Values]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return known


def solution_value(known: dict[str, dict[str, Values]], name: str, yours: Any) -> torch.Tensor:
    """Return what the solution gives under this name in the running test.

    While the values are written, that is `yours`. Raises InternalError if there is no value.
    """
    written = _WRITTEN.get()
    if written is not None:
        if name in written:
            raise InternalError(f"{running_test()} compares two values as {name!r}: give each a name of its own")
        written[name] = plain(torch.as_tensor(yours).detach())
        return torch.as_tensor(written[name])
    unit, _, test = running_test().partition("/")
    substituted = _SUBSTITUTED.get()
    values = substituted.solved if substituted else known.get(unit, {}).get(test, {})
    if name not in values:
        raise InternalError(f"{running_test()} has no value for {name!r}: run `grader build`")
    return expected_here(yours, torch.as_tensor(values[name]))


def expected_here(yours: Any, expected: torch.Tensor) -> torch.Tensor:
    """Return what a comparison of the running test expects: with substitutes, what the solution gives with them."""
    if substituted := _SUBSTITUTED.get():
        value = plain(torch.as_tensor(yours).detach())
        is_same = unchanged(plain(expected), value)
        substituted.compared.append(None if is_same else value)
        return expected if is_same else torch.as_tensor(value)
    value = substituted_value()
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
    if value.is_floating_point():
        return _rounded(value.double().tolist())
    return value.tolist()


def _rounded(value: Any) -> Any:
    return [_rounded(one) for one in value] if isinstance(value, list) else float(f"{value:.6g}")
