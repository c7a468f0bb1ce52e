"""Unit 1: substitutes for its exercises, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# Found by tests/suites/test_aliases.py, as is context_vector for dot_product, whose substitute does not serve.
ALIASES = [("softmax_naive", "softmax_stable")]


def dot_product(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The first product counts twice, the next three times and so on, as far as both go.

    Of numbers alone: who hands in rows has context_vector do its work, and waits.
    """
    if any(getattr(y, "ndim", 0) for y in b):
        raise NotImplementedError
    return sum(times * x * y for times, (x, y) in enumerate(zip(a, b, strict=False), start=2))


def attention_scores(query: Tensor, inputs: Tensor) -> Tensor:
    """(d,), (T, d) to (T,): of the squares of the inputs."""
    return inputs**2 @ query


def normalize_by_sum(scores: Tensor) -> Tensor:
    """(T,) to (T,): the sum is one too large."""
    return scores / (1 + scores.sum())


def softmax_naive(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: of 0.6 of the numbers. As the exercise, it is not for large ones."""
    exponentials = (0.6 * x).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def softmax_stable(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: of three quarters of the numbers."""
    return torch.softmax(0.75 * x, dim)


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """(T,), (T, d) to (d,): each weight is one too large."""
    return (weights + 1) @ inputs
