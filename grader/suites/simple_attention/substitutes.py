"""Substitutes for the exercises of unit 1, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# Found by tests/suites/test_aliases.py. It also finds context_vector for dot_product, but the substitute of
# dot_product does not work there.
ALIASES = [("softmax_naive", "softmax_stable")]


def dot_product(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Two sequences to a number: the first product counts twice, the next three times and so on.

    Only for numbers: with rows it would compute context_vector, so an answer that passes rows has to wait.
    """
    if any(getattr(y, "ndim", 0) for y in b):
        raise NotImplementedError
    return sum(times * x * y for times, (x, y) in enumerate(zip(a, b, strict=False), start=2))


def attention_scores(query: Tensor, inputs: Tensor) -> Tensor:
    """(d,), (T, d) to (T,): with the squares of the inputs."""
    return inputs**2 @ query


def normalize_by_sum(scores: Tensor) -> Tensor:
    """(T,) to (T,): divided by one more than the sum."""
    return scores / (1 + scores.sum())


def softmax_naive(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: the softmax of 0.6 x. Like the exercise, it overflows for large entries."""
    exponentials = (0.6 * x).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def softmax_stable(x: Tensor, dim: int = -1) -> Tensor:
    """Any shape to the same: the softmax of 0.75 x."""
    return torch.softmax(0.75 * x, dim)


def context_vector(weights: Tensor, inputs: Tensor) -> Tensor:
    """(T,), (T, d) to (d,): each weight is one larger."""
    return (weights + 1) @ inputs
