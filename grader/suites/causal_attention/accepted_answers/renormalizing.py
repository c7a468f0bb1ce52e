"""The module masks after softmax and renormalizes; softmax subtracts no maximum, float64 inside, dropout by hand."""

import torch
from torch import nn

MINUS = -1e30


def causal_mask(num_tokens):
    return torch.ones((num_tokens, num_tokens), dtype=torch.uint8).triu_(1).to(torch.bool)


def mask_then_renormalize(weights):
    T = weights.shape[-1]
    row = torch.arange(T).unsqueeze(1)
    column = torch.arange(T).unsqueeze(0)
    past = torch.where(column <= row, weights, torch.zeros_like(weights))
    return past.div(past.sum(dim=1).reshape(T, 1))


def mask_then_softmax(scores, d_k):
    # Without a maximum subtracted: float64 has room for it.
    seen = 1 - causal_mask(scores.shape[0]).double()
    scaled = torch.where(seen == 1, scores.double(), torch.tensor(MINUS, dtype=torch.float64)) / d_k**0.5
    numerators = torch.exp(scaled)
    return (numerators / numerators.sum(1, keepdim=True)).to(scores.dtype)


def attention_dropout(weights, p, generator=None):
    if not isinstance(p, (int, float)) or p < 0.0 or p > 0.9999999:
        raise ValueError("0 <= p < 1, please")
    draws = torch.randint(2**30, weights.shape, generator=generator) / 2**30
    scale = torch.where(draws < p, torch.zeros(()), torch.full((), 1 / (1 - p)))
    return scale.to(weights.dtype) * weights


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("visible", torch.ones(context_length, context_length).tril(), persistent=False)
        self.p = dropout

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)) * k.shape[2] ** -0.5, dim=2)
        weights = weights * self.visible[:T, :T]
        weights = weights / weights.sum(dim=2, keepdim=True)
        if self.training:
            keep = (torch.rand_like(weights) > self.p).to(weights.dtype)
            weights = weights * keep / (1 - self.p)
        return torch.bmm(weights, v)
