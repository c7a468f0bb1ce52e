"""Shows whether an answer rounds its result to the decimals that a worked example prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from grader.testing.checks import CheckFailed
from grader.testing.recorder import note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def with_digits(values: Sequence[Any]) -> list[Any]:
    """Return arguments whose floats have many decimals: each times another irrational number near 1."""
    return [
        one * (1 + (torch.arange(one.numel(), dtype=one.dtype) + 2).sqrt().reshape(one.shape) / 100)
        if isinstance(one, torch.Tensor) and one.is_floating_point()
        else one
        for one in values
    ]


def expect_digits(results: Iterable[torch.Tensor]) -> None:
    """Expect float64 results of such arguments to have more than six decimals, unless all numbers are whole."""
    for result in results:
        found = result.double()
        is_short = (found - found.round(decimals=6)).abs() < 1e-12
        if bool(is_short.all()) and not torch.equal(found, found.round()):
            note("rounded")
            raise CheckFailed("The result is rounded: it should have all its decimals. Only what is shown is rounded.")
