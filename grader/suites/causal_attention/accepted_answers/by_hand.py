"""Loops over texts, rows and entries, with a hand-written softmax in float64."""

import torch
from torch import nn


def causal_mask(num_tokens):
    return torch.tensor([[column > row for column in range(num_tokens)] for row in range(num_tokens)])


def mask_then_renormalize(weights):
    rows = []
    for i, row in enumerate(weights):
        seen = row[: i + 1]
        rows.append(torch.cat([seen / seen.sum(), row.new_zeros(len(row) - i - 1)]))
    return torch.stack(rows)


def mask_then_softmax(scores, d_k):
    rows = []
    for i, row in enumerate(scores):
        seen = row[: i + 1].double() / d_k**0.5
        exponentials = torch.exp(seen - seen.max())
        rows.append(torch.cat([exponentials / exponentials.sum(), torch.zeros(len(row) - i - 1, dtype=torch.float64)]))
    return torch.stack(rows).to(scores.dtype)


def attention_dropout(weights, p, generator=None):
    if p < 0:
        raise ValueError("p is negative")
    if p >= 1:
        raise ValueError("p is 1 or more")
    factors = []
    for _ in range(weights.numel()):
        factors.append(0.0 if torch.rand(1, generator=generator).item() < p else 1 / (1 - p))
    return weights * torch.tensor(factors, dtype=weights.dtype).reshape(weights.shape)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super(CausalAttention, self).__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.context_length = context_length

    def forward(self, x):
        assert x.shape[1] <= self.context_length
        texts = []
        for text in x:
            outputs = []
            for i in range(len(text)):
                query = self.W_query(text[i])
                scores = [torch.dot(query, self.W_key(text[j])) for j in range(i + 1)]
                weights = torch.softmax(torch.stack(scores) / len(query) ** 0.5, dim=0)
                if self.training and self.p > 0:
                    weights = attention_dropout(weights, self.p)
                outputs.append(sum(weights[j] * self.W_value(text[j]) for j in range(i + 1)))
            texts.append(torch.stack(outputs))
        return torch.stack(texts)
