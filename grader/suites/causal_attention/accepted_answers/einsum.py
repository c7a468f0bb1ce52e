"""einsum, a mask that is added, a persistent float buffer, type hints, prints, warnings and extra attributes."""

import math
import warnings
from typing import Optional

import torch
import torch.nn as nn

print("causal attention with einsum, loaded")
warnings.warn("einsum is slower on this machine", stacklevel=1)


def causal_mask(num_tokens: int) -> torch.Tensor:
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1) == 1


def mask_then_renormalize(weights: torch.Tensor) -> torch.Tensor:
    seen = torch.tril(torch.ones_like(weights))
    left = weights * seen
    return torch.einsum("ij,i->ij", left, 1 / torch.einsum("ij->i", left))


def mask_then_softmax(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    future = torch.full_like(scores, float("-inf")).triu(1)
    print("scores", tuple(scores.shape))
    return nn.functional.softmax((scores + future) / math.sqrt(d_k), dim=1)


def attention_dropout(weights: torch.Tensor, p: float, generator: Optional[torch.Generator] = None) -> torch.Tensor:
    assert 0.0 <= p < 1.0, "p is no probability, or nothing would be left"
    keep = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return torch.einsum("...,...->...", weights, keep) / (1 - p)


class CausalAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False
    ) -> None:
        super().__init__()
        self.d_in, self.d_out, self.context_length, self.qkv_bias = d_in, d_out, context_length, qkv_bias
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bool(qkv_bias)) for _ in range(3))
        self.register_buffer("mask", torch.full((1, context_length, context_length), -1e9).triu(1))
        self.register_buffer("calls", torch.zeros(()))
        self.dropout = nn.Dropout(p=dropout)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        T = x.size(1)
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(self.d_out)
        self.last_weights = torch.softmax(scores + self.mask[:, :T, :T], dim=2)
        return torch.einsum("bqk,bkd->bqd", self.dropout(self.last_weights), values)
