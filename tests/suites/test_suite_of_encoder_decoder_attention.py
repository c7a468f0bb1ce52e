"""The suite of unit 8: junk earns almost nothing, and each mistake costs only the points that are about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from units import SUITES

SUITE = SUITES["encoder_decoder_attention"]
DECLARED = {"three_layers_of_two_widths", "no_layer_has_a_bias"}


# -- junk --------------------------------------------------------------------------------------------------------


def zero_of(*arguments: Tensor) -> Tensor:
    """Return zero, computed from all arguments: gradients flow, and are zero."""
    return torch.stack([0 * argument.sum() for argument in arguments]).sum()


def uniform_weights(state: Tensor, states: Tensor, *weights: Tensor) -> Tensor:
    """(T,): the same weight for every encoder state."""
    return zero_of(state, states, *weights) + states.new_full((len(states),), 1 / len(states))


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("rnn_hidden_states", lambda inputs, *_: inputs),
    ("rnn_hidden_states", lambda inputs, *others: zero_of(*others) + inputs.new_zeros(len(inputs), len(others[-1]))),
    ("rnn_hidden_states", lambda inputs, *others: zero_of(*others) + inputs.new_ones(len(inputs), len(others[-1]))),
    ("rnn_hidden_states", lambda inputs, *others: others[-1].expand(len(inputs), -1)),
    ("additive_scores", lambda *arguments: zero_of(*arguments) + torch.zeros_like(arguments[1][:, 0])),
    ("additive_scores", lambda *arguments: zero_of(*arguments) + torch.arange(len(arguments[1]))),
    # A result that depends only on the length would pass if the inputs always had the same order.
    ("additive_scores", lambda *given: zero_of(*given) + torch.arange(len(given[1])).roll(len(given[1]) // 2)),
    ("additive_scores", lambda _, states, *__: states.sum(-1)),
    ("bahdanau_context", lambda state, *_: state),
    ("bahdanau_context", lambda state, states, *weights: (state, uniform_weights(state, states, *weights))),
    ("bahdanau_context", lambda state, states, *weights: (states.mean(0), uniform_weights(state, states, *weights))),
    ("bahdanau_context", lambda *arguments: (arguments[1][-1], torch.eye(len(arguments[1]))[-1] + zero_of(*arguments))),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


class Cross(nn.Module):
    """The right answer; each wrong one overrides a part."""

    def __init__(self, d_query: int, d_context: int, d_out: int) -> None:
        super().__init__()
        self.W_query = nn.Linear(d_query, d_out, bias=False)
        self.W_key = nn.Linear(d_context, d_out, bias=False)
        self.W_value = nn.Linear(d_context, d_out, bias=False)

    def share(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Tensor | None) -> Tensor:
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5  # (B, T_q, d_out) @ (B, d_out, T_k) -> (B, T_q, T_k)
        hidden = scores if padding_mask is None else scores.masked_fill(padding_mask[:, None], -torch.inf)
        return self.share(hidden) @ values

    def forward(self, x: Tensor, context: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        return self.attend(self.W_query(x), self.W_key(context), self.W_value(context), padding_mask)


class Nothing(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        return 0 * super().forward(x, context, padding_mask)


class QueriesReturned(Cross):
    def forward(self, x: Tensor, context: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        return self.W_query(x) + 0 * super().forward(x, context, padding_mask)


class FirstOfTheContext(Cross):
    def share(self, scores: Tensor) -> Tensor:
        return 0 * super().share(scores) + torch.eye(scores.shape[-1], dtype=scores.dtype)[0]


class QueriesIgnored(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Tensor | None) -> Tensor:
        return super().attend(torch.ones_like(queries), keys, values, padding_mask)


class KeysIgnored(Cross):
    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, padding_mask: Tensor | None) -> Tensor:
        return super().attend(queries, torch.ones_like(keys), values, padding_mask)


@pytest.mark.parametrize("junk", [Nothing, QueriesReturned, FirstOfTheContext, QueriesIgnored, KeysIgnored])
def test_a_module_without_dot_products_earns_only_the_points_for_its_layers(junk: type) -> None:
    assert SUITE.passed({"CrossAttention": junk}, "CrossAttention") == DECLARED


# -- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bias_forgotten", "W_h_transposed", "state_before_not_used", "bias_after_tanh"])
def test_a_wrong_step_costs_only_the_states_and_their_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "each_state_is_made_from_its_token_and_the_state_before",
        "gradients_through_every_step",
    }


@pytest.mark.parametrize("name", ["starts_from_ones", "tanh_forgotten", "relu_for_tanh", "read_from_right_to_left"])
def test_a_wrong_first_state_or_activation_keeps_the_points_about_other_rules(name: str) -> None:
    assert SUITE.kept_by(name) == {
        "a_row_for_every_state_in_the_tokens_order",
        "states_of_any_number_of_tokens",
        "states_of_either_dtype",
        "reading_leaves_its_arguments_alone",
    }


@pytest.mark.parametrize(
    "name",
    [
        "additive_without_tanh",
        "tanh_of_each_side",
        "product_instead_of_sum",
        "matrices_exchanged",
        "decoder_state_ignored",
        "softmax_already_applied",
        "scaled_by_the_root_of_a",
    ],
)
def test_wrong_scores_cost_only_the_points_about_their_values(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {"scores_are_additive", "gradients_of_additive_scores"}


@pytest.mark.parametrize(
    "name",
    [
        "additive_scores_scaled_by_a",
        "additive_scores_scaled_by_h",
        "context_without_tanh",
        "matrices_exchanged_in_context",
        "decoder_state_ignored_in_context",
    ],
)
def test_wrong_scores_in_bahdanau_context_cost_only_the_points_about_values(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "additive_scores_are_behind_the_weights",
        "the_context_is_a_sum_of_encoder_states",
        "gradients_of_bahdanau_context",
    }


SCALES = (
    "scaling_forgotten",
    "half_instead_of_root",
    "twentieth_root",
    "divided_by_the_width_itself",
    "scaled_by_d_query",
    "scaled_by_d_context",
    "scaled_by_the_length_of_the_context",
)


@pytest.mark.parametrize("name", SCALES)
def test_a_wrong_scale_costs_only_the_scores_the_output_and_the_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "cross_scores_are_divided_by_the_square_root_of_d_out",
        "output_of_cross_attention",
        "gradients_of_cross_attention",
    }


@pytest.mark.parametrize("name", ["mask_without_effect", "padding_takes_its_share", "zeros_instead_of_minus_infinity"])
def test_padding_with_weight_costs_the_points_about_padding_and_the_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "padding_gets_no_weight",
        "padding_far_above_the_rest",
        "padding_has_no_weight_beside_very_low_scores",
        "each_element_of_the_batch_has_its_own_padding",
        "gradients_of_cross_attention",
    }


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("weights_first", {"the_context_comes_before_the_weights"}),
        ("zeros_of_another_dtype", {"states_of_either_dtype"}),
        ("gradients_stop_between_steps", {"gradients_through_every_step"}),
        ("renormalized_after_softmax", {"padding_far_above_the_rest"}),
        ("padding_of_the_first_element", {"each_element_of_the_batch_has_its_own_padding"}),
        ("layers_with_bias", {"no_layer_has_a_bias"}),
    ],
)
def test_a_mistake_costs_only_the_points_about_it(name: str, missed: set[str]) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == missed


def test_a_required_mask_keeps_the_points_about_padding() -> None:
    assert SUITE.kept_by("mask_required") == {
        *DECLARED,
        "padding_gets_no_weight",
        "padding_far_above_the_rest",
        "padding_has_no_weight_beside_very_low_scores",
        "each_element_of_the_batch_has_its_own_padding",
        "gradients_of_cross_attention",
        "cross_attention_leaves_its_arguments_alone",
    }


# -- answers that call others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "wrong"),
    [
        ("building_on", ("additive_scores",)),
        ("building_on", ("linear_as_matmul",)),
        ("building_on", ("attention_scores",)),
        ("building_on", ("softmax_stable", "context_vector")),
        ("building_on", ("scaled_dot_product_attention",)),
        ("query_by_query", ("softmax_naive",)),
        ("query_by_query", ("attention_scores", "softmax_stable", "context_vector")),
    ],
)
def test_answers_that_call_wrong_ones_earn_all_points_with_substitutes(style: str, wrong: tuple[str, ...]) -> None:
    outcomes = SUITE.on_substitutes(style, *wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {exercise for found in outcomes.values() for exercise in found.substitutes} == set(wrong)
