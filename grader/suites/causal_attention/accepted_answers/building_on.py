"""Each exercise calls the ones before it; the mask is made in each call, and results may be non-contiguous."""

import torch
from torch import nn


def causal_mask(num_tokens):
    return ~torch.tril(torch.ones(num_tokens, num_tokens)).bool()


def mask_then_renormalize(weights):
    weights = weights.clone()
    weights[..., causal_mask(weights.shape[-1])] = 0
    return (weights.mT / weights.sum(dim=-1).unsqueeze(-2)).mT


def mask_then_softmax(scores, d_k):
    copy = scores.clone()
    copy.masked_fill_(causal_mask(scores.shape[-1]), -torch.inf)
    return torch.softmax(copy.mT / d_k**0.5, dim=-2).mT


def attention_dropout(weights, p, generator=None):
    if p not in (0, 0.0) and not (0 < p < 1):
        raise AssertionError(f"p = {p}")
    if p == 0:
        return weights
    kept = weights.clone()
    kept[torch.rand(weights.shape, generator=generator, dtype=torch.float64) < p] = 0
    return kept / (1 - p)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.context_length = context_length
        self.dropout = dropout

    def forward(self, inputs):
        queries, keys, values = self.W_query(inputs), self.W_key(inputs), self.W_value(inputs)
        weights = mask_then_softmax(queries @ keys.mT, values.shape[-1])
        if self.training:
            weights = attention_dropout(weights, self.dropout)
        return torch.matmul(values.mT, weights.mT).mT
