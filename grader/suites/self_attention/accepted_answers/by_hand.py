"""Loops and a hand-written softmax, in float64 inside; torch does only what loops cannot."""

import torch
from torch import nn


def matmul(a, b):
    rows = []
    for row in a:
        total = 0
        for number, other in zip(row, b, strict=True):
            total = total + number * other
        rows.append(total)
    return torch.stack(rows)


def project_qkv(inputs, W_query, W_key, W_value):
    return matmul(inputs, W_query), matmul(inputs, W_key), matmul(inputs, W_value)


def softmax(row):
    exponentials = torch.exp(row)
    return exponentials / exponentials.sum()


def scaled_dot_product_attention(queries, keys, values):
    if queries.dim() > 2:
        results = [scaled_dot_product_attention(*one) for one in zip(queries, keys, values, strict=True)]
        return torch.stack([contexts for contexts, _ in results]), torch.stack([weights for _, weights in results])
    weights, contexts = [], []
    for query in queries.double():
        scores = torch.stack([torch.dot(query, key) for key in keys.double()])
        weights.append(softmax(scores / len(query) ** (1 / 2)))
        contexts.append(sum(weight * value for weight, value in zip(weights[-1], values.double(), strict=True)))
    return torch.stack(contexts).to(queries.dtype), torch.stack(weights).to(queries.dtype)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super(SelfAttention_v1, self).__init__()
        self.W_query = torch.nn.Parameter(torch.zeros((d_in, d_out)))
        self.W_key = torch.nn.Parameter(torch.zeros((d_in, d_out)))
        self.W_value = torch.nn.Parameter(torch.zeros((d_in, d_out)))
        for matrix in self.parameters():
            nn.init.xavier_uniform_(matrix)

    def forward(self, x):
        outputs = []
        keys, values = matmul(x, self.W_key), matmul(x, self.W_value)
        for token in x:
            query = matmul(token[None, :], self.W_query)
            outputs.append(scaled_dot_product_attention(query, keys, values)[0][0])
        return torch.stack(outputs)


class Projection(nn.Linear):
    """A linear layer, with a name for what it does."""


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_key = Projection(d_in, d_out, bias=qkv_bias)
        self.W_query = Projection(d_in, d_out, bias=qkv_bias)
        self.W_value = Projection(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        projections = [layer(x) for layer in (self.W_query, self.W_key, self.W_value)]
        return scaled_dot_product_attention(*projections)[0]


def transfer_weights(attention_v2, attention_v1):
    layers = dict(attention_v2.named_children())
    for layer in layers.values():
        if layer.bias is None:
            continue
        for number in layer.bias.tolist():
            if number != 0:
                raise ValueError("no place for a bias")
    for name, layer in layers.items():
        matrix = getattr(attention_v1, name)
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                matrix.data[i, j] = layer.weight.data[j, i]


def dot_product_variance(d_k, samples, generator=None):
    products = []
    for _ in range(samples):
        query = torch.randn(d_k, generator=generator)
        key = torch.randn(d_k, generator=generator)
        products.append(float(query @ key))
    mean = sum(products) / samples
    variance = sum((product - mean) ** 2 for product in products) / samples
    scaled = [product / d_k**0.5 for product in products]
    mean = sum(scaled) / samples
    return variance, sum((product - mean) ** 2 for product in scaled) / samples
