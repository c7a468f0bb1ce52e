"""The worked example of unit 1: six tokens of three numbers, with nothing to train. Run `pytest` in this folder.

`student` is your file: `student.dot_product(a, b)` is what your dot_product gives. The grader uses the
rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from checking import described, expect_error, expect_results, expect_values, fail, worked_example

from grader.testing.student import Student

INPUTS = worked_example("inputs")
SCORES = worked_example("simple.scores_of_token_2")
WEIGHTS = worked_example("simple.weights")[1]
SOFTMAX = "exponentials divided by their sum along dim, so that each list of scores sums to one"


def expect_number(yours: Any, expected: float, idea: str) -> None:
    """Hold a result to one number, plain or in a tensor."""
    try:
        number = float(yours)
    except (TypeError, ValueError, RuntimeError):
        fail(f"the result should be one number, yours is {described(yours)}: {idea}.")
    if not abs(number - expected) < 1e-4:
        fail(f"the result should be {expected:.4f}, yours is {number:.4f}: {idea}.")


@pytest.mark.example("dot_product")
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
    idea = "multiply the numbers at the same position, and add up the products"
    expect_number(student.dot_product(a, b), worked_example(example).item(), idea)


@pytest.mark.example("dot_product")
def test_dot_product_of_nothing(student: Student) -> None:
    """The dot product of two empty lists is 0."""
    expect_number(student.dot_product([], []), 0, "a sum without terms is 0")


@pytest.mark.example("dot_product")
@pytest.mark.parametrize(
    ("a", "b"), [pytest.param([1, 2, 3], [4, 5], id="longer"), pytest.param([1, 2], [3, 4, 5], id="shorter")]
)
def test_dot_product_refuses_different_lengths(student: Student, a: list[int], b: list[int]) -> None:
    """Two sequences of different lengths have no dot product: a ValueError."""
    idea = f"one sequence has {len(a)} numbers and the other {len(b)}"
    expect_error("dot_product", student.dot_product, a, b, idea=idea)


@pytest.mark.example("attention_scores")
def test_attention_scores(student: Student) -> None:
    """The scores of the second token are its dot products with every token."""
    expect_values(
        "the scores",
        student.attention_scores(INPUTS[1], INPUTS),
        SCORES,
        shape="(T,)",
        idea="each is the dot product of the query with one row of the inputs",
    )


@pytest.mark.example("normalize_by_sum")
def test_normalize_by_sum(student: Student) -> None:
    """The scores of the second token, each divided by the sum of all scores."""
    expect_values(
        "the result",
        student.normalize_by_sum(SCORES),
        worked_example("simple.normalized_by_sum_token_2"),
        shape="(T,)",
        idea="each score is divided by the sum of all scores",
    )


@pytest.mark.example("softmax_naive")
def test_softmax_naive_of_one_list_of_scores(student: Student) -> None:
    """Softmax turns the scores of the second token into weights."""
    expect_values("the result", student.softmax_naive(SCORES), WEIGHTS, shape="(T,)", idea=SOFTMAX)


@pytest.mark.example("softmax_stable")
def test_softmax_stable_of_one_list_of_scores(student: Student) -> None:
    """Softmax turns the scores of the second token into weights."""
    expect_values("the result", student.softmax_stable(SCORES), WEIGHTS, shape="(T,)", idea=SOFTMAX)


def expect_softmax_along(softmax: Any, dim: int) -> None:
    # A table with two lists of scores, which lie in its rows or, transposed, in its columns.
    scores, weights = torch.stack([SCORES, SCORES.flip(0)]), torch.stack([WEIGHTS, WEIGHTS.flip(0)])
    if dim == 0:
        scores, weights = scores.T, weights.T
    expect_values(f"the result for dim={dim}", softmax(scores, dim), weights, shape="of x", idea=SOFTMAX)


@pytest.mark.example("softmax_naive")
@pytest.mark.parametrize("dim", [pytest.param(0, id="0"), pytest.param(1, id="1"), pytest.param(-1, id="last")])
def test_softmax_naive_along_dimension(student: Student, dim: int) -> None:
    """Softmax turns a table of scores into weights that sum to one along dim."""
    expect_softmax_along(student.softmax_naive, dim)


@pytest.mark.example("softmax_stable")
@pytest.mark.parametrize("dim", [pytest.param(0, id="0"), pytest.param(1, id="1"), pytest.param(-1, id="last")])
def test_softmax_stable_along_dimension(student: Student, dim: int) -> None:
    """Softmax turns a table of scores into weights that sum to one along dim."""
    expect_softmax_along(student.softmax_stable, dim)


@pytest.mark.example("softmax_stable")
@pytest.mark.parametrize("shift", [pytest.param(10_000, id="large"), pytest.param(-10_000, id="small")])
def test_softmax_stable_of_entries_that_are(student: Student, shift: int) -> None:
    """If you add the same number to all scores, no weight changes, even if the number is very large."""
    expect_values(
        f"the result for scores moved by {shift}",
        student.softmax_stable(SCORES.double() + shift),
        WEIGHTS,
        shape="(T,)",
        idea="if you add the same number to all scores, nothing changes, so you can subtract the maximum",
    )


@pytest.mark.example("softmax_stable")
def test_softmax_stable_of_rows_that_lie_far_apart(student: Student) -> None:
    """Each list of scores has its own maximum."""
    expect_values(
        "the result for two rows, one near 10,000 and one near -10,000",
        student.softmax_stable(torch.stack([SCORES.double() + 10_000, SCORES.double() - 10_000])),
        torch.stack([WEIGHTS, WEIGHTS]),
        shape="of x",
        idea="each list of scores has its own maximum, along dim",
    )


@pytest.mark.example("softmax_stable")
def test_softmax_stable_of_a_hidden_entry(student: Student) -> None:
    """A score of -inf has the weight 0, and the other weights are the same as without it."""
    expect_values(
        "the result for scores with -inf at the end",
        student.softmax_stable(torch.cat([SCORES, torch.tensor([-torch.inf])])),
        torch.cat([WEIGHTS, torch.zeros(1)]),
        shape="(T,)",
        idea="the exponential of -inf is 0, so the other weights are the same as without it",
    )


@pytest.mark.example("context_vector")
def test_context_vector(student: Student) -> None:
    """The context of the second token is the sum of the inputs, each times its weight."""
    expect_values(
        "the context",
        student.context_vector(WEIGHTS, INPUTS),
        worked_example("simple.context_vectors")[1],
        shape="(d,)",
        idea="it is the sum of the rows of the inputs, each times its weight",
    )


def contexts_and_weights(student: Student) -> Any:
    yours = student.simple_self_attention(INPUTS)
    return expect_results("simple_self_attention", yours, ("contexts", "weights"))


@pytest.mark.example("simple_self_attention")
def test_weights_of_simple_self_attention(student: Student) -> None:
    """The weights of all tokens: softmax of the scores, along each row."""
    expect_values(
        "weights",
        contexts_and_weights(student)[1],
        worked_example("simple.weights"),
        shape="(T, T)",
        idea="softmax of inputs @ inputs.T along each row",
    )


@pytest.mark.example("simple_self_attention")
def test_contexts_of_simple_self_attention(student: Student) -> None:
    """The contexts of all tokens: the inputs mixed by each row of weights."""
    expect_values(
        "contexts",
        contexts_and_weights(student)[0],
        worked_example("simple.context_vectors"),
        shape="(T, d)",
        idea="row i is the sum of the inputs, each times its weight in row i",
    )
