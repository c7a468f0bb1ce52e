"""Unit 1: each misconception as another learner would type it, who holds the same wrong idea.

The names are the misconceptions', so that each can be looked up by its name.
"""

import functools
import itertools
import math
import operator

import torch
import torch.nn as nn
import torch.nn.functional as F

# -- dot_product -------------------------------------------------------------------------------------------------


def longer_end_dropped(a, b):
    shorter = min(len(a), len(b))
    result = 0.0
    for i in range(shorter):
        result += float(a[i]) * float(b[i])
    return result


def lengths_never_compared(a, b):
    total = 0
    for i, number in enumerate(a):
        total += number * b[i]
    return total


def only_a_longer_first_refused(a, b):
    n = len(a)
    assert n <= len(b), "a must not be longer than b"
    i = 0
    out = 0
    while i < n:
        out = out + a[i] * b[i]
        i += 1
    return out


def different_lengths_give_none(a, b):
    if len(a) == len(b):
        total = 0
        for i in range(len(a)):
            total += a[i] * b[i]
        return total
    print("vectors must have the same length")


def lengths_refused_with_another_error(a, b):
    n, m = len(a), len(b)
    if n != m:
        raise TypeError(f"vectors must have the same length, got {n} and {m}")
    total = 0
    for i in range(n):
        total += a[i] * b[i]
    return total


def lengths_refused_with_any_exception(a, b):
    try:
        return sum(x * y for x, y in zip(a, b, strict=True))
    except ValueError:
        raise Exception("vectors must have the same length") from None


def lengths_refused_with_an_index_error(a, b):
    total, missing = 0, object()
    for x, y in itertools.zip_longest(a, b, fillvalue=missing):
        if x is missing or y is missing:
            raise IndexError("one of the vectors is too short")
        total += x * y
    return total


def single_number_stretched(a, b):
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    try:
        multiplied = torch.mul(a, b)
    except RuntimeError:
        raise ValueError("a and b do not fit") from None
    total = 0
    for number in multiplied.tolist():
        total += number
    return total


def empty_sequences_refused(a, b):
    assert len(a) == len(b) > 0
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def sum_begins_with_the_first_product(a, b):
    if len(a) != len(b):
        raise ValueError
    multiplied = [x * y for x, y in zip(a, b)]
    total = multiplied[0]
    for product in multiplied[1:]:
        total += product
    return total


def products_reduced_without_a_beginning(a, b):
    if len(a) != len(b):
        raise ValueError
    return functools.reduce(lambda total, product: total + product, map(operator.mul, a, b))


def none_for_empty_sequences(a, b):
    assert len(a) == len(b)
    total = None
    for x, y in zip(a, b):
        total = x * y if total is None else total + x * y
    return total


def truth_of_a_tensor_asked(a, b):
    if len(a) != len(b):
        raise ValueError("need same length")
    result = 0
    if a and b:
        for i in range(len(a)):
            result += a[i] * b[i]
    return result


def tensors_only(a, b):
    n, m = a.size(0), b.size(0)
    if n != m:
        raise ValueError("need same length")
    total = 0
    for i in range(n):
        total += a[i].item() * b[i].item()
    return total


def lists_given_to_torch(a, b):
    if len(a) != len(b):
        raise ValueError("need same length")
    return torch.sum(torch.mul(a, b))


def tensors_refused(a, b):
    for sequence in (a, b):
        if type(sequence) not in (list, tuple):
            raise TypeError("a and b should be lists")
    assert len(a) == len(b), "a and b should have the same length"
    total = 0
    for pair in zip(a, b):
        total += math.prod(pair)
    return total


def lists_asserted(a, b):
    if torch.is_tensor(a) or torch.is_tensor(b):
        raise ValueError("plain Python only")
    assert len(a) == len(b), "a and b should have the same length"
    total = 0
    for pair in zip(a, b):
        total += math.prod(pair)
    return total


def nothing_but_lists_let_in(a, b):
    assert type(a) is list
    assert type(b) is list
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def products_not_added_up(a, b):
    if len(a) != len(b):
        raise ValueError
    result = [0] * len(a)
    for i in range(len(a)):
        result[i] = a[i] * b[i]
    return result


def returned_inside_the_loop(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
        return total


def only_the_last_product(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        total = a[i] * b[i]
    return total


def last_place_left_out(a, b):
    if not len(a) == len(b):
        raise ValueError("different lengths")
    i, total = 0, 0
    while i < len(a) - 1:
        total += a[i] * b[i]
        i += 1
    return total


def first_place_left_out(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in zip(a[1:], b[1:]):
        total += x * y
    return total


def added_instead_of_multiplied(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    total = 0
    for i in range(len(a)):
        total += a[i]
        total += b[i]
    return total


def every_number_with_every_other(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in itertools.product(a, b):
        total += x * y
    return total


def mean_of_the_products(a, b):
    assert len(a) == len(b)
    total = 0
    for x, y in zip(a, b):
        total += x * y
    return total / len(a)


def mean_unless_there_are_none(a, b):
    assert len(a) == len(b)
    if len(a) == 0:
        return 0
    total = 0
    for x, y in zip(a, b):
        total += x * y / len(a)
    return total


def cosine_of_the_angle(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    dot = 0
    for i in range(len(a)):
        dot += a[i] * b[i]
    return dot / (math.hypot(*a) * math.hypot(*b))


def cosine_unless_there_is_none(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    dot = squares_of_a = squares_of_b = 0
    for x, y in zip(a, b):
        dot += x * y
        squares_of_a += x**2
        squares_of_b += y**2
    norm = math.sqrt(squares_of_a * squares_of_b)
    return dot / norm if norm > 0 else 0.0


def signs_lost(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    total = 0
    for i in range(len(a)):
        total += abs(a[i]) * abs(b[i])
    return total


def fractions_cut_off(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        product = float(a[i] * b[i])
        total += math.trunc(product)
    return total


def fraction_of_the_sum_cut_off(a, b):
    assert len(a) == len(b)
    total = 0.0
    for x, y in zip(a, b):
        total += float(x) * float(y)
    return math.trunc(total)


def fractions_of_the_numbers_cut_off(a, b):
    assert len(a) == len(b)
    a, b = [int(x) for x in a], [int(y) for y in b]
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def printed_instead_of_returned(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    total = 0
    for i in range(len(a)):
        total += a[i] * b[i]
    print("dot product:", total)


def numbers_taken_out(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    total = 0
    for _ in range(len(a)):
        x, y = a.pop(0), b.pop(0)
        total += x * y
    return total


def numbers_overwritten(a, b):
    assert len(a) == len(b)
    total = 0
    for i in range(len(a)):
        a[i] *= b[i]
        total += a[i]
    return total


def numbers_overwritten_but_in_tuples(a, b):
    if len(a) != len(b):
        raise ValueError("different lengths")
    if not torch.is_tensor(a) and type(a) is not list:
        a = [x for x in a]
    total = 0
    for i, y in enumerate(b):
        a[i] *= y
    for product in a:
        total = total + product
    return total


# -- attention_scores --------------------------------------------------------------------------------------------


def products_of_each_feature(query, inputs):
    rows = []
    for row in inputs:
        rows.append(torch.mul(row, query))
    return torch.stack(rows)


def summed_over_the_tokens(query, inputs):
    return torch.einsum("d,td->d", query, inputs)


def one_score_for_all(query, inputs):
    score = 0
    for x_i in inputs:
        score += torch.dot(x_i, query)
    return score


def multiplied_with_the_columns(query, inputs):
    return torch.stack([torch.dot(query, column) for column in inputs.T])


def every_token_as_the_query(query, inputs):
    return torch.stack([torch.mv(inputs, row) for row in inputs])


def second_input_as_the_query(query, inputs):
    query = inputs[1]
    scores = torch.empty(inputs.shape[0], dtype=inputs.dtype)
    for i, x_i in enumerate(inputs):
        scores[i] = torch.dot(x_i, query)
    return scores


def scaled_already(query, inputs):
    d_k = inputs.size(1)
    return torch.einsum("d,td->t", query, inputs) * math.pow(d_k, -0.5)


def averaged_over_the_features(query, inputs):
    d = query.numel()
    return torch.mv(inputs, query).div(d)


def weights_instead_of_scores(query, inputs):
    scores = torch.stack([torch.dot(query, x) for x in inputs])
    return scores.exp() / scores.exp().sum()


def normalised_already(query, inputs):
    scores = [torch.dot(query, x) for x in inputs]
    total = sum(scores)
    return torch.stack([score / total for score in scores])


def cosines_as_scores(query, inputs):
    q = F.normalize(query, dim=0)
    x = F.normalize(inputs, dim=1)
    return torch.einsum("d,td->t", q, x)


def distances_as_scores(query, inputs):
    differences = query.unsqueeze(0) - inputs
    return torch.sqrt((differences**2).sum(1))


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


def scores_in_a_column(query, inputs):
    return torch.mul(inputs, query).sum(dim=1, keepdim=True)


def list_of_scores(query, inputs):
    scores = []
    for x in inputs:
        total = 0
        for a, b in zip(query, x):
            total = total + a * b
        scores.append(total)
    return scores


def list_of_plain_numbers(query, inputs):
    return torch.mv(inputs, query).tolist()


def squeezed_too_much(query, inputs):
    scores = torch.mm(query.unsqueeze(0), inputs.t())
    return torch.squeeze(scores)


def scores_in_float32_only(query, inputs):
    rows = inputs.to(torch.float32)
    return torch.stack([torch.dot(row, query) for row in rows])


def scores_cut_off(query, inputs):
    scores = []
    for x in inputs:
        scores.append(torch.dot(query, x).item())
    return torch.tensor(scores)


def query_cut_off(query, inputs):
    scores = 0
    for j in range(inputs.shape[1]):
        scores = scores + inputs[:, j] * query[j].item()
    return scores


def inputs_multiplied_in_place(query, inputs):
    for row in inputs:
        row.mul_(query)
    return torch.sum(inputs, 1)


# -- normalize_by_sum --------------------------------------------------------------------------------------------


def softmax_instead_of_division(scores):
    e = torch.exp(scores)
    return e / e.sum()


def divided_by_the_largest(scores):
    ordered, _ = torch.sort(scores)
    return torch.div(scores, ordered[-1])


def divided_by_their_number(scores):
    return torch.stack([score / scores.numel() for score in scores])


def divided_by_the_euclidean_length(scores):
    return F.normalize(scores, dim=0)


def divided_by_the_sum_of_sizes(scores):
    total = 0
    for s in scores:
        total = total + (s if s > 0 else -s)
    return scores / total


def negative_scores_dropped(scores):
    positive = torch.where(scores > 0, scores, torch.zeros_like(scores))
    return positive / positive.sum()


def smallest_subtracted_first(scores):
    smallest = torch.min(scores)
    return (scores - smallest) / (scores.sum() - smallest * scores.shape[0])


def standardised(scores):
    n = scores.shape[0]
    centred = scores - scores.sum() / n
    return centred / torch.sqrt((centred * centred).sum() / (n - 1))


def standardised_by_the_biased_deviation(scores):
    centred = scores - torch.mean(scores)
    return centred / torch.mean(centred**2).sqrt()


def not_divided(scores):
    total = scores.sum()
    scores / total
    return scores


def sum_alone(scores):
    total = 0
    for score in scores:
        total = total + score
    return total


def six_scores_only(scores):
    total = scores.sum()
    weights = torch.zeros(6)
    for i in range(6):
        weights[i] = scores[i] / total
    return weights


def shape_squeezed_away(scores):
    row = scores.unsqueeze(0)
    return torch.squeeze(row / torch.sum(row, dim=1, keepdim=True))


def sum_in_float32_only(scores):
    total = torch.ones(1, scores.shape[0]) @ scores.unsqueeze(1)
    return scores / total[0, 0]


def sum_as_a_constant(scores):
    return torch.div(scores, math.fsum(scores.tolist()))


def shares_cut_off(scores):
    numbers = scores.tolist()
    return torch.tensor([number / sum(numbers) for number in numbers])


def divided_in_place(scores):
    total = torch.sum(scores)
    for i in range(len(scores)):
        scores[i] = scores[i] / total
    return scores


# -- softmax_naive -----------------------------------------------------------------------------------------------


def exponential_forgotten(x, dim=-1):
    total = torch.sum(x, dim).unsqueeze(dim)
    return torch.div(x, total)


def sum_forgotten(x, dim=-1):
    return torch.pow(math.e, x)


def powers_of_two(x, dim=-1):
    p = torch.exp2(x)
    return p / torch.sum(p, dim, keepdim=True)


def divided_by_the_sum_of_the_entries(x, dim=-1):
    total = x.sum(dim).unsqueeze(dim)
    return x.exp().div(total)


def exponential_of_the_sum(x, dim=-1):
    numerator = x.exp()
    denominator = torch.sum(x, dim, True).exp()
    return numerator * (1 / denominator)


def divided_by_the_largest_exponential(x, dim=-1):
    e = math.e**x
    largest, _ = torch.max(e, dim, keepdim=True)
    return e / largest


def divided_by_the_mean(x, dim=-1):
    e = torch.exp(x)
    n = x.shape[dim]
    return e / (e.sum(dim, keepdim=True) / n)


def taken_twice(x, dim=-1):
    for _ in range(2):
        e = torch.exp(x)
        x = e / e.sum(dim, keepdim=True)
    return x


def sigmoid_of_each(x, dim=-1):
    return 1 / (1 + torch.exp(-x))


def hard_maximum(x, dim=-1):
    best = x.argmax(dim, keepdim=True)
    return torch.zeros_like(x).scatter(dim, best, 1.0)


def naive_logarithms(x, dim=-1):
    return x - torch.exp(x).sum(dim, keepdim=True).log()


def naive_sum_of_everything(x, dim=-1):
    flat = F.softmax(x.reshape(-1), dim=0)
    return flat.reshape(x.shape)


def naive_dim_ignored(x, dim=-1):
    e = torch.exp(x)
    return e / e.sum(-1, keepdim=True)


def always_along_the_first_dimension(x, dim=-1):
    e = torch.exp(x)
    total = 0
    for one in e:
        total = total + one
    return e / total


def naive_keepdim_forgotten(x, dim=-1):
    numerator = math.e**x
    denominator = torch.sum(numerator, dim)
    return torch.div(numerator, denominator)


def naive_first_dimension_by_default(x, dim=0):
    e = torch.exp(x)
    return e / e.sum(dim, keepdim=True)


def naive_rows_and_columns_only(x, dim=-1):
    e = torch.exp(x)
    if x.ndim == 1:
        return e / e.sum()
    if dim in (1, -1):
        return e / torch.sum(e, 1, keepdim=True)
    return e / torch.sum(e, 0, keepdim=True)


def naive_rows_and_columns_counted(x, dim=-1):
    e = torch.exp(x)
    if x.ndim == 1:
        return e / e.sum()
    n_rows, n_columns = x.shape
    if dim in (0, -2):
        return torch.stack([e[:, j] / e[:, j].sum() for j in range(n_columns)], dim=1)
    return torch.stack([e[i] / e[i].sum() for i in range(n_rows)])


def naive_sums_in_a_column(x, dim=-1):
    e = torch.exp(x)
    if x.ndim == 1:
        return e / torch.sum(e)
    if dim == 0 or dim == -2:
        return torch.div(e, torch.sum(e, 0))
    return torch.div(e, torch.sum(e, 1).view(x.shape[0], 1))


def naive_in_float32_only(x, dim=-1):
    e = torch.exp(x).transpose(dim, -1)
    n = e.shape[-1]
    totals = torch.matmul(e, torch.ones(n, n))
    return (e / totals).transpose(dim, -1)


def naive_sum_as_a_constant(x, dim=-1):
    with torch.no_grad():
        total = torch.exp(x).sum(dim, keepdim=True)
    return torch.exp(x) / total


def naive_gradients_cut_off(x, dim=-1):
    with torch.no_grad():
        e = torch.exp(x)
        return e / e.sum(dim, keepdim=True)


def exponentials_in_place(x, dim=-1):
    torch.exp_(x)
    x.div_(x.sum(dim, keepdim=True))
    return x


# -- softmax_stable ----------------------------------------------------------------------------------------------


def maximum_not_subtracted(x, dim=-1):
    e = math.e**x
    return torch.div(e, e.sum(dim).unsqueeze(dim))


def one_maximum_for_all(x, dim=-1):
    largest = max(x.flatten())
    e = (x - largest).exp()
    return e / e.sum(dim).unsqueeze(dim)


def largest_size_subtracted(x, dim=-1):
    biggest, _ = torch.max(torch.abs(x), dim, keepdim=True)
    e = torch.exp(x - biggest)
    return e / torch.sum(e, dim, keepdim=True)


def mean_subtracted(x, dim=-1):
    centre = torch.sum(x, dim).unsqueeze(dim) / x.shape[dim]
    numerator = torch.exp(torch.sub(x, centre))
    return numerator / numerator.sum(dim).unsqueeze(dim)


def minimum_subtracted(x, dim=-1):
    smallest = torch.min(x, dim, keepdim=True)[0]
    e = torch.exp(x - smallest)
    total = e.sum(dim, True)
    return e / total


def divided_by_the_maximum(x, dim=-1):
    biggest = torch.max(x, dim, keepdim=True).values
    x = x / biggest
    return torch.exp(x) / torch.sum(torch.exp(x), dim, keepdim=True)


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


def not_a_number_replaced(x, dim=-1):
    e = torch.exp(x)
    weights = e / e.sum(dim, keepdim=True)
    return torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)


def float64_instead_of_a_maximum(x, dim=-1):
    e = torch.exp(x.to(torch.float64))
    return e / torch.sum(e, dim).unsqueeze(dim)


def maximum_along_the_last_dimension(x, dim=-1):
    largest, _ = x.max(-1, keepdim=True)
    e = math.e ** (x - largest)
    return e / torch.sum(e, dim).unsqueeze(dim)


def maximum_along_the_first_dimension(x, dim=-1):
    largest = torch.max(x, 0).values
    e = math.e ** (x - largest)
    return e / torch.sum(e, dim).unsqueeze(dim)


def places_beside_the_maximum(x, dim=-1):
    largest = torch.max(x, dim, keepdim=True)
    e = math.e ** (x - largest)
    return e / e.sum(dim).unsqueeze(dim)


def stable_keepdim_forgotten(x, dim=-1):
    biggest, _ = torch.max(x, dim)
    e = torch.exp(x - biggest)
    return e / e.sum(dim)


def stable_sum_of_everything(x, dim=-1):
    shape = x.shape
    return nn.Softmax(dim=0)(x.reshape(-1)).reshape(shape)


def stable_dim_ignored(x, dim=-1):
    x = x - torch.max(x, -1, keepdim=True)[0]
    return torch.exp(x) / torch.exp(x).sum(-1, keepdim=True)


def stable_first_dimension_by_default(x, dim=0):
    x = x - torch.max(x, dim, keepdim=True)[0]
    return torch.exp(x) / torch.exp(x).sum(dim, keepdim=True)


def stable_rows_and_columns_only(x, dim=-1):
    if x.ndim == 1:
        axis = 0
    else:
        axis = {0: 0, 1: 1, -1: 1, -2: 0}[dim]
    e = torch.exp(x - x.max(axis, keepdim=True).values)
    return e / e.sum(axis, keepdim=True)


def stable_rows_and_columns_counted(x, dim=-1):
    if x.ndim == 1:
        e = torch.exp(x - max(x))
        return e / e.sum()
    n_rows, n_columns = x.shape
    turned = dim in (0, -2)
    lists = [x[:, j] for j in range(n_columns)] if turned else [x[i] for i in range(n_rows)]
    shares = [torch.exp(one - one.max()) / torch.exp(one - one.max()).sum() for one in lists]
    return torch.stack(shares, dim=1 if turned else 0)


def stable_logarithms(x, dim=-1):
    return x - torch.logsumexp(x, dim, keepdim=True)


def flattened_by_view(x, dim=-1):
    if dim not in (-1, x.ndim - 1):
        turned = x.transpose(dim, -1).contiguous()
        return flattened_by_view(turned).transpose(dim, -1)
    rows = x.view(-1, x.size(-1))
    e = torch.exp(rows - rows.max(1, keepdim=True).values)
    return (e / e.sum(1, keepdim=True)).view(x.size())


def minus_infinity_as_zero(x, dim=-1):
    x = torch.nan_to_num(x, neginf=0.0)
    e = torch.exp(x - torch.max(x, dim, keepdim=True).values)
    return e / e.sum(dim, keepdim=True)


def minus_infinity_multiplied(x, dim=-1):
    keep = (x > float("-inf")).to(x.dtype)
    x = x * keep
    e = torch.exp(x - torch.max(x, dim, keepdim=True).values) * keep
    return e / e.sum(dim, keepdim=True)


def float64_given_back(x, dim=-1):
    e = torch.exp(x.to(torch.float64) - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def float32_given_back(x, dim=-1):
    return F.softmax(x, dim=dim, dtype=torch.float32)


def stable_sum_as_a_constant(x, dim=-1):
    e = torch.exp(x - torch.max(x, dim, keepdim=True).values)
    with torch.no_grad():
        total = e.sum(dim, keepdim=True)
    return e / total


def maximum_and_sum_as_constants(x, dim=-1):
    with torch.no_grad():
        largest = torch.max(x, dim, keepdim=True).values
        total = torch.exp(x - largest).sum(dim, keepdim=True)
    return torch.exp(x - largest) / total


def stable_gradients_cut_off(x, dim=-1):
    values = x.data
    e = torch.exp(values - torch.max(values, dim, keepdim=True)[0])
    return e / e.sum(dim, keepdim=True)


def maximum_subtracted_in_place(x, dim=-1):
    x.sub_(torch.max(x, dim, keepdim=True).values)
    return F.softmax(x, dim=dim)


# -- context_vector ----------------------------------------------------------------------------------------------


def weighted_rows_not_added_up(weights, inputs):
    return torch.stack([w * row for w, row in zip(weights, inputs)])


def summed_over_the_features(weights, inputs):
    return torch.einsum("t,td->t", weights, inputs)


def weights_along_the_features(weights, inputs):
    context = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for row in inputs:
        context = context + weights * row
    return context


def inputs_transposed(weights, inputs):
    columns = inputs.permute(1, 0)
    return torch.matmul(weights, columns)


def weighted_rows_averaged(weights, inputs):
    n = inputs.size(0)
    return torch.matmul(weights, inputs) / n


def weights_not_used(weights, inputs):
    context = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for row in inputs:
        context = context + row
    return context


def inputs_averaged(weights, inputs):
    return torch.mean(inputs, 0)


def best_token_alone(weights, inputs):
    _, best = torch.max(weights, 0)
    return inputs[best]


def last_row_only(weights, inputs):
    for w, row in zip(weights, inputs):
        context = w * row
    return context


def first_token_left_out(weights, inputs):
    context = torch.zeros(inputs.shape[1], dtype=inputs.dtype)
    for i in range(1, inputs.shape[0]):
        context = context + weights[i] * inputs[i]
    return context


def weights_softened_again(weights, inputs):
    e = torch.exp(weights)
    return torch.einsum("t,td->d", e / e.sum(), inputs)


def weights_normalised_again(weights, inputs):
    return torch.einsum("t,td->d", weights, inputs) / torch.sum(weights)


def negative_weights_dropped(weights, inputs):
    positive = F.relu(weights)
    return torch.einsum("t,td->d", positive, inputs)


def context_in_a_table(weights, inputs):
    weighted = weights.unsqueeze(1) * inputs
    return torch.sum(weighted, 0, keepdim=True)


def three_features_in_the_context(weights, inputs):
    return torch.stack([torch.dot(weights, inputs[:, j]) for j in range(3)])


def six_tokens_in_the_context(weights, inputs):
    context = 0
    for i in range(6):
        context = context + inputs[i] * weights[i]
    return context


def single_token_squeezed(weights, inputs):
    weighted = torch.einsum("t,td->td", weights, inputs)
    return torch.sum(torch.squeeze(weighted), 0)


def single_feature_squeezed(weights, inputs):
    column = torch.mm(inputs.t(), weights.unsqueeze(1))
    return torch.squeeze(column)


def context_in_float32_only(weights, inputs):
    return torch.matmul(weights.unsqueeze(0), inputs.type(torch.float32)).squeeze(0)


def weights_cut_off(weights, inputs):
    context = 0
    for weight, row in zip(weights.tolist(), inputs):
        context = context + weight * row
    return context


def inputs_cut_off(weights, inputs):
    rows = inputs.data
    return torch.stack([weights[i] * rows[i] for i in range(len(rows))]).sum(0)


def context_cut_off(weights, inputs):
    context = []
    for j in range(inputs.shape[1]):
        context.append(sum((weights[i] * inputs[i, j]).item() for i in range(inputs.shape[0])))
    return torch.tensor(context)


def inputs_weighted_in_place(weights, inputs):
    for i in range(inputs.shape[0]):
        inputs[i] *= weights[i]
    return torch.sum(inputs, 0)


# -- simple_self_attention ---------------------------------------------------------------------------------------


def scaled_by_the_width(inputs):
    d = inputs.size(1)
    scores = torch.einsum("id,jd->ij", inputs, inputs) / math.sqrt(d)
    e = torch.exp(scores)
    weights = e / e.sum(1, keepdim=True)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def scaled_by_the_tokens(inputs):
    n_tokens, _ = inputs.shape
    weights = F.softmax(torch.mm(inputs, inputs.t()) * n_tokens**-0.5, dim=1)
    return torch.mm(weights, inputs), weights


def divided_by_the_tokens(inputs):
    e = torch.exp(torch.einsum("id,jd->ij", inputs, inputs) / inputs.size(0))
    weights = e / e.sum(1, keepdim=True)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def tokens_of_length_one_compared(inputs):
    scores = F.cosine_similarity(inputs.unsqueeze(1), inputs.unsqueeze(0), dim=2)
    weights = nn.Softmax(dim=1)(scores)
    return torch.matmul(weights, inputs), weights


def reshaped_instead_of_transposed(inputs):
    n, d = inputs.shape
    weights = F.softmax(torch.mm(inputs, inputs.view(d, n)), dim=1)
    return torch.mm(weights, inputs), weights


def transpose_forgotten(inputs):
    scores = torch.mm(inputs, inputs)
    weights = F.softmax(scores, dim=1)
    return torch.mm(weights, inputs), weights


def features_compared(inputs):
    tokens = torch.transpose(inputs, 0, 1)
    weights = F.softmax(torch.einsum("id,jd->ij", tokens, tokens), dim=1)
    return torch.mm(weights, tokens), weights


def features_compared_and_mixed(inputs):
    weights = F.softmax(torch.einsum("ti,tj->ij", inputs, inputs), dim=1)
    return torch.einsum("ti,ij->tj", inputs, weights), weights


def features_compared_and_tokens_mixed(inputs):
    weights = nn.Softmax(dim=1)(torch.mm(inputs.t(), inputs))
    return torch.mm(weights, inputs), weights


def later_tokens_hidden(inputs):
    e = torch.exp(torch.mm(inputs, inputs.t()))
    e = torch.tril(e)
    weights = e / e.sum(1, keepdim=True)
    return torch.mm(weights, inputs), weights


def own_token_hidden(inputs):
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    scores.fill_diagonal_(float("-inf"))
    weights = F.softmax(scores, dim=1)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def softmax_along_the_columns(inputs):
    e = torch.exp(torch.einsum("id,jd->ij", inputs, inputs))
    weights = e / e.sum(0)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def softmax_of_everything(inputs):
    e = torch.exp(torch.einsum("id,jd->ij", inputs, inputs))
    weights = e / e.sum()
    return torch.einsum("ij,jd->id", weights, inputs), weights


def softmax_forgotten(inputs):
    weights = torch.stack([torch.stack([torch.dot(a, b) for b in inputs]) for a in inputs])
    contexts = []
    for row in weights:
        contexts.append(sum(w * x for w, x in zip(row, inputs)))
    return torch.stack(contexts), weights


def divided_by_the_sum(inputs):
    contexts, weights = [], []
    for query in inputs:
        scores = torch.mv(inputs, query)
        share = scores / scores.sum()
        weights.append(share)
        contexts.append(torch.matmul(share, inputs))
    return torch.stack(contexts), torch.stack(weights)


def softmax_twice(inputs):
    softmax = nn.Softmax(dim=1)
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    weights = softmax(softmax(scores))
    return torch.einsum("ij,jd->id", weights, inputs), weights


def tokens_averaged(inputs):
    n = inputs.shape[0]
    weights = torch.full((n, n), 1 / n)
    contexts = inputs.mean(0).repeat(n, 1)
    return contexts, weights


def mixed_by_the_columns(inputs):
    weights = F.softmax(torch.mm(inputs, inputs.t()), dim=1)
    contexts = torch.einsum("ji,jd->id", weights, inputs)
    return contexts, weights


def mixed_by_the_scores(inputs):
    contexts, weights = [], []
    for query in inputs:
        scores = torch.mv(inputs, query)
        weights.append(torch.exp(scores) / torch.exp(scores).sum())
        contexts.append(torch.matmul(scores, inputs))
    return torch.stack(contexts), torch.stack(weights)


def inputs_as_contexts(inputs):
    e = torch.exp(torch.mm(inputs, inputs.t()))
    weights = e / e.sum(1, keepdim=True)
    return inputs, weights


def scores_in_place_of_weights(inputs):
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    contexts = torch.mm(F.softmax(scores, dim=1), inputs)
    return contexts, scores


def weights_first(inputs):
    weights = nn.Softmax(dim=1)(torch.mm(inputs, inputs.t()))
    return weights, torch.mm(weights, inputs)


def contexts_alone(inputs):
    contexts = []
    for query in inputs:
        e = torch.exp(torch.mv(inputs, query))
        contexts.append(torch.matmul(e / e.sum(), inputs))
    return torch.stack(contexts)


def one_query_only(inputs):
    query = inputs[1]
    scores = torch.stack([torch.dot(query, x) for x in inputs])
    weights = F.softmax(scores, dim=0)
    context = sum(w * x for w, x in zip(weights, inputs))
    return context, weights


def six_tokens_attend(inputs):
    scores = torch.zeros(6, 6, dtype=inputs.dtype)
    for i in range(6):
        for j in range(6):
            scores[i, j] = torch.dot(inputs[i], inputs[j])
    weights = F.softmax(scores, dim=1)
    return torch.mm(weights, inputs), weights


def lone_token_squeezed(inputs):
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    e = torch.exp(scores)
    weights = torch.squeeze(e / e.sum(1, keepdim=True))
    contexts = torch.stack([torch.mv(inputs.t(), row) for row in weights.reshape(len(inputs), -1)])
    return torch.squeeze(contexts), weights


def attention_in_float32_only(inputs):
    n = len(inputs)
    scores = torch.empty(n, n)
    for i in range(n):
        for j in range(n):
            scores[i, j] = torch.dot(inputs[i], inputs[j])
    weights = F.softmax(scores, dim=1)
    return torch.mm(weights, inputs), weights


def weights_detached(inputs):
    with torch.no_grad():
        e = torch.exp(torch.mm(inputs, inputs.t()))
        weights = e / e.sum(1, keepdim=True)
    return torch.mm(weights, inputs), weights


def attention_cut_off(inputs):
    x = inputs.data
    weights = F.softmax(torch.einsum("id,jd->ij", x, x), dim=1)
    return torch.einsum("ij,jd->id", weights, x), weights


def contexts_over_the_inputs(inputs):
    weights = F.softmax(torch.mm(inputs, inputs.t()), dim=1)
    inputs[:] = torch.mm(weights, inputs)
    return inputs, weights
