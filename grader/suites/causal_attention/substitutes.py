"""Substitutes for the exercises of unit 3, none of them right. See grader/testing/substitutes.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def causal_mask(num_tokens: int) -> Tensor:
    """(T, T): hides the future, and the token two positions back."""
    places = torch.arange(num_tokens)
    back = places[:, None] - places
    return (back < 0) | (back == 2)


def mask_then_renormalize(weights: Tensor) -> Tensor:
    """(…, T, T) to the same shape: divided by three more than the sum."""
    seen = weights.tril()
    return seen / (3 + seen.sum(dim=-1, keepdim=True))


def _causal_softmax(scores: Tensor) -> Tensor:
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


def mask_then_softmax(scores: Tensor, d_k: int) -> Tensor:
    """(…, T, T) to the same shape: divided by one more than the root."""
    return _causal_softmax(scores / (d_k**0.5 + 1))


def _refuse_more_than(context_length: int, inputs: Tensor) -> None:
    if inputs.shape[-2] > context_length:
        raise ValueError(f"{inputs.shape[-2]} tokens are more than the context length of {context_length}")


class CausalAttention(nn.Module):
    """(B, T, d_in) to (B, T, d_out): the elementwise product of the three layers' outputs, averaged over the past."""

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length, self.qkv_bias = d_in, d_out, context_length, qkv_bias
        layers = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.W_query, self.W_key, self.W_value, self.dropout = *layers, nn.Dropout(dropout)

    @staticmethod
    def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Three (B, T, d_out) to (B, T, d_out)."""
        count = torch.arange(1, values.shape[-2] + 1, dtype=values.dtype)
        return (queries * keys * values).cumsum(dim=-2) / count[:, None]

    def forward(self, inputs: Tensor) -> Tensor:
        _refuse_more_than(self.context_length, inputs)
        return self.dropout(self.attend(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)))
