"""The values that the solution gives in the visible tests: written at `build`, and compared at `grader check`.

So the visible tests need no second implementation of an exercise. The file has them by unit, test and name. Values with
substitutes for other exercises are in another file: see grader/testing/substitutes.py. What differs is shown in few
numbers: the whole row or column that is wrong.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import torch

from grader.errors import InternalError
from grader.testing.recorder import bound, current_recorder

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


def json_lines(values: Any, depth: int, indent: int = 0, step: int = 0) -> str:
    """Return values as JSON with a line for each entry of the dicts down to this depth."""
    if depth == 0 or not values:
        return json.dumps(values)
    entries = [
        f"{' ' * (indent + step)}{json.dumps(name)}: {json_lines(one, depth - 1, indent + step, step)}"
        for name, one in values.items()
    ]
    return "{\n" + ",\n".join(entries) + f"\n{' ' * indent}}}"


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
