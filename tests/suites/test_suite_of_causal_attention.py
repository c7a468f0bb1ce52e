"""The suite of unit 3: junk earns almost nothing, and a mistake costs only the criteria about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from units import SUITES

SUITE = SUITES["causal_attention"]


# -- junk --------------------------------------------------------------------------------------------------------


def equal_shares(x: Tensor, *_: Any) -> Tensor:
    return torch.softmax(0 * x, -1)  # gradients flow, and are zero


def equal_shares_of_the_past(x: Tensor, *_: Any) -> Tensor:
    return torch.softmax((0 * x).masked_fill(torch.ones_like(x).triu(1) == 1, -torch.inf), -1)


def identity(x: Tensor, *_: Any) -> Tensor:
    return 0 * x + torch.eye(len(x), dtype=x.dtype)


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("causal_mask", lambda count: torch.zeros(count, count, dtype=torch.bool)),
    ("causal_mask", lambda count: torch.ones(count, count, dtype=torch.bool)),
    ("causal_mask", lambda count: torch.eye(count, dtype=torch.bool)),
    ("causal_mask", lambda count: torch.rand(count, count) > 0.5),
    ("causal_mask", lambda count: count),
    *(
        (exercise, junk)
        for exercise in ("mask_then_renormalize", "mask_then_softmax")
        for junk in (lambda x, *_: x, lambda x, *_: 0 * x, equal_shares, equal_shares_of_the_past, identity)
    ),
    ("attention_dropout", lambda weights, *_, **__: weights),
    ("attention_dropout", lambda weights, *_, **__: 0 * weights),
    ("attention_dropout", lambda weights, p, **__: weights / (1 - p)),
    ("attention_dropout", lambda weights, *_, **__: torch.rand(weights.shape) + 0 * weights),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


def test_a_random_mask_instead_of_weights_earns_only_the_points_for_randomness() -> None:
    def attention_dropout(weights: Tensor, *_: Any, **__: Any) -> Tensor:
        return torch.bernoulli(torch.full_like(weights, 0.5))

    assert SUITE.passed({"attention_dropout": attention_dropout}, "attention_dropout") == {
        "each_weight_is_dropped_by_itself",
        "weights_of_any_shape",
        "without_a_generator_the_global_one_is_used",
    }


class Junk(nn.Module):
    """The right answer. Each class below changes one part of it."""

    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False) -> None:  # noqa: ARG002
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def weigh(self, queries: Tensor, keys: Tensor) -> Tensor:
        scores = queries @ keys.mT  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        masked = scores.masked_fill(torch.ones_like(scores).triu(1) == 1, -torch.inf)
        return torch.softmax(masked / keys.shape[-1] ** 0.5, dim=-1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.dropout(self.weigh(self.W_query(inputs), self.W_key(inputs))) @ self.W_value(inputs)


class Nothing(Junk):
    def forward(self, inputs: Tensor) -> Tensor:
        return 0 * self.W_query(inputs) * self.W_key(inputs) * self.W_value(inputs)


class InputsReturned(Junk):
    def forward(self, inputs: Tensor) -> Tensor:
        return inputs


class OwnValues(Junk):
    def forward(self, inputs: Tensor) -> Tensor:
        return self.dropout(self.W_value(inputs))


class PastAveraged(Junk):
    def weigh(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().weigh(0 * queries, keys)


class TokenBefore(Junk):
    def weigh(self, queries: Tensor, keys: Tensor) -> Tensor:
        scores = 0 * queries @ keys.mT  # (B, T, d_out) @ (B, d_out, T) -> (B, T, T)
        return scores + torch.ones_like(scores).tril(-1).triu(-1)


class QueriesIgnored(Junk):
    def weigh(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().weigh(torch.ones_like(queries), keys)


class KeysIgnored(Junk):
    def weigh(self, queries: Tensor, keys: Tensor) -> Tensor:
        return super().weigh(queries, torch.ones_like(keys))


@pytest.mark.parametrize(
    ("junk", "true_of_it"),
    [
        *((junk, set()) for junk in (Nothing, InputsReturned, OwnValues, TokenBefore)),
        # Of these it is true, though they compare nothing.
        *((junk, {"no_output_depends_on_a_later_token"}) for junk in (PastAveraged, QueriesIgnored, KeysIgnored)),
    ],
)
def test_a_module_that_compares_no_query_with_a_key_earns_only_what_is_declared(
    junk: type, true_of_it: set[str]
) -> None:
    assert SUITE.passed({"CausalAttention": junk}, "CausalAttention") == {
        *true_of_it,
        "three_layers_from_d_in_to_d_out",
        "no_layer_has_a_bias_by_default",
        "every_layer_has_a_bias_on_demand",
    }


# -- mistakes ----------------------------------------------------------------------------------------------------


def test_masking_after_softmax_fails_only_if_the_future_is_far_above() -> None:
    assert SUITE.missed_by(SUITE.mistake("renormalized_after_softmax")) == {"a_future_far_above_the_rest"}


def test_weights_that_are_not_renormalized_lose_only_the_points_about_their_sums() -> None:
    assert SUITE.missed_by(SUITE.mistake("not_renormalized")) == {"rows_sum_to_one_again", "gradients_of_renormalizing"}


SCALES = ("half_instead_of_root", "twentieth_root", "scaling_forgotten", "scaled_by_number_of_tokens")
WIDTHS = ("divided_by_d_k_itself", "multiplied_by_root", "scaled_for_the_worked_example")


@pytest.mark.parametrize("name", SCALES + WIDTHS)
def test_a_wrong_scale_costs_only_the_weights_and_their_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "scores_left_are_divided_by_the_square_root_of_d_k",
        "gradients_of_masked_softmax",
    }


MODULE_WIDTHS = ("divided_by_width_itself", "scaled_for_the_worked_example")


@pytest.mark.parametrize(
    "name",
    [*(f"{name}_in_module" for name in SCALES + MODULE_WIDTHS), "scaled_by_d_in", "scaled_by_context_length"],
)
def test_a_wrong_scale_in_the_module_costs_only_the_outputs_and_their_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "scores_are_divided_by_the_square_root_of_d_out",
        "output_of_causal_attention",
        "the_biases_count",
        "gradients_of_causal_attention",
    }


def test_a_visible_future_loses_only_the_points_about_it() -> None:
    assert SUITE.missed_by(SUITE.mistake("masked_scores_thrown_away_in_module")) == {
        "no_output_depends_on_a_later_token",
        "later_tokens_have_no_weight_beside_very_low_scores",
        "output_of_causal_attention",
        "the_biases_count",
        "gradients_of_causal_attention",
    }


@pytest.mark.parametrize(
    "name", ["dropout_never_applied", "dropout_before_softmax", "dropout_before_the_mask", "dropout_on_the_values"]
)
def test_dropout_that_does_not_act_on_the_weights_costs_only_the_points_about_training(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "each_weight_is_dropped_by_itself_in_training",
        "dropout_acts_on_the_weights_after_softmax",
    }


def test_dropout_in_eval_mode_costs_only_the_point_about_eval_mode() -> None:
    assert SUITE.missed_by(SUITE.mistake("dropout_in_eval_mode_too")) == {"nothing_is_dropped_in_eval_mode"}


def test_kept_weights_that_are_not_scaled_cost_one_point() -> None:
    assert SUITE.missed_by(SUITE.mistake("survivors_not_scaled")) == {"survivors_are_divided_by_one_minus_p"}
    in_module = SUITE.missed_by(SUITE.mistake("survivors_not_scaled_in_module"))
    assert in_module == {"dropout_acts_on_the_weights_after_softmax"}


def test_an_ignored_generator_loses_only_the_points_about_generators() -> None:
    assert SUITE.missed_by(SUITE.mistake("generator_ignored")) == {
        "a_generator_is_drawn_from_and_advances",
        "the_same_generator_state_drops_the_same_weights",
    }


def test_a_module_of_the_wrong_shape_keeps_only_the_points_for_its_layers() -> None:
    assert SUITE.kept_by("weights_instead_of_contexts") == {
        "three_layers_from_d_in_to_d_out",
        "no_layer_has_a_bias_by_default",
        "every_layer_has_a_bias_on_demand",
    }


# -- answers that build on others --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["causal_mask", "mask_then_softmax"])
def test_answers_that_call_a_wrong_one_earn_all_their_points_with_its_substitute(wrong: str) -> None:
    outcomes = SUITE.on_substitutes("building_on", wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {found.substitutes for found in outcomes.values()} == {(), (wrong,)}


def test_a_module_that_calls_a_wrong_dropout_waits_for_it_only_in_training() -> None:
    outcomes = SUITE.on_substitutes("building_on", "attention_dropout")
    assert {name: found.kind for name, found in outcomes.items() if not found.passed} == {
        "each_weight_is_dropped_by_itself_in_training": "waiting",
        "dropout_acts_on_the_weights_after_softmax": "waiting",
        "nothing_is_dropped_without_dropout": "waiting",
    }
