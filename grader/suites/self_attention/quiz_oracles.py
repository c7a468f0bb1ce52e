"""Unit 2: each number and shape of the quiz and the practice items, computed by torch itself."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


def scaled_by_hand(T_q: int, T_k: int, d_k: int, score: float) -> float:
    """Read the scaled score off the weights that torch's own attention gives to one key and to keys of zeros."""
    queries = torch.full((1, T_q, d_k), score / d_k, dtype=torch.float64)
    keys = torch.zeros(1, T_k, d_k, dtype=torch.float64)
    keys[0, 0] = 1  # the dot product of each query with this key is the score
    values = torch.eye(T_k, dtype=torch.float64)[None]  # the contexts are then the weights
    weights = functional.scaled_dot_product_attention(queries, keys, values)[0, 0]
    return (weights[0] / weights[1]).log().item()


def variance_after_scaling(d_k: int, s_q: int, s_k: int) -> float:
    """The exact variance over entries of ±s_q and ±s_k, from all cases of one product: d_k of them add up."""
    signs = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    products = torch.outer(s_q * signs, s_k * signs).flatten() / d_k**0.5
    return round(d_k * products.var(correction=0).item(), 9)  # a whole number, except for rounding


def shape_of_contexts(B: int, T_q: int, T_k: int, d_k: int, d_v: int) -> tuple[int, ...]:
    queries, keys, values = torch.ones(B, T_q, d_k), torch.ones(B, T_k, d_k), torch.ones(B, T_k, d_v)
    return tuple(functional.scaled_dot_product_attention(queries, keys, values).shape)


def shape_of_a_weight(d_in: int, d_out: int) -> tuple[int, ...]:
    return tuple(nn.Linear(d_in, d_out).weight.shape)


def shape_of_turned_keys(B: int, T: int, d_k: int) -> tuple[int, ...]:
    return tuple(torch.zeros(B, T, d_k).mT.shape)


def parameters_with_bias(d_in: int, d_out: int) -> int:
    layers = nn.ModuleList(nn.Linear(d_in, d_out) for _ in range(3))
    return sum(parameter.numel() for parameter in layers.parameters())


def second_entry_of_a_query(x: list[int], row_0: list[int], row_1: list[int]) -> int:
    return int((torch.tensor(x) @ torch.tensor([row_0, row_1]))[1])
