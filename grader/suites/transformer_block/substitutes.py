"""Substitutes for the exercises of unit 7, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """(…, C) to the same: each number x becomes x / (1 + x²), and is then scaled and shifted."""

    def __init__(self, emb_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))

    @staticmethod
    def normalize(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """(…, C), (C,), (C,) to (…, C)."""
        return scale * x / (1 + x * x) + shift

    def forward(self, x: Tensor) -> Tensor:
        return self.normalize(x, self.scale, self.shift)


class FeedForward(nn.Module):
    """(…, C) to the same: the hidden numbers are squared."""

    def __init__(self, emb_dim: int, expansion: int = 4) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(emb_dim, expansion * emb_dim), nn.Linear(expansion * emb_dim, emb_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(self.widen(x) ** 2)


class Residual(nn.Module):
    """Any shape to the same: three times x plus twice the output of the module."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    @staticmethod
    def join(x: Tensor, given: Tensor) -> Tensor:
        """Two tensors of one shape to the same."""
        return 3 * x + 2 * given

    def forward(self, x: Tensor) -> Tensor:
        return self.join(x, self.sublayer(x))


class TransformerBlock(nn.Module):
    """(B, T, C) to the same: the product of the outputs of both modules."""

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, emb_dim: int, dropout: float) -> None:
        super().__init__()
        self.attention, self.feed_forward, self.dropout = attention, feed_forward, nn.Dropout(dropout)
        self.norm1, self.norm2 = (LayerNorm(emb_dim) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.attention(self.norm1(x)) * self.feed_forward(self.norm2(x)))


class _Doubling(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)  # type: ignore[no-untyped-call]


def stack_blocks(make_block: Any, num_blocks: int) -> nn.Module:
    """The blocks one after the other, with the output doubled."""
    return _Doubling(*(make_block() for _ in range(num_blocks)))
