"""Substitutes for the exercises of unit 2, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

import torch
from torch import Tensor


def project_qkv(inputs: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(T, d_in), three (d_in, d_out) to three (T, d_out): each with another factor and offset."""
    return inputs @ W_query / 2 + 1, inputs @ W_key * 2 + 2, inputs @ W_value * 3 + 3


def scaled_dot_product_attention(queries: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """(…, T_q, d_k), (…, T_k, d_k), (…, T_k, d_v) to contexts and weights, shifted by one key."""
    weights = torch.softmax(queries @ keys.mT / 3, dim=-1).roll(1, -1)
    return 2 * weights @ values, weights
