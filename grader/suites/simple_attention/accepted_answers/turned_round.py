"""Dimensions moved, tensors sorted, products transposed: right in an unusual way, with non-contiguous results."""

import operator

import torch


def dot_product(a, b):
    if len(a) != len(b):
        raise ValueError
    if len(a) < 2:
        return a[0] * b[0] if len(a) else 0
    half = len(a) // 2
    return dot_product(a[:half], b[:half]) + dot_product(a[half:], b[half:])


def attention_scores(query, inputs):
    return (query.unsqueeze(0) @ inputs.mT).squeeze(0)


def normalize_by_sum(scores):
    return (scores.T / scores.cumsum(0)[-1]).T if scores.dim() > 1 else scores / scores.cumsum(0)[-1]


def softmax_naive(x, dim=-1):
    y = x.movedim(dim, 0)
    e = y.exp()
    return (e / e.sum(0)).movedim(0, dim)


def softmax_stable(x, dim=-1):
    y = torch.movedim(x, dim, 0)
    top = torch.sort(y.detach(), dim=0, descending=True).values[0]
    return torch.movedim(softmax_naive(y - top, 0), 0, dim)


def context_vector(weights, inputs):
    return torch.stack(list(map(operator.mul, weights, inputs))).sum(0)


def simple_self_attention(inputs):
    weights = softmax_stable(inputs @ inputs.T, dim=0).T  # the scores are symmetric
    return (inputs.T @ weights.T).T, weights
