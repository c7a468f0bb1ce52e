"""The visible tests of unit 1, attention without weights. Run `grader check simple_attention`, or `pytest` here.

`student` is your file: `student.dot_product(a, b)` is what your dot_product gives. Tests without a rule repeat the
worked example of the unit: six tokens of three numbers. The others try one rule of your docstring each, with numbers
from `numbers`. The grader tries the same rules with other sizes and numbers.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import (
    as_number,
    expect_error,
    expect_number,
    expect_results,
    expect_solution,
    expect_values,
    numbers,
    worked_example,
)

from grader.testing.checks import expect_tensor, remark_ready_made
from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.student import RemoteCallable, Student
from grader.testing.visible_contracts import contract_tests

INPUTS = worked_example("inputs")
SCORES = worked_example("simple.scores_of_token_2")
WEIGHTS = worked_example("simple.weights")[1]

# -- dot_product -----------------------------------------------------------------------------------------------------

READY_MADE_PRODUCTS = {"dot", "inner", "vdot", "vecdot", "einsum", "tensordot", "matmul", "mm", "mv", "sum"}
READY_MADE_SOFTMAXES = {"softmax", "softmin", "log_softmax", "special_softmax", "special_log_softmax"}
PRODUCT = "multiply the numbers at the same position, and add up the products"


@pytest.mark.example("dot_product", rule="the result is the sum of the products of the numbers at the same position")
@pytest.mark.parametrize(
    ("example", "a", "b"),
    [
        pytest.param("dot_product.plain", [0.4, 0.1, 0.8], [0.5, 0.8, 0.6], id="plain"),
        pytest.param("dot_product.aligned", (2, 3), (4, 6), id="aligned"),
        pytest.param("dot_product.opposed", torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0]), id="opposed"),
    ],
)
def test_dot_product(student: Student, example: str, a: Any, b: Any) -> None:
    """A dot product multiplies the numbers at the same position and adds up the products."""
    expected = worked_example(example).item()
    expect_number("the result", student.dot_product(a, b), expected, within=1e-4, idea=PRODUCT)


@pytest.mark.example("dot_product", rule="the result is the sum of the products of the numbers at the same position")
def test_dot_product_of_small_numbers(student: Student) -> None:
    """The result is not rounded: the products of small numbers have more than four decimals."""
    small = [0.013, 0.02], [0.017, 0.031]  # 0.000221 + 0.00062 = 0.000841
    expected = torch.tensor(8.41)
    found = as_number("the result", student.dot_product(*small), PRODUCT)
    expect_values("10,000 times the result", 10_000 * found, expected, shape="()", idea=PRODUCT)
    remark_ready_made(READY_MADE_PRODUCTS, student.dot_product, *small)


@pytest.mark.example(
    "dot_product", rule="a and b may be lists, tuples or tensors with one dimension, with ints or floats"
)
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param([1, -2, 6, 3], [5, 4, 0, 2], 3, id="lists_of_ints"),
        pytest.param((1.5, -2.0), (0.5, 0.25), 0.25, id="tuples_of_floats"),
        pytest.param([2.5], [-3.0], -7.5, id="a_single_number"),
        pytest.param(torch.tensor([2, 0, -1, 3, 1]), torch.tensor([1, 9, 4, 2, 5]), 9, id="tensors_of_ints"),
        pytest.param(torch.tensor([0.5, 2.0]).double(), torch.tensor([3.0, -1.5]).double(), -1.5, id="tensors"),
    ],
)
def test_dot_product_of(student: Student, a: Any, b: Any, expected: float) -> None:
    """A dot product takes lists, tuples and tensors of any length, with ints or floats."""
    expect_number("the result", student.dot_product(a, b), expected, within=1e-4, idea=PRODUCT)


@pytest.mark.example("dot_product", rule="for two empty sequences the result is 0")
@pytest.mark.parametrize("empty", [pytest.param([], id="lists"), pytest.param((), id="tuples")])
def test_dot_product_of_empty(student: Student, empty: Any) -> None:
    """The dot product of two empty sequences is 0."""
    expect_number("the result", student.dot_product(empty, empty), 0, within=0, idea="a sum without terms is 0")


@pytest.mark.example("dot_product", rule="different lengths raise ValueError or AssertionError")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param([1, 2, 3], [4, 5], id="longer"),
        pytest.param([1, 2], [3, 4, 5], id="shorter"),
        pytest.param([2], [3, 4], id="single"),
        pytest.param([1, 2, 3], [], id="empty"),
    ],
)
def test_dot_product_refuses_different_lengths(student: Student, a: list[int], b: list[int]) -> None:
    """Two sequences of different lengths have no dot product, so they raise ValueError or AssertionError."""
    idea = f"one sequence has {len(a)} numbers and the other {len(b)}"
    expect_error(f"`a = {a}` with `b = {b}`", student.dot_product, a, b, idea=idea)


@pytest.mark.example("dot_product", rule="the arguments are not changed")
def test_dot_product_keeps_its_arguments(student: Student) -> None:
    """After the call, a and b are the same as before, in lists and in tensors."""
    expect_arguments_kept(student.dot_product, a=[3, 1, 2], b=[4, 0, 5])
    expect_arguments_kept(student.dot_product, a=numbers(4), b=numbers(4, seed=1))


# -- attention_scores ------------------------------------------------------------------------------------------------


@pytest.mark.example("attention_scores")
def test_attention_scores(student: Student) -> None:
    """In the worked example the query is the second token: the scores are its dot products with every token."""
    expect_values(
        "the scores",
        student.attention_scores(INPUTS[1], INPUTS),
        SCORES,
        shape="(T,)",
        idea="each is the dot product of the query with one row of the inputs",
    )


@pytest.mark.example(
    "attention_scores",
    rule=["score i is the dot product of the query with row i of the inputs, not scaled",
          "any number of tokens, including one"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("tokens", "features"),
    [pytest.param(8, 5, id="eight"), pytest.param(2, 2, id="two"), pytest.param(1, 4, id="one")],
)
def test_attention_scores_of_tokens(student: Student, tokens: int, features: int) -> None:
    """A query that is none of the inputs gets one score for each input."""
    expect_solution(
        f"the scores for T = {tokens}",
        student.attention_scores(numbers(features, seed=1), numbers(tokens, features)),
        shape="(T,)",
        idea="each is the dot product of the query with one row of the inputs",
    )


# -- normalize_by_sum ------------------------------------------------------------------------------------------------

SHARE = "each score is divided by the sum of all scores"


@pytest.mark.example("normalize_by_sum")
def test_normalize_by_sum(student: Student) -> None:
    """In the worked example, each score of the second token is divided by the sum of its scores."""
    expected = worked_example("simple.normalized_by_sum_token_2")
    expect_values("the result", student.normalize_by_sum(SCORES), expected, shape="(T,)", idea=SHARE)


@pytest.mark.example(
    "normalize_by_sum",
    rule=["each result is the score divided by the sum of all scores, also for negative scores",
          "any number of scores, including one"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([3.0, -1.0, 2.0], [0.75, -0.25, 0.5], id="mixed"),
        pytest.param([-1.0, -2.0, -5.0, -2.0], [0.1, 0.2, 0.5, 0.2], id="negative"),
        pytest.param([-4.0], [1.0], id="one"),
    ],
)
def test_normalize_by_sum_of_scores(student: Student, scores: list[float], expected: list[float]) -> None:
    """Positive and negative scores are divided by their sum, so the results sum to one."""
    result = student.normalize_by_sum(torch.tensor(scores))
    expect_values(f"the result for {scores}", result, torch.tensor(expected), shape="(T,)", idea=SHARE)


# -- softmax_naive and softmax_stable --------------------------------------------------------------------------------

SOFTMAX = "exponentials divided by their sum along dim, so that each list of scores sums to one"
EXPONENTIALS = "each result is the exponential of its entry, divided by the sum of the exponentials along `dim`"
LAST_DIM = "without `dim`, the sum runs along the last dimension"
ANY_DIM = "dim may be any dimension, counted from the front or (if negative) from the back"


def expect_softmax(softmax: RemoteCallable) -> None:
    expect_values("the result for the worked example", softmax(SCORES), WEIGHTS, shape="(T,)", idea=SOFTMAX)
    for shape in ((3, 4), (2, 2), (5, 1)):
        for dim in (0, 1):
            name = f"the result for x of shape {shape} and dim={dim}"
            expect_solution(name, softmax(numbers(*shape), dim), shape="of x", idea=SOFTMAX)


def expect_last_dimension(softmax: RemoteCallable) -> None:
    for shape in ((3,), (2, 5), (2, 3, 4)):
        name = f"the result for x of shape {shape} without dim"
        expect_solution(
            name, softmax(numbers(*shape)), shape="of x", idea="each list along the last dimension sums to 1"
        )


def expect_any_dimension(softmax: RemoteCallable) -> None:
    for dim in (0, 1, 2, -1, -2, -3):
        result = softmax(numbers(2, 4, 3), dim)
        expect_solution(f"the result for x of shape (2, 4, 3) and dim={dim}", result, shape="of x", idea=SOFTMAX)


@pytest.mark.example("softmax_naive", rule=EXPONENTIALS)
def test_softmax_naive(student: Student) -> None:
    """Softmax turns scores, one list or a table of them, into weights that sum to one along dim."""
    expect_softmax(student.softmax_naive)
    remark_ready_made(READY_MADE_SOFTMAXES, student.softmax_naive, SCORES)


@pytest.mark.example("softmax_stable", rule=EXPONENTIALS)
def test_softmax_stable(student: Student) -> None:
    """Softmax turns scores, one list or a table of them, into weights that sum to one along dim."""
    expect_softmax(student.softmax_stable)
    remark_ready_made(READY_MADE_SOFTMAXES, student.softmax_stable, SCORES)


@pytest.mark.example("softmax_naive", rule=LAST_DIM)
def test_softmax_naive_without_dim(student: Student) -> None:
    """Without dim, each list of scores lies along the last dimension."""
    expect_last_dimension(student.softmax_naive)


@pytest.mark.example("softmax_stable", rule=LAST_DIM)
def test_softmax_stable_without_dim(student: Student) -> None:
    """Without dim, each list of scores lies along the last dimension."""
    expect_last_dimension(student.softmax_stable)


@pytest.mark.example("softmax_naive", rule=ANY_DIM)
def test_softmax_naive_along_any_dimension(student: Student) -> None:
    """In three dimensions, dim counts from 0 to 2 or from -3 to -1."""
    expect_any_dimension(student.softmax_naive)


@pytest.mark.example("softmax_stable", rule=ANY_DIM)
def test_softmax_stable_along_any_dimension(student: Student) -> None:
    """In three dimensions, dim counts from 0 to 2 or from -3 to -1."""
    expect_any_dimension(student.softmax_stable)


@pytest.mark.example("softmax_stable", rule="x may be non-contiguous, for example the result of a transpose")
def test_softmax_stable_of_a_transposed_x(student: Student) -> None:
    """A transposed x has the same numbers in another order in memory, and gives the same results."""
    expect_any_layout(student.softmax_stable, x=numbers(3, 4))
    expect_any_layout(student.softmax_stable, x=numbers(2, 3, 4))


@pytest.mark.example("softmax_stable", rule="entries of ±10,000, in any combination, give finite and correct results")
@pytest.mark.parametrize(
    ("x", "expected"),
    [
        pytest.param([10_000.0, 10_000.0, 9_000.0, 10_000.0], [1 / 3, 1 / 3, 0, 1 / 3], id="large"),
        pytest.param([-10_000.0, -10_000.0], [0.5, 0.5], id="small"),
        pytest.param([-10_000.0, 10_000.0, 0.0], [0, 1, 0], id="mixed"),
        pytest.param([[10_000.0, 9_000.0], [-10_000.0, -10_000.0]], [[1, 0], [0.5, 0.5]], id="rows_far_apart"),
    ],
)
def test_softmax_stable_of_entries_that_are(student: Student, x: Any, expected: Any) -> None:
    """Each list has its own maximum. Without it, the exponentials are neither infinite nor all zero."""
    idea = "subtract the maximum of each list along dim: then no exponential is larger than 1"
    result = student.softmax_stable(torch.tensor(x))
    expect_values(f"the result for {x}", result, torch.tensor(expected, dtype=torch.float32), shape="of x", idea=idea)


@pytest.mark.example("softmax_stable", rule=EXPONENTIALS)
@pytest.mark.parametrize("shift", [pytest.param(10_000, id="large"), pytest.param(-10_000, id="small")])
def test_softmax_stable_of_shifted_scores(student: Student, shift: int) -> None:
    """If you add the same number to all scores, no weight changes, even if the number is very large."""
    expect_values(
        f"the result for scores moved by {shift}",
        student.softmax_stable(SCORES.double() + shift),
        WEIGHTS,
        shape="(T,)",
        idea="if you add the same number to all scores, nothing changes, so you can subtract the maximum",
    )


@pytest.mark.example(
    "softmax_stable",
    rule="an entry of -inf beside finite ones gives 0, and the other results are the same as without it",
)
@pytest.mark.parametrize(
    "others", [pytest.param(numbers(5), id="five"), pytest.param(numbers(1) - 20_000, id="one_that_is_very_low")]
)
def test_softmax_stable_of_minus_infinity_beside(student: Student, others: torch.Tensor) -> None:
    """A score of -inf has the weight 0, and the other weights are the same as without it."""
    without = expect_tensor(student.softmax_stable(others), others.shape)
    expect_values(
        "the result for x with -inf at the end",
        student.softmax_stable(torch.cat([others, torch.tensor([-torch.inf])])),
        torch.cat([without, torch.zeros(1)]),
        shape="(T,)",
        idea="the exponential of -inf is 0, so the other weights are the same as without it",
    )


# -- context_vector --------------------------------------------------------------------------------------------------

MIXTURE = "it is the sum of the rows of the inputs, each times its weight"


@pytest.mark.example("context_vector")
def test_context_vector(student: Student) -> None:
    """In the worked example, the context of the second token is the sum of the inputs, each times its weight."""
    expected = worked_example("simple.context_vectors")[1]
    expect_values("the context", student.context_vector(WEIGHTS, INPUTS), expected, shape="(d,)", idea=MIXTURE)


@pytest.mark.example(
    "context_vector",
    rule=["the result is the sum of the rows of the inputs, each row i times weight i",
          "any number of tokens, including one"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("tokens", "features"),
    [
        pytest.param(4, 5, id="four"),
        pytest.param(2, 2, id="two"),
        pytest.param(1, 3, id="one"),
        pytest.param(7, 1, id="seven_of_one_number"),
    ],
)
def test_context_vector_of_tokens(student: Student, tokens: int, features: int) -> None:
    """The context has one number for each feature, for any number of tokens."""
    result = student.context_vector(numbers(tokens, seed=1).softmax(0), numbers(tokens, features))
    expect_solution(f"the context for T = {tokens}", result, shape="(d,)", idea=MIXTURE)


@pytest.mark.example(
    "context_vector",
    rule="the weights are used without any change, also if they are negative or do not sum to one",
)
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param([2.0, 0.0, 1.0], [2.0, 3.0], id="large"),
        pytest.param([0.5, -1.0, 0.0], [0.5, -1.5], id="negative"),
    ],
)
def test_context_vector_of_weights_that_are(student: Student, weights: list[float], expected: list[float]) -> None:
    """Any weights count as they are."""
    inputs = torch.tensor([[1.0, 0.5], [0.0, 1.75], [0.0, 2.0]])
    result = student.context_vector(torch.tensor(weights), inputs)
    expect_values(f"the context for {weights}", result, torch.tensor(expected), shape="(d,)", idea=MIXTURE)


# -- simple_self_attention -------------------------------------------------------------------------------------------


def contexts_and_weights(student: Student, inputs: torch.Tensor) -> Any:
    shapes = [tuple(inputs.shape), (len(inputs), len(inputs))]
    return expect_results(
        "simple_self_attention", student.simple_self_attention(inputs), ("contexts", "weights"), shapes
    )


@pytest.mark.example(
    "simple_self_attention",
    rule=["the scores are the dot products of every token with every token, not scaled and not masked",
          "row i of the weights is the softmax of token i's scores over all tokens, so each row sums to one"],
)  # fmt: skip
def test_weights_of_simple_self_attention(student: Student) -> None:
    """The weights of all tokens: softmax of the scores, along each row."""
    idea = "softmax of inputs · inputsᵀ along each row"
    _, weights = contexts_and_weights(student, INPUTS)
    expect_values("weights", weights, worked_example("simple.weights"), shape="(T, T)", idea=idea)
    _, weights = contexts_and_weights(student, numbers(3, 4))
    expect_solution("weights for T = 3", weights, shape="(T, T)", idea=idea)


@pytest.mark.example(
    "simple_self_attention",
    rule=["context i is the sum of the inputs, each times its weight in row i",
          "the result is the pair (contexts, weights)"],
)  # fmt: skip
def test_contexts_of_simple_self_attention(student: Student) -> None:
    """The contexts of all tokens: the inputs mixed by each row of weights."""
    idea = "row i is the sum of the inputs, each times its weight in row i"
    contexts, _ = contexts_and_weights(student, INPUTS)
    expect_values("contexts", contexts, worked_example("simple.context_vectors"), shape="(T, d)", idea=idea)
    contexts, _ = contexts_and_weights(student, numbers(3, 4))
    expect_solution("contexts for T = 3", contexts, shape="(T, d)", idea=idea)


@pytest.mark.example("simple_self_attention", rule="any number of tokens, including one")
@pytest.mark.parametrize("tokens", [pytest.param(5, id="five"), pytest.param(2, id="two"), pytest.param(1, id="one")])
def test_simple_self_attention_of_tokens(student: Student, tokens: int) -> None:
    """Any number of tokens attend. A single token gives all its weight to itself."""
    contexts, weights = contexts_and_weights(student, numbers(tokens, 2))
    idea = "each token has a row of weights, and a context as wide as a token"
    expect_solution(f"weights for T = {tokens}", weights, shape="(T, T)", idea=idea)
    expect_solution(f"contexts for T = {tokens}", contexts, shape="(T, d)", idea=idea)


# -- properties of several exercises, from contracts.json ------------------------------------------------------------

test_contract = contract_tests(__file__)
