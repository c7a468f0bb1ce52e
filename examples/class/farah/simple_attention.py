import torch


def dot_product(a, b):
    total = 0
    for x, y in zip(a, b):
        total += x * y
    return total


def attention_scores(query, inputs):
    return inputs @ query


def normalize_by_sum(scores):
    return scores / scores.abs().sum()


def softmax_naive(x, dim=-1):
    e = torch.exp(x)
    return e / e.sum()


def softmax_stable(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim, keepdim=True)


def context_vector(weights, inputs):
    return (weights.unsqueeze(1) * inputs).mean(dim=0)


def simple_self_attention(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights
