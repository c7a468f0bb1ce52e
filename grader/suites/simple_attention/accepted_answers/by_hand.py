"""Loops wherever possible, float64 inside and a cast back at the end; torch does only what loops cannot."""

import torch


def dot_product(a, b):
    assert len(a) == len(b), "different lengths"
    total = 0.0
    place = 0
    while place < len(a):
        total += a[place] * b[place]
        place += 1
    return total


def attention_scores(query, inputs):
    scores = torch.zeros(inputs.shape[0], dtype=torch.float64)
    for i in range(inputs.shape[0]):
        for j in range(inputs.shape[1]):
            scores[i] += query[j] * inputs[i, j]
    return scores.to(inputs.dtype)


def normalize_by_sum(scores):
    total = 0
    for score in scores:
        total = total + score
    return torch.stack([score / total for score in scores])


def softmax_of_list(numbers):
    highest = numbers[0]
    for number in numbers:
        if number > highest:
            highest = number
    exponentials = [(number - highest).exp() for number in numbers]
    return torch.stack([exponential / sum(exponentials) for exponential in exponentials])


def softmax_stable(x, dim=-1):
    if x.dim() == 1:
        return softmax_of_list(x.double()).to(x.dtype)
    pieces = []
    if dim % x.dim() == 0:
        for piece in x.unbind(-1):
            pieces.append(softmax_stable(piece, 0))
        return torch.stack(pieces, -1)
    for piece in x:
        pieces.append(softmax_stable(piece, dim % x.dim() - 1))
    return torch.stack(pieces)


def softmax_naive(x, dim=-1):
    # numerically stable, which is allowed here too
    return softmax_stable(x, dim)


def context_vector(weights, inputs):
    context = torch.zeros(inputs.shape[1])
    for weight, row in zip(weights, inputs):
        context = context + weight * row
    return context


def simple_self_attention(inputs):
    contexts, weights = [], []
    for query in inputs:
        scores = torch.stack([sum(q * x for q, x in zip(query, token)) for token in inputs])
        weights.append(softmax_of_list(scores))
        contexts.append(sum(weight * token for weight, token in zip(weights[-1], inputs)))
    return torch.stack(contexts), torch.stack(weights)
