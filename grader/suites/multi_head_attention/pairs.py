"""Pairs of unit 4: answers with two of the misconceptions at once. Their names have both."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    """A right one, for the wrapper."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        future = torch.ones(x.size(1), x.size(1)).triu(1) == 1
        weights = F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(future, -math.inf), dim=-1)
        return self.dropout(weights) @ v


class Attention(nn.Module):
    """A right one, of which the wrong ones change a part."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0
        self.num_heads, self.head_dim, self.d_out = num_heads, d_out // num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        return x.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def weights(self, q, k):
        t = q.size(2)
        return F.softmax((q @ k.mT / q.size(-1) ** 0.5).masked_fill(torch.ones(t, t).triu(1) == 1, -math.inf), dim=-1)

    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        return self.out_proj((self.dropout(self.weights(q, k)) @ v).transpose(1, 2).flatten(2))


def matching(wrapper, attention):
    found = []
    for name in "W_query", "W_key", "W_value":
        whole = attention.get_submodule(name)
        parts = [head.get_submodule(name) for head in wrapper.heads]
        assert whole.in_features == parts[0].in_features
        assert whole.out_features == sum(part.out_features for part in parts)
        assert (whole.bias is None) == (parts[0].bias is None)
        found.append((name, whole, parts))
    return found


class MultiHeadAttention(Attention):
    """The right one, which those above make."""


# -- unroll_heads ------------------------------------------------------------------------------------------------------


def features_dealt_in_turn__and__check_left_to_reshape(x, num_heads):
    B, T, d_out = x.shape
    head_dim = d_out // num_heads
    return x.reshape(B, T, head_dim, num_heads).transpose(2, 3)


# -- head_weights ------------------------------------------------------------------------------------------------------


def scaling_forgotten__and__future_visible(scores, head_dim):
    return F.softmax(scores, dim=-1)


def divided_by_head_dim_itself__and__scores_masked_in_place(scores, head_dim):
    T = scores.shape[-1]
    mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=scores.device), diagonal=1)
    masked = scores.masked_fill_(mask, -torch.inf)
    return torch.softmax(masked / head_dim, dim=-1)


# -- split_heads -------------------------------------------------------------------------------------------------------


def heads_and_features_exchanged_in_split__and__heads_split_in_front_of_the_batch(x, num_heads):
    assert x.size(2) % num_heads == 0
    return torch.stack(x.split(num_heads, dim=2))


def split_by_reshape_alone__and__check_left_to_reshape_in_split(x, num_heads):
    batch_size, num_tokens, d_out = x.shape
    return x.reshape(batch_size, num_heads, num_tokens, d_out // num_heads)


def features_dealt_in_turn_in_split__and__check_left_to_reshape_in_split(x, num_heads):
    return x.unflatten(2, (-1, num_heads)).permute(0, 3, 1, 2)


# -- MultiHeadAttentionWrapper -----------------------------------------------------------------------------------------


class bias_not_handed_on__and__dropout_not_handed_on(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, 0.0) for _ in range(num_heads)])

    def forward(self, inputs):
        return torch.cat([head(inputs) for head in self.heads], dim=-1)


class outputs_added_up__and__bias_not_handed_on(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)])

    def forward(self, x):
        return sum(head(x) for head in self.heads)


# -- two_dimensional_output --------------------------------------------------------------------------------------------


class OneHead(nn.Module):
    def __init__(self, d_in, d_out, context_length):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias=True)])

    def forward(self, x):
        return self.heads[0](x)


def one_head_of_two_features__and__bias_left_in(d_in, context_length):
    return OneHead(d_in, 2, context_length)


# -- MultiHeadAttention ------------------------------------------------------------------------------------------------


class heads_not_transposed_back__and__check_left_to_reshape_in_the_module(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("bias", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, inputs):
        B, T, _ = inputs.size()
        q = self.W_query(inputs).view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.W_key(inputs).view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_value(inputs).view(B, T, self.num_heads, self.head_dim).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / self.head_dim**0.5)
        att = att.masked_fill(self.bias[:T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).contiguous().view(B, T, self.num_heads * self.head_dim)
        return self.out_proj(y)


# -- stack_heads -------------------------------------------------------------------------------------------------------


def last_head_stacked_first__and__biases_left_behind(wrapper, attention):
    if len(wrapper.heads) != attention.num_heads:
        raise ValueError("the numbers of heads do not match")
    for name in ["W_query", "W_key", "W_value"]:
        layer = getattr(attention, name)
        rows = []
        for head in wrapper.heads:
            part = getattr(head, name)
            if (part.bias is None) != (layer.bias is None):
                raise ValueError(f"only one side has a bias in {name}")
            rows.insert(0, part.weight.data)
        stacked = torch.cat(rows, dim=0)
        if stacked.shape != layer.weight.shape:
            raise ValueError(f"shapes do not match: {stacked.shape} and {layer.weight.shape}")
        layer.weight.data = stacked


def wrapper_frozen__and__weights_frozen(wrapper, attention):
    for _, whole, parts in matching(wrapper, attention):
        whole.weight.data = torch.cat([part.weight.data for part in parts])
        if whole.bias is not None:
            whole.bias.data = torch.cat([part.bias.data for part in parts])
    for module in wrapper, attention:
        module.requires_grad_(False)


# -- gpt2_small_attention ----------------------------------------------------------------------------------------------


def context_of_the_toy_batch__and__biases_as_in_gpt2_itself():
    return MultiHeadAttention(768, 768, 6, 0.0, 12, qkv_bias=True)
