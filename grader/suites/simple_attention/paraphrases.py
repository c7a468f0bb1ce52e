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


def total_begun_anew_in_the_loop(a, b):
    assert len(a) == len(b)
    for i in range(len(a)):
        total = 0
        total += a[i] * b[i]
    return total


def total_begun_anew_in_the_loop__never_begun(a, b):
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    for x, y in zip(a, b):
        result = x * y
    return result


def place_that_does_not_exist(a, b):
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    total = 0
    for i in range(len(a) + 1):
        total += a[i] * b[i]
    return total


def place_that_does_not_exist__while(a, b):
    assert len(a) == len(b)
    total, i = 0, 0
    while i <= len(a):
        total = total + a[i] * b[i]
        i += 1
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


def last_token_without_a_score(query, inputs):
    scores = torch.zeros(inputs.shape[0], dtype=inputs.dtype)
    for i in range(inputs.shape[0] - 1):
        scores[i] = torch.dot(query, inputs[i])
    return scores


def last_token_without_a_score__masked(query, inputs):
    scores = torch.einsum("td,d->t", inputs, query)
    return scores * (torch.arange(len(inputs)) < len(inputs) - 1)


def last_score_alone(query, inputs):
    for token in inputs:
        score = torch.dot(token, query)
    return score


def last_score_alone__index(query, inputs):
    scores = torch.einsum("td,d->t", inputs, query)
    return scores[-1]


def first_score_alone(query, inputs):
    for token in inputs:
        return torch.dot(token, query)


def first_score_alone__index(query, inputs):
    scores = torch.einsum("td,d->t", inputs, query)
    return scores[0]


def scores_in_a_row(query, inputs):
    return torch.mm(query.unsqueeze(0), inputs.t())


def scores_in_a_row__stacked(query, inputs):
    return torch.stack([torch.dot(token, query) for token in inputs])[None, :]


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


def naive_dimension_put_back_at_the_end(x, dim=-1):
    e = torch.exp(x)
    return e / torch.sum(e, dim).unsqueeze(-1)


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


def last_token_left_out(weights, inputs):
    context = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for i in range(len(weights) - 1):
        context = context + weights[i] * inputs[i]
    return context


def last_token_left_out__column(weights, inputs):
    weighted = weights.unsqueeze(1) * inputs
    return weighted[:-1].sum(dim=0)


def first_row_only(weights, inputs):
    for weight, token in zip(weights, inputs):
        context = weight * token
        return context


def first_row_only__column(weights, inputs):
    weighted = weights.unsqueeze(1) * inputs
    return weighted[0]


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


def divided_by_the_width(inputs):
    weights = torch.softmax(inputs @ inputs.T / inputs.shape[1], dim=-1)
    return weights @ inputs, weights


def divided_by_the_width__mean(inputs):
    scores = (inputs[:, None] * inputs[None]).mean(dim=-1)
    powers = scores.exp()
    weights = powers / powers.sum(dim=1, keepdim=True)
    return torch.einsum("qk,kd->qd", weights, inputs), weights


def weights_alone(inputs):
    return torch.softmax(inputs @ inputs.T, dim=-1)


def weights_alone__rows(inputs):
    return torch.stack([(inputs @ token).softmax(dim=0) for token in inputs])


def weights_returned_transposed(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights @ inputs, weights.T


def weights_returned_transposed__columns(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return torch.einsum("kq,kd->qd", weights, inputs), weights


def contexts_transposed(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return (weights @ inputs).T, weights


def contexts_transposed__columns(inputs):
    weights = torch.stack([(inputs @ token).softmax(dim=0) for token in inputs])
    return torch.stack([row @ inputs for row in weights], dim=1), weights


def inputs_added_to_the_contexts(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return inputs + weights @ inputs, weights


def inputs_added_to_the_contexts__rows(inputs):
    weights = torch.stack([(inputs @ token).softmax(dim=0) for token in inputs])
    return torch.stack([token + row @ inputs for token, row in zip(inputs, weights)]), weights


def features_and_tokens_mixed_up__weights_on_the_right(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return inputs @ weights, weights


def features_and_tokens_mixed_up__features(inputs):
    weights = torch.einsum("td,te->de", inputs, inputs).softmax(dim=1)
    return torch.mm(weights, inputs), weights
