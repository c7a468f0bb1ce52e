"""Unit 4, written down once more in my own way. Bela"""
import math

import torch
import torch.nn as nn

import causal_attention


def unroll_heads(x, num_heads):
    head_dim, rest = divmod(x.size(-1), num_heads)
    assert rest == 0, f"{x.size(-1)} features, {num_heads} heads"
    return x.unflatten(-1, (num_heads, head_dim))


def group_by_head(x):
    return torch.einsum("bthf->bhtf", x)


def head_scores(queries, keys):
    return torch.einsum("bhqf,bhkf->bhqk", queries, keys)


def head_weights(scores, head_dim):
    seen = torch.ones_like(scores).tril().bool()
    return torch.where(seen, scores / math.sqrt(head_dim), -math.inf).softmax(-1)


def split_heads(x, num_heads):
    assert x.size(-1) % num_heads == 0
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)  # H times (B, T, head_dim) -> (B, H, T, head_dim)


def merge_heads(x):
    return torch.cat(tuple(x.unbind(1)), dim=-1)  # H times (B, T, head_dim) -> (B, T, H * head_dim)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(causal_attention.CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], -1)


def two_dimensional_output(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "the heads cannot share the features"
        self.H = num_heads
        self.p = dropout
        self.out_proj = nn.Linear(d_out, d_out)
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, qkv_bias))

    def forward(self, x):
        q, k, v = (split_heads(layer(x), self.H) for layer in (self.W_query, self.W_key, self.W_value))
        p = self.p if self.training else 0.0
        contexts = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        return self.out_proj(merge_heads(contexts))


def stack_heads(wrapper, attention):
    state = {}
    for name in ("W_query", "W_key", "W_value"):
        for kind in ("weight", "bias"):
            parts = [getattr(getattr(head, name), kind) for head in wrapper.heads]
            if any(part is not None for part in parts):
                state[f"{name}.{kind}"] = torch.cat(parts)
    problems = attention.load_state_dict(state, strict=False)
    lost = [key for key in problems.missing_keys if key.startswith("W_")] + problems.unexpected_keys
    assert not lost, lost


def gpt2_small_attention():
    return MultiHeadAttention(d_in=768, d_out=768, context_length=1024, dropout=0.1, num_heads=12)
