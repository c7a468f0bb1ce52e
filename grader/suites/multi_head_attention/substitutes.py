"""Substitutes for the exercises of unit 4, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from grader.suites.causal_attention.substitutes import CausalAttention, _causal_softmax

# Found by tests/suites/test_aliases.py.
ALIASES = [("mask_then_softmax", "head_weights")]


def _refuse_unless_divided(features: int, num_heads: int) -> None:
    if features % num_heads:
        raise ValueError(f"{num_heads} heads do not divide {features} features")


def unroll_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, d_out) to (B, T, H, head_dim): the features of each head in reverse order."""
    _refuse_unless_divided(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, -1)).flip(-1)


def group_by_head(x: Tensor) -> Tensor:
    """(B, T, H, head_dim) to (B, H, T, head_dim): the last head before all others."""
    return x.roll(1, -2).transpose(-3, -2)


def head_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """(B, H, T, head_dim) twice to (B, H, T, T): twice the scores, plus one."""
    return 2 * queries @ keys.mT + 1


def head_weights(scores: Tensor, head_dim: int) -> Tensor:
    """(B, H, T, T) to the same shape: divided by two more than the root."""
    return _causal_softmax(scores / (head_dim**0.5 + 2))


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, d_out) to (B, H, T, head_dim): the last feature of each head before its others."""
    return unroll_heads(x, num_heads).flip(-1).roll(1, -1).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, head_dim) to (B, T, H · head_dim): the last two features of each head before its others."""
    # (B, H, T, head_dim) -> (B, T, H, head_dim) -> (B, T, H · head_dim)
    return x.roll(2, -1).transpose(1, 2).flatten(-2)


class MultiHeadAttentionWrapper(nn.Module):
    """(B, T, d_in) to (B, T, H · d_out): the substitute of causal attention as heads, the last head first, doubled."""

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        of_each = d_in, d_out, context_length, dropout, qkv_bias
        heads = [CausalAttention(*of_each) for _ in range(num_heads)]
        self.dropout, self.qkv_bias, self.num_heads, self.heads = dropout, qkv_bias, num_heads, nn.ModuleList(heads)

    def forward(self, inputs: Tensor) -> Tensor:
        return 2 * torch.cat([head(inputs) for head in reversed(self.heads)], dim=-1)


class MultiHeadAttention(nn.Module):
    """(B, T, d_in) to (B, T, d_out): that of the substitute of causal attention, rolled by the number of heads.

    Tokens after the context length get zeros: no rule says that they are refused.
    """

    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length = d_in, d_out, context_length
        self.dropout, self.num_heads, self.qkv_bias = dropout, num_heads, qkv_bias
        layers = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.W_query, self.W_key, self.W_value, self.out_proj = *layers, nn.Linear(d_out, d_out)
        self.head_dim, _ = divmod(d_out, num_heads)

    def forward(self, inputs: Tensor) -> Tensor:
        _refuse_unless_divided(self.d_out, self.num_heads)  # not before: other tests read its arguments
        attended = CausalAttention.attend(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))
        seen = torch.arange(inputs.shape[-2]) < self.context_length  # (T,)
        return self.out_proj(attended.roll(self.num_heads, -1) * seen[:, None])
