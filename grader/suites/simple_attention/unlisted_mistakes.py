"""Unlisted mistakes of unit 1: wrong answers that are none of the misconceptions. The grader must not name them."""

import math

import torch
import torch.nn.functional as F

# -- dot_product -------------------------------------------------------------------------------------------------


def dot_product__length_asked_in_a_misspelt_way(a, b):
    if a.lenght != b.lenght:
        raise ValueError("the lengths differ")
    return sum(x * y for x, y in zip(a, b))


def dot_product__rounded_to_four_decimals(a, b):
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    return round(float(sum(x * y for x, y in zip(a, b))), 4)


def attention_scores__rounded_to_four_decimals(query, inputs):
    scores = inputs @ query
    return scores + (scores.round(decimals=4) - scores).detach()


def dot_product__every_other_place(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(0, len(a), 2):
        total += a[i] * b[i]
    return total


def dot_product__second_read_backwards(a, b):
    assert len(a) == len(b)
    return sum(a[i] * b[-i - 1] for i in range(len(a)))


def dot_product__first_with_itself(a, b):
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    return sum(x * x for x, y in zip(a, b))


def dot_product__sum_begins_with_one(a, b):
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    total = 1
    for x, y in zip(a, b):
        total += x * y
    return total


def dot_product__products_multiplied(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in zip(a, b):
        total = (total or 1) * x * y
    return total


# -- attention_scores --------------------------------------------------------------------------------------------


def attention_scores__query_added(query, inputs):
    return (inputs + query).sum(dim=-1)


def attention_scores__squared(query, inputs):
    return (inputs @ query) ** 2


def attention_scores__places_in_the_ranking(query, inputs):
    return (inputs @ query).argsort()


def attention_scores__in_descending_order(query, inputs):
    return torch.sort(inputs @ query, descending=True).values


def attention_scores__scaled_and_softmax(query, inputs):
    return torch.softmax(inputs @ query / math.sqrt(len(query)), dim=0)


def attention_scores__dot_with_a_table(query, inputs):
    return torch.dot(query, inputs)


def attention_scores__sum_along_a_third_dimension(query, inputs):
    return (query * inputs).sum(dim=2)


# -- normalize_by_sum --------------------------------------------------------------------------------------------


def normalize_by_sum__between_smallest_and_largest(scores):
    return (scores - scores.min()) / (scores.max() - scores.min())


def normalize_by_sum__divided_by_the_mean(scores):
    return scores / scores.mean()


def normalize_by_sum__sum_divided_by_the_scores(scores):
    return scores.sum() / scores


def normalize_by_sum__divided_by_the_sum_so_far(scores):
    return scores / scores.cumsum(0)


def normalize_by_sum__multiplied_by_the_sum(scores):
    return scores * scores.sum()


def normalize_by_sum__signs_lost_in_the_shares(scores):
    return (scores / scores.sum()).abs()


def normalize_by_sum__sum_along_a_second_dimension(scores):
    return scores / scores.sum(dim=1, keepdim=True)


# -- softmax_naive -----------------------------------------------------------------------------------------------


def softmax_naive__powers_of_ten(x, dim=-1):
    return 10**x / (10**x).sum(dim, keepdim=True)


def softmax_naive__smallest_gets_most(x, dim=-1):
    return torch.exp(-x) / torch.exp(-x).sum(dim, keepdim=True)


def softmax_naive__one_added_to_the_sum(x, dim=-1):
    e = torch.exp(x)
    return e / (1 + e.sum(dim, keepdim=True))


def softmax_naive__sum_so_far(x, dim=-1):
    e = torch.exp(x)
    return e / e.cumsum(dim)


def softmax_naive__squares_for_exponentials(x, dim=-1):
    return x**2 / (x**2).sum(dim, keepdim=True)


def softmax_naive__sum_of_the_others(x, dim=-1):
    e = torch.exp(x)
    return e / (e.sum(dim, keepdim=True) - e)


def softmax_naive__dim_handed_to_the_exponential(x, dim=-1):
    e = torch.exp(x, dim)
    return e / e.sum(dim, keepdim=True)


# -- softmax_stable ----------------------------------------------------------------------------------------------


def softmax_stable__shifted_above_the_line_only(x, dim=-1):
    return torch.exp(x - x.amax(dim, keepdim=True)) / torch.exp(x).sum(dim, keepdim=True)


def softmax_stable__not_divided(x, dim=-1):
    return torch.exp(x - x.amax(dim, keepdim=True))


def softmax_stable__maximum_subtracted_twice(x, dim=-1):
    e = torch.exp(x - 2 * x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def softmax_stable__maximum_added(x, dim=-1):
    e = torch.exp(x + x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def softmax_stable__temperature_of_two(x, dim=-1):
    return torch.softmax(x / 2, dim)


def softmax_stable__divided_by_the_spread(x, dim=-1):
    low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    return torch.softmax((x - low) / (high - low + 1e-9), dim)


def softmax_stable__minus_ten_thousand_for_minus_infinity(x, dim=-1):
    return torch.softmax(torch.nan_to_num(x, neginf=-1e4), dim)


def softmax_stable__rounded(x, dim=-1):
    return torch.round(torch.softmax(x, dim), decimals=2)


def softmax_stable__dim_handed_to_the_exponential(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True), dim)
    return e / e.sum(dim, keepdim=True)


# -- context_vector ----------------------------------------------------------------------------------------------


def context_vector__everything_added_up(weights, inputs):
    return (weights[:, None] * inputs).sum()


def context_vector__weights_added(weights, inputs):
    return (weights[:, None] + inputs).sum(dim=0)


def context_vector__weights_squared(weights, inputs):
    return weights**2 @ inputs


def context_vector__weights_the_other_way_round(weights, inputs):
    return weights.flip(0) @ inputs


def context_vector__largest_instead_of_the_sum(weights, inputs):
    return (weights[:, None] * inputs).amax(dim=0)


def context_vector__dot_with_a_table(weights, inputs):
    return torch.dot(weights, inputs)


def context_vector__query_added(weights, inputs):
    return weights @ inputs + inputs[0]


def context_vector__softmax_along_a_second_dimension(weights, inputs):
    return torch.softmax(weights, dim=1) @ inputs


# -- simple_self_attention ---------------------------------------------------------------------------------------


def simple_self_attention__distances_as_scores(inputs):
    weights = torch.softmax(torch.cdist(inputs, inputs), dim=-1)
    return weights @ inputs, weights


def simple_self_attention__earlier_tokens_hidden(inputs):
    past = torch.ones(len(inputs), len(inputs)).tril(-1).bool()
    weights = torch.softmax((inputs @ inputs.T).masked_fill(past, -torch.inf), dim=-1)
    return weights @ inputs, weights


def simple_self_attention__scores_beside_the_two(inputs):
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights, scores


def simple_self_attention__scaled_and_along_the_columns(inputs):
    weights = torch.softmax(inputs @ inputs.T / math.sqrt(inputs.shape[1]), dim=0)
    return weights @ inputs, weights


def simple_self_attention__softmax_along_a_third_dimension(inputs):
    weights = torch.softmax(inputs @ inputs.T, dim=2)
    return weights @ inputs, weights
