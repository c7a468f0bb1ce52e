"""The suite of unit 7: junk earns almost nothing, and each mistake costs only the points that are about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from courses import REPOSITORY
from torch import Tensor, nn
from units import SUITES, defined_in

SUITE = SUITES["transformer_block"]


# -- junk --------------------------------------------------------------------------------------------------------


class Zeros(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0 * x


JUNK: list[tuple[str, Callable[..., Any]]] = [
    *(
        (exercise, junk)
        for exercise in ("LayerNorm", "FeedForward", "Residual", "TransformerBlock", "stack_blocks")
        for junk in (lambda *_: nn.Identity(), lambda *_: Zeros(), lambda *_: None)
    ),
    ("LayerNorm", lambda *_: nn.Softmax(dim=-1)),
    ("FeedForward", lambda *_: nn.ReLU()),
    ("TransformerBlock", lambda *_: nn.LayerNorm(7)),
    ("stack_blocks", lambda *_: []),
    ("gpt2_parameter_count", lambda *_: 0),
    ("gpt2_parameter_count", lambda *_: 124_439_808),
    ("gpt2_parameter_count", lambda num_layers, *_: num_layers),
    ("gpt2_parameter_count", lambda *_: None),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


@pytest.mark.parametrize("output", [lambda x: x, lambda x: 0 * x, torch.ones_like])
def test_modules_that_do_nothing_earn_only_the_points_for_their_layers(output: Callable[[Tensor], Tensor]) -> None:
    class Declared(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return output(x)

    solution = defined_in(REPOSITORY / "solutions" / "transformer_block.py", SUITE.unit)
    modules = ("LayerNorm", "FeedForward", "Residual", "TransformerBlock")
    names = {name: type(name, (Declared, solution[name]), {}) for name in modules}
    assert set().union(*(SUITE.passed(names, exercise) for exercise in names)) == {
        "scale_and_shift_are_parameters",
        "two_layers_of_the_expanded_width",
        "the_default_expansion",
        "both_layers_have_a_bias",
        "the_parameters_of_sublayer_are_found",
        "norm1_and_norm2_are_layer_norms",
        "the_parameters_of_both_modules_are_found",
    }


# -- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("unbiased_variance", {"the_variance_of_the_outputs_is_one", "gradients_of_layer_norm"}),
        ("eps_outside_the_root", {"eps_is_added_to_the_variance", "the_default_eps"}),
        ("mean_not_subtracted", {"the_mean_is_subtracted", "gradients_of_layer_norm"}),
        (
            "one_number_for_all_features",
            {"scale_and_shift_are_parameters", "outputs_are_scaled_and_shifted", "gradients_of_layer_norm"},
        ),
        (
            "other_names",
            {
                "scale_and_shift_are_parameters",
                "outputs_are_scaled_and_shifted",
                "gradients_of_layer_norm",
            },
        ),
        ("shift_unused", {"outputs_are_scaled_and_shifted", "gradients_of_layer_norm"}),
        ("over_the_third_dim", {"layer_norm_takes_any_leading_dimensions"}),
        ("gelu", {"relu_stands_between_the_layers"}),
        ("no_activation", {"relu_stands_between_the_layers"}),
        ("no_expansion", {"two_layers_of_the_expanded_width", "the_default_expansion"}),
        ("always_four_times", {"two_layers_of_the_expanded_width"}),
        ("no_biases", {"both_layers_have_a_bias"}),
        ("dropout_inside", {"nothing_is_dropped_in_feed_forward"}),
        ("norm_before_sublayer", {"what_sublayer_gives_is_added_to_x", "gradients_of_residual"}),
        ("dropout_in_residual", {"what_sublayer_gives_is_added_to_x"}),
        ("sublayer_hidden", {"the_parameters_of_sublayer_are_found"}),
        ("norm1_used_twice", {"each_norm_in_its_place", "gradients_of_the_block"}),
        ("feed_forward_first", {"feed_forward_comes_second", "each_norm_in_its_place", "gradients_of_the_block"}),
        ("modules_hidden", {"the_parameters_of_both_modules_are_found"}),
        ("feed_forward_not_dropped", {"numbers_of_feed_forward_are_dropped"}),
        ("kept_numbers_not_scaled", {"what_is_kept_grows_and_x_stays"}),
        ("dropped_in_eval_mode_too", {"nothing_is_dropped_in_eval_mode"}),
        ("last_block_first", {"blocks_work_one_after_the_other", "gradients_of_the_stack"}),
        ("blocks_in_a_plain_list", {"the_parameters_of_all_blocks_are_found"}),
        ("last_norm_forgotten", {"the_norm_after_the_last_block"}),
        ("positions_forgotten", {"a_position_adds_its_embedding"}),
        ("output_layer_counted", {"a_token_adds_its_embedding"}),
        ("three_biases_forgotten", {"the_biases_and_norms_of_a_block"}),
        ("a_float", {"the_count_is_an_int"}),
    ],
)
def test_a_mistake_costs_only_the_points_about_it(name: str, missed: set[str]) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == missed


def test_a_norm_after_the_sum_keeps_the_points_that_are_not_about_norms_and_dropout() -> None:
    assert SUITE.kept_by("post_norm") == {
        "norm1_and_norm2_are_layer_norms",
        "the_parameters_of_both_modules_are_found",
        "nothing_is_dropped_in_eval_mode",
        "nothing_is_dropped_without_dropout",
        "any_number_of_texts_and_tokens",
        "the_block_in_float64",
        "the_block_leaves_x_alone",
    }


def test_a_stack_may_be_a_subclass_of_module_list_that_calls_its_blocks() -> None:
    class Stack(nn.ModuleList):
        def forward(self, x: Tensor) -> Tensor:
            for block in self:
                x = block(x)
            return x

    def stack_blocks(make_block: Callable[[], nn.Module], num_blocks: int) -> nn.Module:
        return Stack(make_block() for _ in range(num_blocks))

    outcomes = SUITE.outcomes({"stack_blocks": stack_blocks}, "stack_blocks")
    assert all(outcome.passed for outcome in outcomes.values())


# -- answers that call others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "calling_it"),
    [
        ("LayerNorm", {"TransformerBlock", "gpt2_parameter_count"}),
        ("FeedForward", {"gpt2_parameter_count"}),
        ("Residual", {"TransformerBlock", "gpt2_parameter_count"}),
        ("TransformerBlock", {"gpt2_parameter_count"}),
        ("stack_blocks", {"gpt2_parameter_count"}),
        ("MultiHeadAttention", {"gpt2_parameter_count"}),
    ],
)
def test_answers_that_call_a_wrong_one_earn_all_points_with_its_substitute(wrong: str, calling_it: set[str]) -> None:
    outcomes = SUITE.on_substitutes("one_on_another", wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    on_substitutes = {name for name, found in outcomes.items() if found.substitutes == (wrong,)}
    assert {one.exercise for one in SUITE.criteria if one.name in on_substitutes} == calling_it


def test_a_block_that_calls_a_wrong_norm_and_a_wrong_residual_earns_all_points() -> None:
    outcomes = SUITE.on_substitutes("one_on_another", "LayerNorm", "Residual")
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert ("LayerNorm", "Residual") in {found.substitutes for found in outcomes.values()}


# -- initial values ----------------------------------------------------------------------------------------------


def test_other_initial_values_of_a_norm_cost_nothing() -> None:
    right = defined_in(REPOSITORY / "solutions" / "transformer_block.py", SUITE.unit)["LayerNorm"]

    def with_random_parameters(*sizes: Any) -> nn.Module:
        norm = right(*sizes)
        nn.init.normal_(norm.scale)
        nn.init.normal_(norm.shift)
        return norm

    outcomes = SUITE.outcomes({"LayerNorm": with_random_parameters}, "LayerNorm")
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
