"""Unit 4: each answer of the quiz and the practice items, computed by the layers and operations of its question."""

from __future__ import annotations

import torch
from torch import nn


def shape_of_transposed_keys(B: int, T: int, d_out: int, H: int) -> tuple[int, ...]:
    heads = torch.zeros(B, T, d_out).chunk(H, dim=-1)  # H times (B, T, head_dim)
    return tuple(torch.stack(heads, dim=1).mT.shape)


def heads_side_by_side(B: int, T: int, width: int, H: int, head_dim: int, k: int) -> tuple[int, ...]:
    heads = [nn.Linear(width, head_dim) for _ in range(H)]
    return tuple(torch.cat([head(torch.zeros(B, T, width)) for head in heads[:k]], dim=-1).shape)


def weights_left_open(T: int, d_out: int, H: int) -> int:
    features = torch.zeros(H, T, d_out // H)
    future = torch.ones(T, T).triu(diagonal=1).bool()
    weights = (features @ features.transpose(-2, -1)).masked_fill(future, -torch.inf).softmax(dim=-1)
    return int(weights.count_nonzero())


def reshape_alone(T: int, d_out: int, H: int, head_dim: int, h: int, t: int) -> int:
    x = 10 * torch.arange(T)[:, None] + torch.arange(d_out)  # (T, d_out)
    return int(x.reshape(1, H, T, head_dim)[0, h, t, 0])


def from_wrapper_to_module(d_out: int, H: int) -> int:
    return torch.cat([nn.Linear(3, d_out).weight for _ in range(H)]).shape[0]


def shape_after_unrolling(B: int, T: int, d_out: int, H: int) -> tuple[int, ...]:
    return tuple(torch.zeros(B, T, d_out).unflatten(-1, (H, -1)).shape)


def shape_of_all_scores(B: int, H: int, T: int, head_dim: int) -> tuple[int, ...]:
    queries = torch.zeros(B, H, T, head_dim)
    return tuple(torch.einsum("bhqd,bhkd->bhqk", queries, queries).shape)


def where_a_head_begins(d_out: int, H: int, h: int) -> int:
    return int(torch.arange(d_out).chunk(H)[h][0])


def parameters_of_the_module(d_in: int, d_out: int, H: int) -> int:
    projections = [nn.Linear(d_in, d_out // H, bias=False) for _ in range(3 * H)]
    layers = nn.ModuleList([*projections, nn.Linear(d_out, d_out)])
    return sum(parameter.numel() for parameter in layers.parameters())
