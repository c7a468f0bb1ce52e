"""Paraphrases of unit 1: the same wrong ideas as the misconceptions, in other code and under the same names."""

import itertools
import math

import torch
import torch.nn.functional as F

# -- dot_product -------------------------------------------------------------------------------------------------


def truth_of_a_tensor_asked(a, b):
    if len(a) != len(b):
        raise ValueError("need same length")
    result = 0
    if a and b:
        for i in range(len(a)):
            result += a[i] * b[i]
    return result


def only_the_last_product(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        total = a[i] * b[i]
    return total


def first_place_left_out(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in zip(a[1:], b[1:]):
        total += x * y
    return total


def every_number_with_every_other(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in itertools.product(a, b):
        total += x * y
    return total


def mean_unless_there_are_none(a, b):
    assert len(a) == len(b)
    if len(a) == 0:
        return 0
    total = 0
    for x, y in zip(a, b):
        total += x * y / len(a)
    return total


def fractions_cut_off(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        product = float(a[i] * b[i])
        total += math.trunc(product)
    return total


def fractions_of_the_numbers_cut_off(a, b):
    assert len(a) == len(b)
    a, b = [int(x) for x in a], [int(y) for y in b]
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


# -- attention_scores --------------------------------------------------------------------------------------------


def scaled_already(query, inputs):
    d_k = inputs.size(1)
    return torch.einsum("d,td->t", query, inputs) * math.pow(d_k, -0.5)


def averaged_over_the_features(query, inputs):
    d = query.numel()
    return torch.mv(inputs, query).div(d)


def three_features_only(query, inputs):
    scores = []
    for x in inputs:
        scores.append(x[0] * query[0] + x[1] * query[1] + x[2] * query[2])
    return torch.stack(scores)


def six_tokens_only(query, inputs):
    scores = torch.zeros(6)
    for i in range(6):
        scores[i] = torch.dot(inputs[i], query)
    return scores


# -- normalize_by_sum --------------------------------------------------------------------------------------------


def negative_scores_dropped(scores):
    positive = torch.where(scores > 0, scores, torch.zeros_like(scores))
    return positive / positive.sum()


def smallest_subtracted_first(scores):
    smallest = torch.min(scores)
    return (scores - smallest) / (scores.sum() - smallest * scores.shape[0])


def six_scores_only(scores):
    total = scores.sum()
    weights = torch.zeros(6)
    for i in range(6):
        weights[i] = scores[i] / total
    return weights


# -- softmax_naive -----------------------------------------------------------------------------------------------


def sum_forgotten(x, dim=-1):
    return torch.pow(math.e, x)


def powers_of_two(x, dim=-1):
    p = torch.exp2(x)
    return p / torch.sum(p, dim, keepdim=True)


def sigmoid_of_each(x, dim=-1):
    return 1 / (1 + torch.exp(-x))


def naive_logarithms(x, dim=-1):
    return x - torch.exp(x).sum(dim, keepdim=True).log()


def naive_rows_and_columns_counted(x, dim=-1):
    e = torch.exp(x)
    if x.ndim == 1:
        return e / e.sum()
    n_rows, n_columns = x.shape
    if dim in (0, -2):
        return torch.stack([e[:, j] / e[:, j].sum() for j in range(n_columns)], dim=1)
    return torch.stack([e[i] / e[i].sum() for i in range(n_rows)])


# -- softmax_stable ----------------------------------------------------------------------------------------------


def minimum_subtracted(x, dim=-1):
    smallest = torch.min(x, dim, keepdim=True)[0]
    e = torch.exp(x - smallest)
    total = e.sum(dim, True)
    return e / total


def subtracted_after_the_exponential(x, dim=-1):
    e = torch.exp(x)
    e = e - torch.max(x, dim, keepdim=True)[0]
    total = torch.sum(e, dim).unsqueeze(dim)
    return e / total


def entries_clamped(x, dim=-1):
    x = torch.minimum(x, torch.tensor(50.0, dtype=x.dtype))
    x = torch.maximum(x, torch.tensor(-50.0, dtype=x.dtype))
    e = torch.exp(x)
    return e / e.sum(dim, keepdim=True)


def stable_dim_ignored(x, dim=-1):
    x = x - torch.max(x, -1, keepdim=True)[0]
    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)


def stable_rows_and_columns_counted(x, dim=-1):
    if x.ndim == 1:
        e = torch.exp(x - max(x))
        return e / e.sum()
    n_rows, n_columns = x.shape
    turned = dim in (0, -2)
    lists = [x[:, j] for j in range(n_columns)] if turned else [x[i] for i in range(n_rows)]
    shares = [torch.exp(one - one.max()) / torch.exp(one - one.max()).sum() for one in lists]
    return torch.stack(shares, dim=1 if turned else 0)


def float64_given_back(x, dim=-1):
    e = torch.exp(x.to(torch.float64) - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


# -- context_vector ----------------------------------------------------------------------------------------------


def weights_along_the_features(weights, inputs):
    context = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for row in inputs:
        context = context + weights * row
    return context


def best_token_alone(weights, inputs):
    _, best = torch.max(weights, 0)
    return inputs[best]


def last_row_only(weights, inputs):
    for w, row in zip(weights, inputs):
        context = w * row
    return context


def context_in_a_table(weights, inputs):
    weighted = weights.unsqueeze(1) * inputs
    return torch.sum(weighted, 0, keepdim=True)


def six_tokens_in_the_context(weights, inputs):
    context = 0
    for i in range(6):
        context = context + inputs[i] * weights[i]
    return context


# -- simple_self_attention ---------------------------------------------------------------------------------------


def scaled_by_the_width(inputs):
    d = inputs.size(1)
    scores = torch.einsum("id,jd->ij", inputs, inputs) / math.sqrt(d)
    e = torch.exp(scores)
    weights = e / e.sum(1, keepdim=True)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def reshaped_instead_of_transposed(inputs):
    n, d = inputs.shape
    weights = F.softmax(torch.mm(inputs, inputs.view(d, n)), dim=1)
    return torch.mm(weights, inputs), weights


def later_tokens_hidden(inputs):
    e = torch.exp(torch.mm(inputs, inputs.t()))
    e = torch.tril(e)
    weights = e / e.sum(1, keepdim=True)
    return torch.mm(weights, inputs), weights


def softmax_along_the_columns(inputs):
    e = torch.exp(torch.einsum("id,jd->ij", inputs, inputs))
    weights = e / e.sum(0)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def softmax_forgotten(inputs):
    weights = torch.stack([torch.stack([torch.dot(a, b) for b in inputs]) for a in inputs])
    contexts = []
    for row in weights:
        contexts.append(sum(w * x for w, x in zip(row, inputs)))
    return torch.stack(contexts), weights


def tokens_averaged(inputs):
    n = inputs.shape[0]
    weights = torch.full((n, n), 1 / n)
    contexts = inputs.mean(0).repeat(n, 1)
    return contexts, weights
