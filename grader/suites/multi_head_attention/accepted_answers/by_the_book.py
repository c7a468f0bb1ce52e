"""Views and contiguous(), masks as persistent buffers, nn.Dropout, asserts and type hints, as in most books."""

import torch
import torch.nn as nn
from torch import Tensor


class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x: Tensor) -> Tensor:
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        return attn_weights @ values


def unroll_heads(x: Tensor, num_heads: int) -> Tensor:
    b, num_tokens, d_out = x.shape
    assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
    return x.contiguous().view(b, num_tokens, num_heads, d_out // num_heads)


def group_by_head(x: Tensor) -> Tensor:
    return torch.transpose(x, 1, 2)


def head_scores(queries: Tensor, keys: Tensor) -> Tensor:
    return queries @ keys.transpose(2, 3)


def head_weights(scores: Tensor, head_dim: int) -> Tensor:
    num_tokens = scores.shape[-1]
    mask_bool = torch.triu(torch.ones(num_tokens, num_tokens), diagonal=1).bool()
    attn_scores = scores.clone()
    attn_scores.masked_fill_(mask_bool, -torch.inf)
    return torch.softmax(attn_scores / head_dim**0.5, dim=-1)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    b, num_tokens, d_out = x.shape
    assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
    x = x.contiguous().view(b, num_tokens, num_heads, d_out // num_heads)
    return x.transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    b, num_heads, num_tokens, head_dim = x.shape
    return x.transpose(1, 2).contiguous().view(b, num_tokens, num_heads * head_dim)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


def two_dimensional_output(d_in: int, context_length: int) -> nn.Module:
    d_out = 1
    mha = MultiHeadAttentionWrapper(d_in, d_out, context_length, 0.0, num_heads=2)
    return mha


class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.d_out = d_out
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x: Tensor) -> Tensor:
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores.masked_fill_(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = self.dropout(torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1))
        context_vec = (attn_weights @ values).transpose(1, 2)
        context_vec = context_vec.contiguous().view(b, num_tokens, self.d_out)
        return self.out_proj(context_vec)


def stack_heads(wrapper: nn.Module, attention: nn.Module) -> None:
    for name in ["W_query", "W_key", "W_value"]:
        target = getattr(attention, name)
        weight = torch.cat([getattr(head, name).weight.detach() for head in wrapper.heads], dim=0)
        if weight.shape != target.weight.shape:
            raise ValueError(f"{name}: {tuple(weight.shape)} does not fit {tuple(target.weight.shape)}")
        biases = [getattr(head, name).bias for head in wrapper.heads]
        if any((bias is None) != (target.bias is None) for bias in biases):
            raise ValueError(f"{name}: only one side has a bias")
        target.weight = nn.Parameter(weight)
        if target.bias is not None:
            target.bias = nn.Parameter(torch.cat([bias.detach() for bias in biases]))
    # The wrapper has no such layer, so here it is to change nothing.
    with torch.no_grad():
        attention.out_proj.weight.copy_(torch.eye(attention.d_out))
        attention.out_proj.bias.zero_()


def gpt2_small_attention() -> nn.Module:
    config = {"emb_dim": 768, "context_length": 1024, "n_heads": 12, "drop_rate": 0.1, "qkv_bias": False}
    return MultiHeadAttention(
        d_in=config["emb_dim"],
        d_out=config["emb_dim"],
        context_length=config["context_length"],
        num_heads=config["n_heads"],
        dropout=config["drop_rate"],
        qkv_bias=config["qkv_bias"],
    )
