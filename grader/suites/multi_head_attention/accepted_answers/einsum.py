"""einsum for sums; masks of -1e9 by torch.where and compared positions; F.dropout; a separate class for heads."""

import math

import torch
import torch.nn.functional as F
from torch import einsum, nn


def unroll_heads(x, num_heads):
    if divmod(x.size(-1), num_heads)[1]:
        raise AssertionError(x.size(-1), num_heads)
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-2)


def group_by_head(x):
    return einsum("bthd->bhtd", x)


def head_scores(queries, keys):
    return einsum("bhqd,bhkd->bhqk", queries, keys)


def is_past(t):
    places = torch.arange(t)
    return places[:, None] >= places[None, :]


def head_weights(scores, head_dim):
    scores = torch.where(is_past(scores.size(-1)), scores, scores.new_tensor(-1e9))
    return F.softmax(scores * (1 / math.sqrt(head_dim)), dim=3)


def split_heads(x, num_heads):
    if x.size(-1) % num_heads:
        raise ValueError("not divisible")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(list(x.unbind(dim=1)), dim=-1)


class OneHead(nn.Module):
    def __init__(self, d_in, d_head, p, bias):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_head, bias)
        self.W_key = nn.Linear(d_in, d_head, bias)
        self.W_query = nn.Linear(d_in, d_head, bias)
        self.p = p

    def forward(self, x):
        a = einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) / math.sqrt(self.W_key.out_features)
        a = F.softmax(torch.where(is_past(x.size(1)), a, float("-inf")), dim=2)
        a = F.dropout(a, self.p, training=self.training)
        return einsum("bqk,bkd->bqd", a, self.W_value(x))


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(OneHead(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads))
        self.context_length = context_length

    def forward(self, x):
        assert x.size(1) <= self.context_length
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(start_dim=2)


def two_dimensional_output(d_in, context_length):
    wanted, heads = 2, 2
    return MultiHeadAttentionWrapper(d_in, wanted // heads, context_length, 0, heads)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("not divisible")
        self.h, self.p, self.context_length = num_heads, dropout, context_length
        self.out_proj = nn.Linear(d_out, d_out)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, qkv_bias))

    def forward(self, x):
        assert x.size(1) <= self.context_length
        q, k, v = (layer(x).unflatten(2, (self.h, -1)) for layer in (self.W_query, self.W_key, self.W_value))
        a = einsum("bqhd,bkhd->bhqk", q * q.size(-1) ** -0.5, k)
        a = a.where(is_past(x.size(1)), torch.tensor(-1e9, dtype=x.dtype))
        a = F.dropout(a.softmax(dim=-1), p=self.p, training=self.training)
        out = self.out_proj.weight.unflatten(1, (self.h, -1))  # (d_out, d_out) -> (d_out, H, head_dim)
        return einsum("bhqk,bkhd,ohd->bqo", a, v, out) + self.out_proj.bias


def stack_heads(wrapper, attention):
    new = {}
    for kind in ("W_query", "W_key", "W_value"):
        for part in ("weight", "bias"):
            pieces = [head.state_dict().get(f"{kind}.{part}") for head in wrapper.heads]
            if all(piece is not None for piece in pieces):
                new[f"{kind}.{part}"] = torch.cat(pieces)
    keep = {name: value for name, value in attention.state_dict().items() if name.startswith("out_proj")}
    attention.load_state_dict({**new, **keep})  # strict: raises where shapes or names differ


def gpt2_small_attention():
    return MultiHeadAttention(768, 768, 1024, dropout=0.0, num_heads=12, qkv_bias=False)
