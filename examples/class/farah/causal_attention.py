import torch
from torch import nn


def causal_mask(num_tokens):
    return torch.tril(torch.ones(num_tokens, num_tokens)).bool()


def mask_then_renormalize(weights):
    masked = weights.masked_fill(causal_mask(weights.shape[0]), 0.0)
    return masked / masked.sum(dim=-1, keepdim=True)


def mask_then_softmax(scores, d_k):
    scores = scores.masked_fill(causal_mask(scores.shape[0]), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


def attention_dropout(weights, p, generator=None):
    if p < 0 or p >= 1:
        raise ValueError("p")
    mask = torch.rand(weights.shape, generator=generator) > p
    return weights * mask


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        T = inputs.shape[1]
        scores = self.W_query(inputs) @ self.W_key(inputs).transpose(1, 2)
        future = torch.triu(torch.ones(T, T), diagonal=1).bool()
        scores = scores.masked_fill(future, -torch.inf)
        weights = torch.softmax(self.dropout(scores / self.W_key.out_features**0.5), dim=-1)
        return weights @ self.W_value(inputs)
