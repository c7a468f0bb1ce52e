"""Pairs of unit 3: answers with two of the misconceptions at once. Their names have both."""

import torch
import torch.nn.functional as F
from torch import nn

# -- causal_mask -------------------------------------------------------------------------------------------------------


def past_marked__and__float_mask(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens)
    for i in range(num_tokens):
        for j in range(num_tokens):
            if j < i:
                mask[i, j] = 1
    return mask


# -- attention_dropout -------------------------------------------------------------------------------------------------


def survivors_not_scaled__and__any_p_accepted(weights, p, generator=None):
    mask = torch.rand(weights.shape, generator=generator) >= p
    return weights * mask.to(weights.dtype)


def whole_rows__and__generator_ignored(weights, p, generator=None):
    assert 0 <= p < 1, "p must be in [0, 1)"
    keep = (torch.rand(weights.shape[:-1]) >= p).unsqueeze(-1)
    return torch.where(keep, weights / (1 - p), torch.zeros_like(weights))


def share_of_p_kept__and__rows_renormalized(weights, p, generator=None):
    assert 0 <= p < 1
    left = weights * (torch.rand(weights.shape, generator=generator) < p)
    return F.normalize(left, p=1, dim=-1)


# -- CausalAttention ---------------------------------------------------------------------------------------------------


class scaled_by_d_in__and__dropout_in_eval_mode_too(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = dropout
        self.register_buffer("tril", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, inputs):
        B, T, C = inputs.shape
        k = self.W_key(inputs)
        q = self.W_query(inputs)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = F.softmax(wei, dim=-1)
        wei = F.dropout(wei, p=self.dropout)
        return wei @ self.W_value(inputs)


class masked_scores_thrown_away_in_module__and__dropout_before_the_mask(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, inputs):
        b, num_tokens, d_in = inputs.shape
        keys = self.W_key(inputs)
        queries = self.W_query(inputs)
        values = self.W_value(inputs)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_scores = self.dropout(attn_scores / self.d_out**0.5)
        attn_weights = torch.softmax(attn_scores, dim=-1)
        return attn_weights @ values


class next_token_seen_in_module__and__bias_never(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=2)
        self.register_buffer("mask", mask)

    def forward(self, inputs):
        queries = self.W_query(inputs)
        keys = self.W_key(inputs)
        values = self.W_value(inputs)
        T = inputs.shape[1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / keys.shape[2] ** 0.5
        scores = scores.masked_fill(self.mask[:T, :T], -torch.inf)
        weights = self.dropout(scores.softmax(dim=2))
        return torch.bmm(weights, values)
