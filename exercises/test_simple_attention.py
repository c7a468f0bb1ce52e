"""The worked example of unit 1: six tokens of three numbers, with nothing to train. Run `pytest` in this folder.

The grader goes by the rules in the docstrings, with other sizes and other numbers than these.
"""

from __future__ import annotations

from typing import Any

import pytest
import simple_attention
import torch
from checking import call, expect_error, expect_values, fail, worked_example

INPUTS = worked_example("inputs")
SCORES = worked_example("simple.scores_of_token_2")
WEIGHTS = worked_example("simple.weights")[1]
SOFTMAX = "exponentials over their sum along dim, so that each list of scores sums to one"


def expect_number(yours: Any, expected: float, idea: str) -> None:
    """Hold a result to one number, plain or in a tensor."""
    try:
        number = float(yours)
    except (TypeError, ValueError, RuntimeError):
        number = None
    if number is None:  # out here, where pytest does not tell of the error too
        fail(f"the result should be one number, yours is of type {type(yours).__name__}: {idea}.")
    if not abs(number - expected) < 1e-4:
        fail(f"the result should be {expected:.4f}, yours is {number:.4f}: {idea}.")


@pytest.mark.parametrize(
    ("example", "a", "b"),
    [
        ("dot_product.plain", [0.4, 0.1, 0.8], [0.5, 0.8, 0.6]),
        ("dot_product.aligned", (2, 3), (4, 6)),
        ("dot_product.opposed", torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])),
    ],
)
def test_dot_product(example: str, a: Any, b: Any) -> None:
    result = call(simple_attention.dot_product, a, b)
    expect_number(result, worked_example(example).item(), "multiply what stands at the same place, and add up")


def test_dot_product_of_nothing() -> None:
    expect_number(call(simple_attention.dot_product, [], []), 0, "a sum of nothing is 0")


@pytest.mark.parametrize(("a", "b"), [([1, 2, 3], [4, 5]), ([1, 2], [3, 4, 5])])
def test_dot_product_refuses_different_lengths(a: list[int], b: list[int]) -> None:
    expect_error(simple_attention.dot_product, a, b, idea=f"one sequence has {len(a)} numbers and the other {len(b)}")


def test_attention_scores() -> None:
    expect_values(
        "the scores",
        call(simple_attention.attention_scores, INPUTS[1], INPUTS),
        SCORES,
        shape="(T,)",
        idea="each is the dot product of the query with one row of the inputs",
    )


def test_normalize_by_sum() -> None:
    expect_values(
        "the result",
        call(simple_attention.normalize_by_sum, SCORES),
        worked_example("simple.normalized_by_sum_token_2"),
        shape="(T,)",
        idea="each score is divided by the sum of all",
    )


@pytest.mark.parametrize("name", ["softmax_naive", "softmax_stable"])
def test_softmax_of_one_list_of_scores(name: str) -> None:
    weights = call(getattr(simple_attention, name), SCORES)
    expect_values("the result", weights, WEIGHTS, shape="(T,)", idea=SOFTMAX)


@pytest.mark.parametrize("name", ["softmax_naive", "softmax_stable"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_along_a_dimension(name: str, dim: int) -> None:
    # A table with two lists of scores, which lie in its rows or, transposed, in its columns.
    scores, weights = torch.stack([SCORES, SCORES.flip(0)]), torch.stack([WEIGHTS, WEIGHTS.flip(0)])
    if dim == 0:
        scores, weights = scores.T, weights.T
    result = call(getattr(simple_attention, name), scores, dim)
    expect_values(f"the result for dim={dim}", result, weights, shape="of x", idea=SOFTMAX)


@pytest.mark.parametrize("shift", [10_000, -10_000])
def test_softmax_stable_of_large_entries(shift: int) -> None:
    expect_values(
        f"the result for scores moved by {shift}",
        call(simple_attention.softmax_stable, SCORES.double() + shift),
        WEIGHTS,
        shape="(T,)",
        idea="the same number added to all scores changes nothing, and the maximum can be subtracted",
    )


def test_softmax_stable_of_rows_that_lie_far_apart() -> None:
    expect_values(
        "the result for a row near 10,000 above a row near -10,000",
        call(simple_attention.softmax_stable, torch.stack([SCORES.double() + 10_000, SCORES.double() - 10_000])),
        torch.stack([WEIGHTS, WEIGHTS]),
        shape="of x",
        idea="each list of scores has a maximum of its own, along dim",
    )


def test_softmax_stable_of_a_hidden_entry() -> None:
    hidden = torch.tensor([-torch.inf])
    expect_values(
        "the result for scores with -inf at the end",
        call(simple_attention.softmax_stable, torch.cat([SCORES, hidden])),
        torch.cat([WEIGHTS, torch.zeros(1)]),
        shape="(T,)",
        idea="the exponential of -inf is 0, so the others share as if it were not there",
    )


def test_context_vector() -> None:
    expect_values(
        "the context",
        call(simple_attention.context_vector, WEIGHTS, INPUTS),
        worked_example("simple.context_vectors")[1],
        shape="(d,)",
        idea="it is the sum of the rows of the inputs, each times its weight",
    )


def test_weights_of_simple_self_attention() -> None:
    _, weights = call(simple_attention.simple_self_attention, INPUTS, gives=("contexts", "weights"))
    expect_values(
        "weights",
        weights,
        worked_example("simple.weights"),
        shape="(T, T)",
        idea="softmax of inputs @ inputs.T along each row",
    )


def test_contexts_of_simple_self_attention() -> None:
    contexts, _ = call(simple_attention.simple_self_attention, INPUTS, gives=("contexts", "weights"))
    expect_values(
        "contexts",
        contexts,
        worked_example("simple.context_vectors"),
        shape="(T, d)",
        idea="row i is the sum of the inputs, each times its weight in row i",
    )
