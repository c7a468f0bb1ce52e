"""Shows where a result differs from the expected one: the whole row or column that is wrong, in few numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from grader.testing.expected_values import ABSOLUTE, RELATIVE

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
