"""bmm and baddbmm on a single flattened batch dimension; the queries are scaled instead of the scores."""

import torch
import torch.nn as nn


def project_qkv(inputs, W_query, W_key, W_value):
    stacked = torch.stack((W_query, W_key, W_value))  # (3, d_in, d_out)
    queries, keys, values = torch.bmm(inputs.expand(3, -1, -1), stacked)
    return queries, keys, values


def scaled_dot_product_attention(queries, keys, values):
    q, k, v = (part.reshape(-1, part.shape[-2], part.shape[-1]) for part in (queries, keys, values))
    nothing = q.new_zeros(q.shape[0], q.shape[1], k.shape[1])
    scores = torch.baddbmm(nothing, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
    scores = scores - scores.amax(dim=2, keepdim=True)
    weights = scores.exp() / scores.exp().sum(dim=2, keepdim=True)
    contexts = torch.bmm(weights, v)
    lead = queries.shape[:-2]
    return contexts.reshape(lead + contexts.shape[1:]), weights.reshape(lead + weights.shape[1:])


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.scale = d_out**-0.5

    def forward(self, x):
        queries = (x * self.scale) @ self.W_query
        return ((queries @ (x @ self.W_key).t()).softmax(dim=1)) @ (x @ self.W_value)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(in_features=d_in, out_features=d_out, bias=bool(qkv_bias))
        self.W_key = nn.Linear(in_features=d_in, out_features=d_out, bias=bool(qkv_bias))
        self.W_value = nn.Linear(in_features=d_in, out_features=d_out, bias=bool(qkv_bias))
        self.history = []

    def forward(self, x):
        contexts, weights = scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))
        self.history.append(weights.detach())
        return contexts


def transfer_weights(attention_v2, attention_v1):
    names = [name for name, _ in attention_v1.named_parameters()]
    for name in names:
        bias = getattr(attention_v2, name).bias
        if bias is not None and not torch.equal(bias, torch.zeros_like(bias)):
            raise ValueError(name)
    for name in names:
        # Shared on purpose: one set of weights in memory.
        getattr(attention_v1, name).data = getattr(attention_v2, name).weight.data.transpose(0, 1)


def dot_product_variance(d_k, samples, generator=None):
    queries = torch.randn(samples, 1, d_k, generator=generator)
    keys = torch.randn(samples, d_k, 1, generator=generator)
    products = torch.bmm(queries, keys).flatten()
    return products.std() ** 2, (products.std() / d_k**0.5) ** 2
