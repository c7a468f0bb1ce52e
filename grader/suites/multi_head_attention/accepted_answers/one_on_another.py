"""Each exercise calls the ones before it, and the two modules call all of them; results may be non-contiguous."""

import torch
from torch import nn


def causal_mask(num_tokens):
    return torch.ones(num_tokens, num_tokens).triu(1).bool()


def mask_then_softmax(scores, d_k):
    return torch.softmax(scores.masked_fill(causal_mask(scores.shape[-1]), -torch.inf) / d_k**0.5, dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        keys = self.W_key(inputs)
        weights = mask_then_softmax(self.W_query(inputs) @ keys.mT, keys.shape[-1])
        return self.dropout(weights) @ self.W_value(inputs)


def unroll_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0, "the heads would not be of one size"
    return x.unflatten(-1, (num_heads, -1))


def group_by_head(x):
    return x.permute(0, 2, 1, 3)


def head_scores(queries, keys):
    return torch.matmul(queries, keys.mT)


def head_weights(scores, head_dim):
    return mask_then_softmax(scores, head_dim)


def split_heads(x, num_heads):
    return group_by_head(unroll_heads(x, num_heads))


def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, inputs):
        return torch.cat([head(inputs) for head in self.heads], dim=2)


def two_dimensional_output(d_in, context_length):
    return MultiHeadAttentionWrapper(
        d_in=d_in, d_out=1, context_length=context_length, dropout=0.0, num_heads=2, qkv_bias=False
    )


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        split_heads(torch.empty(1, 1, d_out), num_heads)  # raises where they do not divide
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        queries, keys, values = (
            split_heads(layer(inputs), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        weights = self.dropout(head_weights(head_scores(queries, keys), self.head_dim))
        return self.out_proj(merge_heads(weights @ values))


def stack_heads(wrapper, attention):
    head_dim = attention.head_dim
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(attention, name)
        assert len(wrapper.heads) * head_dim == layer.out_features
        for number, head in enumerate(wrapper.heads):
            source = getattr(head, name)
            assert (source.bias is None) == (layer.bias is None)
            assert source.weight.shape == (head_dim, layer.in_features)
            rows = slice(number * head_dim, (number + 1) * head_dim)
            with torch.no_grad():
                layer.weight[rows] = source.weight
                if layer.bias is not None:
                    layer.bias[rows] = source.bias


def gpt2_small_attention():
    return MultiHeadAttention(768, 768, 1024, 0.1, 12)
