"""Finds results that were divided by the wrong sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.testing.relations import ABSOLUTE, Property, close, is_varied

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor


def sums_of_other_rows(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect numbers (i, j) that are the expected ones times a number for i, divided by the same number for j."""
    if value.dim() < 2 or value.shape[-1] != value.shape[-2]:
        return
    first, right = value[..., :1], expected[..., :1]
    if (right.abs() <= ABSOLUTE).any() or (first.abs() <= ABSOLUTE).any():
        return
    sums = first / right  # those of all rows, divided by that of row 0: (…, T, 1)
    if is_varied(sums, 3) and (sums > 0).all() and close(expected * sums / sums.mT, value):
        yield Property(
            "sums_of_other_rows",
            "look as if each had been divided by the sum of another row. A sum along the last dimension lies along the "
            "columns, unless `keepdim=True` keeps the dimension.",
        )
