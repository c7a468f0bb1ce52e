"""Modules and factories made by the door, to hand in where an exercise takes one.

An exercise that takes a module is tested on these, so that no exercise depends on another's answer. They stand
on the student's side: none of them may contain anything that an exercise asks for.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class WeightMatrices(nn.Module):
    """Three weight matrices (d_in, d_out) under the names of SelfAttention_v1, with a forward that mixes them."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W_query - 2 * torch.tanh(x @ self.W_key) + 3 * (x @ self.W_value)


class WeightLayers(nn.Module):
    """Three linear layers under the names of SelfAttention_v2; the same forward as WeightMatrices."""

    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.W_query(x) - 2 * torch.tanh(self.W_key(x)) + 3 * self.W_value(x)


class TokenMixer(nn.Module):
    """(B, T, C) to the same shape: each token becomes itself plus the mean over all tokens of its sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x.mean(dim=-2, keepdim=True)


class PositionWise(nn.Module):
    """(…, C) to the same shape, every position on its own: a square and a shift."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x + 1


class CountingFactory:
    """A callable without arguments that makes a new PositionWise each time and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> nn.Module:
        self.calls += 1
        return PositionWise()


BY_NAME: dict[str, type] = {
    kind.__name__: kind for kind in (WeightMatrices, WeightLayers, TokenMixer, PositionWise, CountingFactory)
}


def make(name: str, *arguments: Any, **options: Any) -> Any:
    """One of the kinds above, or one of torch.nn's own modules. Raises AttributeError for any other name."""
    kind = BY_NAME.get(name) or getattr(nn, name)
    return kind(*arguments, **options)
