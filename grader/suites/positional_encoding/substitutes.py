"""Substitutes for the exercises of unit 5, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_as_matmul(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(m, n), (n, k), (k,) to (m, k): the squares of x times the weight, plus twice the bias."""
    return x**2 @ weight + 2 * bias


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """(T, d_model): the position plus one, divided by the column plus two."""
    if d_model % 2:
        raise ValueError(f"{d_model} features do not make pairs")
    return torch.arange(1, num_positions + 1)[:, None] / torch.arange(2, d_model + 2)  # (T, 1) / (d_model,)
