import torch
from torch import nn


def causal_mask(num_tokens: int) -> torch.Tensor:
    return torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()


def mask_then_renormalize(weights: torch.Tensor) -> torch.Tensor:
    masked = weights.masked_fill(causal_mask(len(weights)), 0)
    return masked / masked.sum(dim=-1, keepdim=True)


def mask_then_softmax(scores: torch.Tensor, d_k: int) -> torch.Tensor:
    masked = scores.masked_fill(causal_mask(len(scores)), -torch.inf)
    return torch.softmax(masked / d_k**0.5, dim=-1)


def attention_dropout(weights: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    if p < 0 or p >= 1:
        raise ValueError("p should be at least 0 and less than 1")
    keep = torch.rand(weights.shape, generator=generator) >= p
    return weights * keep / (1 - p)


class CausalAttention(nn.Module):

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        num_tokens = inputs.shape[1]
        queries = self.W_query(inputs)
        keys = self.W_key(inputs)
        values = self.W_value(inputs)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values
