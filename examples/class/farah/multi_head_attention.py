import torch
from torch import nn

from causal_attention import CausalAttention


def unroll_heads(x, num_heads):
    b, t, d = x.shape
    return x.reshape(b, t, num_heads, d // num_heads)


def group_by_head(x):
    b, t, h, f = x.shape
    return x.reshape(b, h, t, f)


def head_scores(queries, keys):
    return queries @ keys.transpose(-2, -1)


def head_weights(scores, head_dim):
    T = scores.shape[-1]
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()
    return torch.softmax(scores.masked_fill(future, 0) / head_dim**0.5, dim=-1)


def split_heads(x, num_heads):
    return group_by_head(unroll_heads(x, num_heads))


def merge_heads(x):
    b, h, t, f = x.shape
    return x.reshape(b, t, h * f)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, inputs):
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


def two_dimensional_output(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, 2, context_length, 0.0, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        b, t, _ = inputs.shape
        heads = []
        for layer in (self.W_query, self.W_key, self.W_value):
            heads.append(layer(inputs).view(b, t, self.num_heads, -1).transpose(1, 2))
        q, k, v = heads
        scores = q @ k.transpose(2, 3)
        future = torch.triu(torch.ones(t, t), diagonal=1).bool()
        # d_out, as in unit 3
        scores = scores.masked_fill(future, -torch.inf) / self.W_key.out_features**0.5
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, -1))


def stack_heads(wrapper, attention):
    for name in ("W_query", "W_key", "W_value"):
        parts = [getattr(head, name).weight for head in wrapper.heads]
        getattr(attention, name).weight = nn.Parameter(torch.cat(parts).clone())


def gpt2_small_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12, qkv_bias=True)
