"""What a hidden test is given: fresh inputs, and the cases of a parametrized test."""

from __future__ import annotations

from typing import Any

import pytest
import torch


class Fresh:
    """Draws standard normal inputs, the same ones in every run of a test."""

    def __init__(self, seed: int) -> None:
        """Start at this seed."""
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return standard normal numbers of this shape."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)

    def order(self, count: int) -> torch.Tensor:
        """Return the numbers from 0 to count - 1, (count,), in random order."""
        return self(count).argsort()

    def rotation(self, size: int) -> torch.Tensor:
        """Return an orthogonal matrix, (size, size), in float64."""
        orthogonal: torch.Tensor = torch.linalg.qr(self(size, size, dtype=torch.float64)).Q
        return orthogonal


def case(name: str, exercise: str, rule: str, sentence: str, *values: Any) -> Any:
    """Make one case of a parametrized test a criterion of its own.

    Args:
        name: The criterion's name.
        exercise: The exercise that it belongs to.
        rule: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        values: The arguments of the case, besides the student and fresh inputs.
    """
    return pytest.param(*values, id=name, marks=pytest.mark.exercise(exercise, rule=rule, sentence=sentence))
