"""Hidden tests of unit 1, attention without weights. Each test or case is one criterion.

Expected values are computed here in float64, by other means than in the course's solution. Each exercise that an
answer may call has its own function here, because the grader may replace the student's version by a substitute.

One mistake should not cost every point, and junk should earn none. So the tests of the number of tokens, the dtype and
the arguments use inputs on which most known mistakes still give the right result: scores far apart, of which only the
order is checked, or one entry that dominates all others.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from grader.testing.checks import (
    CheckFailed,
    expect_close,
    expect_dtype,
    expect_error,
    expect_number,
    expect_same,
    expect_tensor,
    expect_true,
    expect_values,
    remark_ready_made,
)
from grader.testing.contracts import (
    Asking,
    Right,
    against,
    asking,
    expect_gradients_of,
    expect_left_alone,
    expect_right,
)
from grader.testing.draws import Fresh, case
from grader.testing.student import Student

# All different, so that mixed-up dimensions show.
B, H, D, T = 2, 3, 4, 5
DTYPES = (torch.float32, torch.float64)
Function = Callable[..., torch.Tensor]


# -- expected values ---------------------------------------------------------------------------------------------


def scores_of(student: Student) -> Function:
    """Return attention_scores: (d,), (T, d) to (T,), row by row."""
    dot_product = student.substitute("dot_product", functools.partial(torch.einsum, "n,n->"))

    def attention_scores(query: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack([dot_product(query.double(), row) for row in inputs.double()])

    return attention_scores


def naive_softmax_of(student: Student) -> Function:
    """Return softmax_naive: any shape to the same shape, one list of scores at a time.

    It uses no substitute for softmax_stable: an answer that only calls softmax_stable should not pass.
    """
    normalize = student.substitute("normalize_by_sum", normalized)

    def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        exponentials = x.double().exp().movedim(dim, -1)
        rows = exponentials.reshape(-1, exponentials.shape[-1])  # (…, n) -> (the product of …, n)
        shares = torch.stack([normalize(row) for row in rows])
        return shares.reshape(exponentials.shape).movedim(-1, dim)  # back to the shape of x

    return softmax_naive


def normalized(scores: torch.Tensor) -> torch.Tensor:
    """Compute normalize_by_sum: (T,) to (T,)."""
    return scores.double() * torch.einsum("t->", scores.double()).reciprocal()


def softmax_of(student: Student) -> Function:
    """Return softmax_stable: any shape to the same shape.

    It uses no substitute for softmax_naive: an answer that calls softmax_naive leaves only one line to write.
    """
    naive = naive_softmax_of(student)

    def softmax_stable(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        return naive(x.double() - x.double().amax(dim, keepdim=True), dim)

    return softmax_stable


def context_of(student: Student) -> Function:
    """Return context_vector: (T,), (T, d) to (d,). Each feature is a dot product with the weights, so it is a score."""
    scores = student.substitute("attention_scores", scores_of(student))

    def context_vector(weights: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        return scores(weights.double(), inputs.double().mT)  # (T,), (d, T) -> (d,)

    return context_vector


def self_attention_of(student: Student) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Return simple_self_attention: (T, d) to contexts (T, d) and weights (T, T), one query at a time."""
    scores = student.substitute("attention_scores", scores_of(student))
    softmax = student.substitute("softmax_naive", student.substitute("softmax_stable", softmax_of(student)))
    context = student.substitute("context_vector", context_of(student))

    def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inputs = inputs.double()
        weights = [softmax(scores(query, inputs), -1) for query in inputs]
        return torch.stack([context(row, inputs) for row in weights]), torch.stack(weights)

    return simple_self_attention


# -- inputs on which most mistakes make no difference ------------------------------------------------------------


def far_apart(
    fresh: Fresh, count: int, width: int = D, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a query (d,) and inputs (T, d) whose scores are the integers from one to T, in random order.

    Division by a positive number and softmax keep this order.
    """
    query, inputs = fresh(width, dtype=torch.float64), fresh(count, width, dtype=torch.float64)
    target_scores = fresh.order(count) + 1
    # Move each row along the query until it has its target score.
    inputs += torch.outer(target_scores - inputs @ query, query) / query.dot(query)
    return query.to(dtype), inputs.to(dtype)


def expect_order(value: Any, right: torch.Tensor) -> None:
    scores = expect_tensor(value, right.shape)
    expect_true(torch.equal(scores.argsort(), right.argsort()), "The order of the scores is wrong.")


def single_nonzero(fresh: Fresh, count: int, size: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return (count,): all entries are zero except one, at a random position.

    Division by the sum or by the maximum gives this entry the result one. At a size of 80 softmax does too: e⁻⁸⁰ is
    negligible, and e⁸⁰ is still finite in float32, unlike e⁸⁹.
    """
    numbers = torch.zeros(count, dtype=dtype)
    numbers[fresh.order(count)[0]] = size
    return numbers


DOMINANT = 80.0


def tokens(fresh: Fresh) -> torch.Tensor:
    """Return inputs (T, d) whose scores are at most ±4, so that every weight has a logarithm in float32.

    All lengths differ. The scores are symmetric, and different lengths make the weights of a row differ from those of
    the same column.
    """
    directions = torch.nn.functional.normalize(fresh(T, D), dim=-1)
    return directions * torch.tensor([1.4, 2.0, 1.2, 1.8, 1.6])[:, None]  # (T, d) * (T, 1)


def decisive_tokens(fresh: Fresh, count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return inputs (T, 2) on one line through zero, of which each token gives all its weight to one token.

    For a token of half the length, the score of the longest token on its side is higher by 9.2² / 4 = 21 than the next
    one, or by 15 if the scores are divided by √2, the root of the width. The other tokens together get at most
    3 e⁻¹⁵ = 1e-6, a tenth of ABSOLUTE. No score exceeds 9.2² = 85, so softmax does not overflow even if an answer does
    not subtract the maximum.
    """
    sizes = 9.2 * torch.tensor([0.5, 1, -0.5, -1, 0.5, -0.5], dtype=torch.float64)[:count][fresh.order(count)]
    direction = fresh(2, dtype=torch.float64)
    return torch.outer(sizes, direction / direction.norm()).to(dtype)  # (T,), (2,) -> (T, 2)


# -- dot_product -------------------------------------------------------------------------------------------------

Numbers = Sequence[float] | torch.Tensor


# Functions of torch that compute a dot product in one call.
PRODUCTS = ("dot", "einsum", "inner", "matmul", "mm", "mv", "sum", "tensordot", "vdot", "vecdot")


def expect_dot_product(value: Any, a: Numbers, b: Numbers) -> None:
    products = [float(x) * float(y) for x, y in zip(a, b, strict=True)]
    # Rounding in float32 changes it by less, however small the products are.
    expect_number(value, math.fsum(products), within=1e-5 * math.fsum(map(abs, products)))


@pytest.mark.exercise("dot_product", rule="the result is the sum of the products of the numbers at the same position")
def test_products_at_the_same_place_are_added_up(student: Student, fresh: Fresh) -> None:
    """The result should be one number: the sum of the products of the numbers at the same position."""
    # Large enough to show whether an answer rounds the numbers, the products or the sum to integers. And so small that
    # it shows whether the result has as few decimals as a worked example.
    for count, size in ((T, 3), (H, 3), (T, 0.01)):
        a, b = (size * fresh(count)).tolist(), (size * fresh(count)).tolist()
        expect_dot_product(student.dot_product(a, b), a, b)
    remark_ready_made(PRODUCTS, student.dot_product, a, b)


@pytest.mark.exercise(
    "dot_product",
    rule="a and b may be lists, tuples or tensors with one dimension, with ints or floats",
)
def test_numbers_come_in_lists_tuples_or_tensors(student: Student, fresh: Fresh) -> None:
    """Lists, tuples and tensors should all work, with ints or floats, and so should sequences with a single number."""
    a, b = [3, 0, -2], [4, 5, 7]
    tensors = [fresh(T, dtype=dtype) for dtype in DTYPES for _ in "ab"]
    # Tensors first: some operations work for tensors and not for lists.
    for first, second in (
        (tensors[0], tensors[1]),
        (tensors[2], tensors[3]),
        (a, b),
        (tuple(a), tuple(b)),
        (tuple(fresh(T).tolist()), tuple(fresh(T).tolist())),
        (fresh(1).tolist(), fresh(1).tolist()),
    ):
        expect_dot_product(student.dot_product(first, second), first, second)


@pytest.mark.exercise("dot_product", rule="different lengths raise ValueError or AssertionError")
def test_different_lengths_are_refused(student: Student, fresh: Fresh) -> None:
    """If the lengths differ, the function should raise ValueError or AssertionError, whichever sequence is longer."""
    # An answer that rejects all sequences does not pass.
    student.dot_product(fresh(T).tolist(), fresh(T).tolist())
    failures = []
    for first_length, second_length in ((T, H), (H, T), (1, T), (T, 0)):
        a, b = fresh(first_length).tolist(), fresh(second_length).tolist()
        try:
            expect_error(functools.partial(expect_a_product, student, a, b))
        except CheckFailed as failure:
            failures.append(failure)
    # Raise only after all pairs: a diagnosis needs the results for each of them.
    if failures:
        raise failures[0]


def expect_a_product(student: Student, a: Numbers, b: Numbers) -> None:
    """Call the function and expect a nonzero float or tensor, not a value such as None that signals an error."""
    result = student.dot_product(a, b)
    is_product = isinstance(result, float | torch.Tensor) and bool(torch.as_tensor(result).any())
    expect_true(is_product, "It returned a value, but an error was expected.")


@pytest.mark.exercise("dot_product", rule="for two empty sequences the result is 0")
def test_nothing_to_add_up_gives_zero(student: Student, fresh: Fresh) -> None:
    """For two empty lists or tuples the result should be zero, and only for these."""
    expect_number(student.dot_product([], []), 0, within=0)
    expect_number(student.dot_product((), ()), 0, within=0)
    # An answer that always returns zero does not pass.
    a, b = fresh(1).tolist(), fresh(1).tolist()
    expect_dot_product(student.dot_product(a, b), a, b)


@pytest.mark.exercise("dot_product", rule="the arguments are not changed")
def test_multiplying_leaves_the_numbers_alone(student: Student, fresh: Fresh) -> None:
    """The result should be correct, and the call should not change the sequences."""
    lists = [fresh(T).tolist() for _ in "ab"]
    result, after = expect_values(student.dot_product.with_arguments(*lists), 2)
    expect_dot_product(result, *lists)
    expect_true(list(after) == lists, "A list was changed.")
    tensors = [fresh(T) for _ in "ab"]
    result, after = expect_values(student.dot_product.with_arguments(*tensors), 2)
    expect_dot_product(result, *tensors)
    for argument, before in zip(after, tensors, strict=True):
        expect_same(argument, before, "A tensor was changed.")


# -- attention_scores --------------------------------------------------------------------------------------------


@pytest.mark.exercise(
    "attention_scores", rule="score i is the dot product of the query with row i of the inputs, not scaled"
)
def test_a_score_is_the_dot_product_of_query_and_input(student: Student, fresh: Fresh) -> None:
    """There should be one score for each input, (T,): its dot product with the query, not scaled."""
    for size in (1, 0.1):  # small scores show whether they are rounded
        query, inputs = size * fresh(D), size * fresh(T, D)
        expect_close(student.attention_scores(query, inputs), scores_of(student)(query, inputs), "The scores")


@pytest.mark.exercise("attention_scores", rule="any number of tokens, including one")
def test_any_number_of_inputs_is_scored(student: Student, fresh: Fresh) -> None:
    """Any number of inputs should be scored, (T,), and the best match should get the largest score."""
    # A square comes first: no product fails there because of its shapes.
    for count, width in ((7, 7), (3, D), (1, D)):
        query, inputs = far_apart(fresh, count, width)
        expect_order(student.attention_scores(query, inputs), scores_of(student)(query, inputs))


# -- normalize_by_sum --------------------------------------------------------------------------------------------


def both_signs(fresh: Fresh, count: int) -> torch.Tensor:
    """Return scores (T,), some of them negative, whose sum is far from zero."""
    scores = fresh(count).abs().clamp(max=2) + 0.5
    scores[1::3] *= -0.2
    return scores


@pytest.mark.exercise(
    "normalize_by_sum", rule="each result is the score divided by the sum of all scores, also for negative scores"
)
def test_scores_are_divided_by_their_sum(student: Student, fresh: Fresh) -> None:
    """Each score should be divided by the sum of all scores, so that the results sum to one."""
    # Mostly positive, and mostly negative.
    for scores in (both_signs(fresh, T), -both_signs(fresh, T)):
        expect_close(student.normalize_by_sum(scores), normalized(scores))


@pytest.mark.exercise("normalize_by_sum", rule="any number of scores, including one")
def test_any_number_of_scores_is_divided(student: Student, fresh: Fresh) -> None:
    """Any number of scores should be divided by their sum, and the shape (T,) should stay; a single score gives one."""
    for count in (7, 3, 1):
        scores = single_nonzero(fresh, count, DOMINANT)
        expect_close(student.normalize_by_sum(scores), normalized(scores))


# -- softmax_naive -----------------------------------------------------------------------------------------------
# Most tests use a single list of scores, in which no dimension can be confused with another.

EXPONENTIALS = "each result is the exponential of its entry, divided by the sum of the exponentials along `dim`"
LAST_DIM = "without `dim`, the sum runs along the last dimension"
ANY_DIM = "dim may be any dimension, counted from the front or (if negative) from the back"
SOFTMAXES = ("log_softmax", "softmax", "softmin", "special_log_softmax", "special_softmax")


@pytest.mark.exercise("softmax_naive", rule=EXPONENTIALS)
def test_exponentials_over_their_sum(student: Student, fresh: Fresh) -> None:
    """For a single list of scores, each result should be its exponential divided by the sum of the exponentials."""
    for count in (T, 1):
        x = fresh(count)
        expect_close(student.softmax_naive(x), naive_softmax_of(student)(x))
    remark_ready_made(SOFTMAXES, student.softmax_naive, x)


@pytest.mark.exercise("softmax_naive", rule=LAST_DIM)
def test_the_sum_runs_along_the_last_dimension(student: Student, fresh: Fresh) -> None:
    """If no `dim` is given, the results should sum to one along the last dimension, for every shape."""
    for shape in ((T, D), (B, H, D)):
        x = fresh(*shape)
        expect_close(student.softmax_naive(x), naive_softmax_of(student)(x))


@pytest.mark.exercise("softmax_naive", rule=ANY_DIM)
def test_the_sum_runs_along_the_dimension_asked_for(student: Student, fresh: Fresh) -> None:
    """The sum should run along `dim`, for every dimension, counted from the front or from the back."""
    for shape, dim in (((T, D), 0), ((T, D), 1), ((T, D), -2), ((B, H, D), 1), ((B, H, D), 0), ((B, H, D), -2)):
        x = fresh(*shape)
        expect_close(student.softmax_naive(x, dim=dim), naive_softmax_of(student)(x, dim))


# -- softmax_stable ----------------------------------------------------------------------------------------------


@pytest.mark.exercise("softmax_stable", rule=EXPONENTIALS)
def test_stable_exponentials_over_their_sum(student: Student, fresh: Fresh) -> None:
    """For a single list of scores, each result should be its exponential divided by the sum of the exponentials."""
    for count in (T, 1):
        x = fresh(count)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))
    remark_ready_made(SOFTMAXES, student.softmax_stable, x)


@pytest.mark.exercise("softmax_stable", rule=LAST_DIM)
def test_the_stable_sum_runs_along_the_last_dimension(student: Student, fresh: Fresh) -> None:
    """If no `dim` is given, the results should sum to one along the last dimension, for every shape."""
    for shape in ((T, D), (B, H, D)):
        x = fresh(*shape)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@pytest.mark.exercise("softmax_stable", rule=ANY_DIM)
def test_the_stable_sum_runs_along_the_dimension_asked_for(student: Student, fresh: Fresh) -> None:
    """The sum should run along `dim`, for every dimension, counted from the front or from the back."""
    for shape, dim in (((T, D), 0), ((T, D), 1), ((T, D), -2), ((B, H, D), 1), ((B, H, D), 0), ((B, H, D), -2)):
        x = fresh(*shape)
        expect_close(student.softmax_stable(x, dim=dim), softmax_of(student)(x, dim))


@pytest.mark.exercise("softmax_stable", rule="x may be non-contiguous, for example the result of a transpose")
def test_the_stable_softmax_takes_views(student: Student, fresh: Fresh) -> None:
    """The result should be correct if x is non-contiguous, for example the result of a transpose."""
    for x in (fresh(D, T).T, fresh(B, D, H).transpose(1, 2)):  # (T, D) and (B, H, D)
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@pytest.mark.exercise("softmax_stable", rule="entries of ±10,000, in any combination, give finite and correct results")
def test_large_entries_stay_finite(student: Student, fresh: Fresh) -> None:
    """Entries far above and far below zero, in any combination, should give finite and correct results."""
    large = 10_000.0
    # One entry in each row is far above all others, so float32 rounding has no effect.
    mixed = torch.full((T, D), -large)
    mixed[range(T), [0, 3, 1, 2, 1]] = large
    # In float64: some answers subtract ln ∑ eˣ, which float32 cannot represent to 1e-4 at this size. Multiples of 1/4
    # are exact in float32 too, so nothing else depends on the dtype.
    quarters = (fresh(4, D, dtype=torch.float64).abs() * 4).round() / 4
    spread = torch.stack([large - quarters[0], quarters[1], quarters[2] - large, quarters[3]])
    spread[3, 0], spread[3, 1] = large, -large
    step = torch.tensor([1000, 0], dtype=torch.float64)
    # Very low entries, and -inf below them.
    lowest = torch.tensor([1 - large, -large, -torch.inf], dtype=torch.float64)
    for x in (step, step + large - 1000, torch.full((H, D), -large, dtype=torch.float64), mixed, spread, lowest):
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


@pytest.mark.exercise(
    "softmax_stable",
    rule="an entry of -inf beside finite ones gives 0, and the other results are the same as without it",
)
def test_minus_infinity_gets_nothing(student: Student, fresh: Fresh) -> None:
    """An entry of -inf should give zero, and the weights of the finite entries beside it should sum to one."""
    two_hidden, one_visible = fresh(T), fresh(D)
    two_hidden[[1, 4]] = -torch.inf
    one_visible[1:] = -torch.inf
    for x in (two_hidden, one_visible):
        expect_close(student.softmax_stable(x), softmax_of(student)(x))


# -- context_vector ----------------------------------------------------------------------------------------------


def expect_context(student: Student, weights: torch.Tensor, inputs: torch.Tensor) -> None:
    found, expected = student.context_vector(weights, inputs), context_of(student)(weights, inputs)
    expect_close(found, expected, "The features of the context")


@pytest.mark.exercise(
    "context_vector", rule="the result is the sum of the rows of the inputs, each row i times weight i"
)
def test_the_context_is_a_weighted_sum(student: Student, fresh: Fresh) -> None:
    """The context should be the sum of the inputs, each times its weight: one vector as wide as an input, (d,)."""
    for width in (D, 1):
        # Shares, as a softmax gives them.
        weights, inputs = torch.softmax(fresh(T), 0), fresh(T, width)
        expect_context(student, weights, inputs)


@pytest.mark.exercise(
    "context_vector", rule="the weights are used without any change, also if they are negative or do not sum to one"
)
def test_the_weights_count_as_they_are(student: Student, fresh: Fresh) -> None:
    """The weights should be used without any change, also if some are negative or if they do not sum to one."""
    for weights in (fresh(T), fresh(T).abs()):
        inputs = fresh(T, D)
        expect_context(student, weights, inputs)


@pytest.mark.exercise("context_vector", rule="any number of tokens, including one")
def test_a_context_of_any_number_of_tokens(student: Student, fresh: Fresh) -> None:
    """Any number of tokens should give one context, (d,), and a single token with all the weight gives itself."""
    # A square comes first: no product fails there because of its shapes.
    for count, width in ((7, 7), (3, D), (1, D)):
        weights, inputs = single_nonzero(fresh, count, 1), fresh(count, width)
        expect_context(student, weights, inputs)


# -- simple_self_attention ---------------------------------------------------------------------------------------


def expect_self_attention(student: Student, result: Any, inputs: torch.Tensor) -> None:
    contexts, weights = expect_values(result, 2)
    right_contexts, right_weights = self_attention_of(student)(inputs)
    expect_close(weights, right_weights, "The weights")
    expect_close(contexts, right_contexts, "The contexts")


def scores_from_weights(weights: torch.Tensor) -> torch.Tensor:
    """Return the scores (T, T) behind these weights, up to a constant for each row and each column.

    The logarithm undoes softmax up to a constant for each list of scores. Subtracting the rows' means removes it.
    Subtracting the columns' means too gives the same scores for softmax along the wrong dimension, which has its own
    criterion.
    """
    logarithms = weights.double().log()
    logarithms = logarithms - logarithms.mean(-1, keepdim=True)
    return logarithms - logarithms.mean(-2, keepdim=True)


@pytest.mark.exercise(
    "simple_self_attention",
    rule="the scores are the dot products of every token with every token, not scaled and not masked",
)
def test_scores_are_plain_dot_products(student: Student, fresh: Fresh) -> None:
    """The scores should be the dot products of every token with every token, not scaled and not masked."""
    inputs = tokens(fresh)
    _, weights = expect_values(student.simple_self_attention(inputs), 2)
    _, right_weights = self_attention_of(student)(inputs)
    expect_close(scores_from_weights(expect_tensor(weights, (T, T))), scores_from_weights(right_weights), "The scores")


@pytest.mark.exercise(
    "simple_self_attention",
    rule="row i of the weights is the softmax of token i's scores over all tokens, so each row sums to one",
)
def test_each_token_shares_its_attention_among_all(student: Student, fresh: Fresh) -> None:
    """Softmax should run along each row: weights are positive, sum to one and are largest for the best match."""
    inputs = tokens(fresh)
    _, weights = expect_values(student.simple_self_attention(inputs), 2)
    _, right_weights = self_attention_of(student)(inputs)
    expect_true(bool((expect_tensor(weights, (T, T)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(-1), right_weights.sum(-1), "The sums of the rows of weights")
    expect_true(
        torch.equal(weights.argmax(-1), right_weights.argmax(-1)),
        "A token's largest weight is not on the token with which it has the largest dot product.",
    )


@pytest.mark.exercise(
    "simple_self_attention", rule="context i is the sum of the inputs, each times its weight in row i"
)
def test_contexts_are_weighted_sums_of_the_inputs(student: Student, fresh: Fresh) -> None:
    """Each token's context should be the sum of the inputs, each times its weight in the token's row: (T, d)."""
    inputs = tokens(fresh)
    contexts, _ = expect_values(student.simple_self_attention(inputs), 2)
    expect_close(contexts, self_attention_of(student)(inputs)[0], "The contexts")


@pytest.mark.exercise("simple_self_attention", rule="the result is the pair (contexts, weights)")
def test_contexts_first_then_weights(student: Student, fresh: Fresh) -> None:
    """The function should return two results: first the contexts (T, d), then the weights (T, T)."""
    inputs = decisive_tokens(fresh, T)
    expect_self_attention(student, student.simple_self_attention(inputs), inputs)


@pytest.mark.exercise("simple_self_attention", rule="any number of tokens, including one")
def test_any_number_of_tokens_attend(student: Student, fresh: Fresh) -> None:
    """Any number of tokens should work, also a single one: contexts (T, d) and weights (T, T)."""
    # A square comes first: no product fails there because of its shapes. Its tokens are orthogonal, so each gives all
    # its weight to itself.
    square = 9.2 * fresh.rotation(6).float()
    for inputs in (square, *(decisive_tokens(fresh, count) for count in (6, 3, 1))):
        expect_self_attention(student, student.simple_self_attention(inputs), inputs)


# -- criteria of several exercises -------------------------------------------------------------------------------

Inputs = Callable[..., Sequence[torch.Tensor]]


def one_entry(fresh: Fresh, dtype: torch.dtype) -> list[torch.Tensor]:
    return [single_nonzero(fresh, T, DOMINANT, dtype)]


def expect_stable(student: Student, result: Any, x: torch.Tensor) -> None:
    expect_close(result, softmax_of(student)(x))
    expect_dtype(result, x.dtype)


# Inputs on which most mistakes make no difference, and the check of the result for them.
SCORES = asking(
    "attention_scores", lambda fresh, dtype: far_apart(fresh, T, dtype=dtype), against(scores_of, expect_order)
)
DIVIDED = asking("normalize_by_sum", one_entry, against(lambda _: normalized))
NAIVE = asking("softmax_naive", one_entry, against(naive_softmax_of))
STABLE = asking("softmax_stable", one_entry, against(softmax_of))
CONTEXT = asking(
    "context_vector",
    lambda fresh, dtype: [single_nonzero(fresh, T, 1, dtype), fresh(T, D, dtype=dtype)],
    against(context_of, functools.partial(expect_close, what="The features of the context")),
)
ATTENTION = asking(
    "simple_self_attention", lambda fresh, dtype: [decisive_tokens(fresh, T, dtype)], expect_self_attention
)


@pytest.mark.parametrize("ask", [
    case("scores_of_either_dtype", "attention_scores", "float32 and float64 arguments both work",
         "Float32 and float64 arguments should both give scores, and the best match should get the largest score.",
         SCORES),
    case("scores_of_either_dtype_are_divided", "normalize_by_sum", "float32 and float64 scores both work",
         "Float32 scores and float64 scores should both be divided by their sum.", DIVIDED),
    case("softmax_of_either_dtype", "softmax_naive", "float32 and float64 entries both work",
         "Float32 and float64 entries should both give correct results: the largest entry gets nearly all the weight.",
         NAIVE),
    case("the_stable_softmax_keeps_the_dtype", "softmax_stable", "the result keeps the dtype of x, float32 or float64",
         "The result should be correct and have the dtype of x, for float32 and for float64.",
         asking("softmax_stable", one_entry, expect_stable)),
    case("a_context_of_either_dtype", "context_vector", "float32 and float64 arguments both work",
         "Float32 and float64 arguments should both give the context, also if one token has all the weight.",
         CONTEXT),
    case("self_attention_of_either_dtype", "simple_self_attention", "float32 and float64 inputs both work",
         "Contexts and weights should be correct for float32 inputs and for float64 inputs.", ATTENTION),
])  # fmt: skip
def test_either_dtype(student: Student, fresh: Fresh, ask: Asking) -> None:
    """Float32 and float64 should both come out right."""
    for dtype in DTYPES:
        expect_right(ask(student, fresh, dtype))


@pytest.mark.parametrize(("exercise", "right", "inputs"), [
    case("gradients_of_scores", "attention_scores", "gradients flow to the query and to the inputs",
         "Gradients of the scores should flow to the query and to the inputs.",
         "attention_scores", scores_of, lambda fresh: [fresh(D), fresh(T, D)]),
    # All positive, so that division by the sum of absolute values gives the same result.
    case("gradients_through_the_sum", "normalize_by_sum", "gradients flow to the scores, also through their sum",
         "Gradients should flow to the scores: each is in the numerator of its result, and all are in the denominator.",
         "normalize_by_sum", lambda _: normalized, lambda fresh: [fresh(T).abs() + 0.5]),
    case("gradients_of_softmax", "softmax_naive", "gradients flow to x",
         "Gradients should flow to x: each entry is in the numerator of its result, and all are in the denominator.",
         "softmax_naive", naive_softmax_of, lambda fresh: [fresh(T)]),
    case("gradients_of_the_stable_softmax", "softmax_stable", "gradients flow to x",
         "Gradients should flow to x: each entry is in the numerator of its result, and all are in the denominator.",
         "softmax_stable", softmax_of, lambda fresh: [fresh(T)]),
    case("gradients_of_the_context", "context_vector", "gradients flow to the weights and to the inputs",
         "Gradients of the context should flow to the weights and to the inputs.",
         "context_vector", context_of, lambda fresh: [torch.softmax(fresh(T), 0), fresh(T, D)]),
    case("gradients_of_self_attention", "simple_self_attention", "gradients flow to the inputs",
         "Gradients of contexts and weights should flow to the inputs, which are queries, keys and values here.",
         "simple_self_attention", self_attention_of, lambda fresh: [tokens(fresh)]),
])  # fmt: skip
def test_gradients(student: Student, fresh: Fresh, exercise: str, right: Right, inputs: Inputs) -> None:
    """Gradients should flow to every argument."""
    expect_gradients_of(student, exercise, right, inputs(fresh))


@pytest.mark.parametrize(("ask", "changed"), [
    case("scoring_leaves_its_arguments_alone", "attention_scores", "the arguments are not changed",
         "The scores should have the right order, and the call should not change query or inputs.",
         SCORES, "An argument was changed."),
    case("dividing_leaves_the_scores_alone", "normalize_by_sum", "the scores are not changed",
         "The result should be correct, and the call should not change the scores.",
         DIVIDED, "The scores were changed."),
    case("softmax_leaves_its_argument_alone", "softmax_naive", "x is not changed",
         "The result should be correct, and the call should not change x.",
         NAIVE, "x was changed."),
    case("the_stable_softmax_leaves_its_argument_alone", "softmax_stable", "x is not changed",
         "The result should be correct, and the call should not change x.",
         STABLE, "x was changed."),
    case("mixing_leaves_its_arguments_alone", "context_vector", "the arguments are not changed",
         "The context should be correct, and the call should not change weights or inputs.",
         CONTEXT, "An argument was changed."),
    case("self_attention_leaves_the_inputs_alone", "simple_self_attention", "the inputs are not changed",
         "Contexts and weights should be correct, and the call should not change the inputs.",
         ATTENTION, "The inputs were changed."),
])  # fmt: skip
def test_arguments_left_alone(student: Student, fresh: Fresh, ask: Asking, changed: str) -> None:
    """The result should be correct, and the call should not change the arguments."""
    expect_left_alone(ask(student, fresh, torch.float32), changed)
