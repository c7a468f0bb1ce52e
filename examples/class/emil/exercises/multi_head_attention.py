import torch
import torch.nn as nn
from causal_attention import CausalAttention


def unroll_heads(x, num_heads):
    B, T, D = x.shape
    if D % num_heads:
        raise ValueError(D)
    return x.contiguous().view(B, T, num_heads, D // num_heads)


def group_by_head(x):
    return x.permute(0, 2, 1, 3)


def head_scores(queries, keys):
    return queries @ keys.mT


def head_weights(scores, head_dim):
    T = scores.shape[-1]
    scores = scores / head_dim**0.5
    return torch.softmax(scores + torch.full((T, T), float("-inf")).triu(1), dim=-1)


def split_heads(x, num_heads):
    return group_by_head(unroll_heads(x, num_heads))


def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for i in range(num_heads))

    def forward(self, inputs):
        return torch.cat([h(inputs) for h in self.heads], dim=2)


def two_dimensional_output(d_in, context_length):
    return MultiHeadAttentionWrapper(d_in, 1, context_length, 0.0, 2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out / num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs):
        q = split_heads(self.W_query(inputs), self.num_heads)
        k = split_heads(self.W_key(inputs), self.num_heads)
        v = split_heads(self.W_value(inputs), self.num_heads)
        w = self.dropout(head_weights(head_scores(q, k), q.shape[-1]))
        return self.out_proj(merge_heads(w @ v))


def stack_heads(wrapper, attention):
    for name in ["W_query", "W_key", "W_value"]:
        parts = [getattr(h, name) for h in wrapper.heads]
        whole = getattr(attention, name)
        weight = torch.cat([p.weight.detach() for p in parts])
        if weight.shape != whole.weight.shape:
            raise ValueError(name)
        if (parts[0].bias is None) != (whole.bias is None):
            raise ValueError(name)
        whole.weight = nn.Parameter(weight)
        if whole.bias is not None:
            whole.bias = nn.Parameter(torch.cat([p.bias.detach() for p in parts]))


def gpt2_small_attention():
    return MultiHeadAttention(768, 768, 1024, 0.0, 12)
