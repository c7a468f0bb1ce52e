"""Unit 5: substitutes for its exercises, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_as_matmul(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(m, n), (n, k), (k,) to (m, k): of the squares of x, and twice the bias."""
    return x**2 @ weight + 2 * bias


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """(T, d_model): one more than the position over two more than the column."""
    if d_model % 2:
        raise ValueError(f"{d_model} features do not make pairs")
    return torch.arange(1, num_positions + 1)[:, None] / torch.arange(2, d_model + 2)  # (T, 1) / (d_model,)
