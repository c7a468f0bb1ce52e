"""The suite of unit 1: junk earns nothing, a mistake costs only the criteria about it, and substitutes work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from units import SUITES, defined_in, nothing

from grader.testing.student import InProcessBackend

SUITE = SUITES["simple_attention"]
SOFTMAXES = ("softmax_naive", "softmax_stable")


def zeros(x: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=x.dtype) + 0 * x.sum()  # gradients flow, and are zero


def rolled(x: torch.Tensor) -> torch.Tensor:
    """Numbers that depend only on the length of x, in an order that would pass if all inputs had this order."""
    return (torch.arange(len(x)) + len(x) // 2) % len(x) + zeros(x, len(x))


def middle(x: torch.Tensor) -> torch.Tensor:
    """All zero except in the middle, for any x."""
    return (torch.arange(len(x)) == len(x) // 2) + zeros(x, len(x))


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("dot_product", lambda *_: 0),
    ("dot_product", lambda a, _: a),
    ("attention_scores", lambda query, inputs: zeros(query, len(inputs))),
    ("attention_scores", lambda _, inputs: inputs.sum(-1)),
    ("attention_scores", lambda query, inputs: torch.arange(len(inputs)) * query.sum()),
    ("attention_scores", lambda _, inputs: rolled(inputs)),
    ("normalize_by_sum", lambda scores: scores),
    ("normalize_by_sum", lambda scores: zeros(scores, len(scores))),
    ("normalize_by_sum", lambda scores: zeros(scores, len(scores)) + 1 / len(scores)),
    ("normalize_by_sum", middle),
    *((name, lambda x, **_: middle(x)) for name in SOFTMAXES),
    *((name, lambda x, **_: x) for name in SOFTMAXES),
    *((name, lambda x, **_: zeros(x, *x.shape)) for name in SOFTMAXES),
    *((name, lambda x, dim=-1: torch.softmax(0 * x, dim)) for name in SOFTMAXES),
    ("context_vector", lambda _, inputs: inputs[0]),
    ("context_vector", lambda weights, inputs: zeros(weights, inputs.shape[1])),
    ("context_vector", lambda _, inputs: inputs.mean(0)),
    ("simple_self_attention", lambda inputs: (inputs, zeros(inputs, len(inputs), len(inputs)))),
    (
        "simple_self_attention",
        lambda inputs: (inputs, zeros(inputs, len(inputs), len(inputs)) + torch.eye(len(inputs))),
    ),
    ("simple_self_attention", lambda inputs: (zeros(inputs, *inputs.shape), torch.softmax(0 * inputs @ inputs.T, -1))),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


def test_a_softmax_that_overflows_loses_only_the_criterion_about_large_entries() -> None:
    assert SUITE.missed_by(SUITE.mistake("maximum_not_subtracted")) == {"large_entries_stay_finite"}


@pytest.mark.parametrize(
    "name", ["scaled_already", "averaged_over_the_features", "weights_instead_of_scores", "normalised_already"]
)
def test_scores_of_another_size_lose_only_the_points_about_it(name: str) -> None:
    assert SUITE.kept_by(name) == {
        "any_number_of_inputs_is_scored",
        "scores_of_either_dtype",
        "scoring_leaves_its_arguments_alone",
    }


@pytest.mark.parametrize("name", ["exponential_forgotten", "powers_of_two"])
def test_a_softmax_of_other_exponentials_loses_only_the_points_about_them(name: str) -> None:
    assert SUITE.kept_by(name) == {"softmax_of_either_dtype", "softmax_leaves_its_argument_alone"}


def test_a_dim_that_is_ignored_costs_one_point() -> None:
    assert len(SUITE.missed_by(SUITE.mistake("naive_dim_ignored"))) == 1
    assert len(SUITE.missed_by(SUITE.mistake("stable_dim_ignored"))) == 1


def test_scaled_scores_lose_only_the_points_about_the_scores() -> None:
    assert SUITE.kept_by("scaled_by_the_width") == {
        "each_token_shares_its_attention_among_all",
        "contexts_first_then_weights",
        "any_number_of_tokens_attend",
        "self_attention_of_either_dtype",
        "self_attention_leaves_the_inputs_alone",
    }


@pytest.mark.parametrize("name", ["softmax_along_the_columns", "softmax_of_everything"])
def test_softmax_along_a_wrong_dimension_shows_although_the_scores_are_symmetric(name: str) -> None:
    assert SUITE.kept_by(name) == {"scores_are_plain_dot_products"}


@pytest.mark.parametrize(
    ("style", "remarked"), [("ready_made", {*SOFTMAXES}), ("einsum", {"dot_product"}), ("by_hand", set())]
)
def test_a_ready_made_function_earns_a_remark_and_costs_nothing(style: str, remarked: set[str]) -> None:
    [path] = [path for path in SUITE.accepted_answers if path.stem == style]
    outcomes = SUITE.outcomes(defined_in(path, SUITE.unit))
    assert all(outcome.passed for outcome in outcomes.values())
    assert {criterion.exercise for criterion in SUITE.criteria if outcomes[criterion.name].remarks} == remarked


@pytest.mark.parametrize("wrong", ["dot_product", "attention_scores", "normalize_by_sum", "context_vector"])
def test_answers_that_call_a_wrong_one_earn_all_their_points_with_its_substitute(wrong: str) -> None:
    outcomes = SUITE.on_substitutes("one_on_another", wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {found.substitutes for found in outcomes.values()} == {(), (wrong,)}


@pytest.mark.parametrize("wrong", SOFTMAXES)
def test_self_attention_that_calls_a_wrong_softmax_earns_all_its_points_with_a_substitute(wrong: str) -> None:
    found = SUITE.on_substitutes("one_on_another", wrong, doubtful=SOFTMAXES)
    outcomes = {criterion.name: found[criterion.name] for criterion in SUITE.of("simple_self_attention")}
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {found.substitutes for found in outcomes.values()} == {("softmax_stable",)}


@pytest.mark.parametrize(("exercise", "other"), [SOFTMAXES, SOFTMAXES[::-1]])
def test_a_softmax_that_only_calls_the_other_one_waits_for_it(exercise: str, other: str) -> None:
    names: dict[str, Any] = {other: nothing}
    exec(f"def {exercise}(x, dim=-1): return {other}(x, dim)", names)
    beside = InProcessBackend(SUITE.unit, names)
    outcomes = [criterion.run_again(beside, criterion.run(beside), [other]) for criterion in SUITE.of(exercise)]
    assert {found.substitutes for found in outcomes} == {(other,)}
    assert {found.kind for found in outcomes} == {"waiting"}
