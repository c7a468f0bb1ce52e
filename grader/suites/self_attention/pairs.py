"""Pairs of unit 2: answers with two of the misconceptions at once. Their names have both."""

import torch
import torch.nn.functional as F
from torch import nn


class _Matrices(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))


# -- scaled_dot_product_attention --------------------------------------------------------------------------------------


def scaling_forgotten__and__always_float32(queries, keys, values):
    scores = queries @ keys.mT
    weights = F.softmax(scores, dim=-1)
    contexts = weights.float() @ values.float()
    return contexts, weights


# -- SelfAttention_v1 --------------------------------------------------------------------------------------------------


class scaling_forgotten_in_v1__and__lonely_token_squeezed_in_v1(_Matrices):
    def forward(self, x):
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return (torch.softmax(q @ k.T, dim=-1) @ v).squeeze()


# -- SelfAttention_v2 --------------------------------------------------------------------------------------------------


class softmax_over_queries_in_v2__and__bias_in_W_query_only(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False) -> None:
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        queries = self.W_query(inputs)
        keys = self.W_key(inputs)
        values = self.W_value(inputs)
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / self.d_out**0.5, dim=0)
        return attn_weights @ values


# -- transfer_weights --------------------------------------------------------------------------------------------------


def handed_over_without_transposing__and__only_the_query_bias_checked(attention_v2, attention_v1):
    bias = attention_v2.W_query.bias
    if bias is not None and bool((bias != 0).any()):
        raise ValueError("v1 has no bias")
    attention_v1.W_query = nn.Parameter(attention_v2.W_query.weight.detach().clone())
    attention_v1.W_key = nn.Parameter(attention_v2.W_key.weight.detach().clone())
    attention_v1.W_value = nn.Parameter(attention_v2.W_value.weight.detach().clone())


# -- dot_product_variance ----------------------------------------------------------------------------------------------


def variance_divided_by_root__and__generator_ignored(d_k, samples, generator=None):
    products = []
    for _ in range(samples):
        q = torch.randn(d_k)
        k = torch.randn(d_k)
        products.append(q @ k)
    variance = torch.stack(products).var()
    return float(variance), float(variance / d_k**0.5)
