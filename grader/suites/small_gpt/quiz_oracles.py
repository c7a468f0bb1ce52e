"""The capstone: each number and shape of the practice items, computed by torch itself."""

from __future__ import annotations

import torch
from torch import nn


def parameters_of_a_small_gpt(V: int, L: int, C: int, N: int, block: int) -> int:
    """Count the parts; on the meta device they take no memory."""
    with torch.device("meta"):
        attention = [*(nn.Linear(C, C, bias=False) for _ in range(3)), nn.Linear(C, C)]
        feed_forward = [nn.Linear(C, 4 * C), nn.Linear(4 * C, C)]
        parts = [*attention, *feed_forward, nn.LayerNorm(C), nn.LayerNorm(C)]
        ends = [nn.Embedding(V, C), nn.Embedding(L, C), nn.LayerNorm(C), nn.Linear(C, V, bias=False)]
    assert block == _count(parts)
    return N * block + _count(ends)


def a_larger_vocabulary(V: int, W: int, C: int) -> int:
    with torch.device("meta"):
        small, large = ([nn.Embedding(size, C), nn.Linear(C, size, bias=False)] for size in (V, W))
    return _count(large) - _count(small)


def shape_of_the_position_rows(B: int, T: int, L: int, C: int) -> tuple[int, ...]:
    idx = torch.zeros(B, T, dtype=torch.long)
    return tuple(nn.Embedding(L, C)(torch.arange(idx.shape[1])).shape)


def the_last_call(B: int, T: int, N: int, L: int) -> tuple[int, ...]:
    """Generate with a model that notes what it gets."""
    idx = torch.zeros(B, T, dtype=torch.long)
    for _ in range(N):
        given = idx[:, -L:]
        idx = torch.cat([idx, given[:, -1:]], dim=1)
    return tuple(given.shape)


def _count(parts: list[nn.Module]) -> int:
    return sum(parameter.numel() for part in parts for parameter in part.parameters())
