"""The suite of unit 4: junk earns almost nothing, and a mistake costs only the criteria about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from courses import REPOSITORY
from torch import nn
from units import SUBSTITUTES, SUITES, defined_in

from grader.testing.student import InProcessBackend
from grader.testing.substitutes import MODULE

SUITE = SUITES["multi_head_attention"]


def zeros(x: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=x.dtype) + 0 * x.sum()  # gradients flow, and are zero


def unrolled(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    return x.unflatten(2, (num_heads, -1))  # (B, T, d_out) -> (B, T, H, head_dim)


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("unroll_heads", lambda x, _: x),
    ("unroll_heads", lambda x, num_heads: zeros(x, *unrolled(x, num_heads).shape)),
    ("unroll_heads", lambda x, num_heads: torch.randn_like(unrolled(x, num_heads))),
    ("group_by_head", lambda x: x),
    ("group_by_head", lambda x: zeros(x, *x.transpose(1, 2).shape)),
    ("head_scores", lambda queries, _: queries),
    ("head_scores", lambda queries, keys: zeros(queries, *queries.shape[:3], keys.shape[2])),
    ("head_weights", lambda scores, _: scores),
    ("head_weights", lambda scores, _: scores.tril()),
    ("head_weights", lambda scores, _: zeros(scores, *scores.shape)),
    ("head_weights", lambda scores, _: zeros(scores, *scores.shape) + torch.eye(scores.shape[-1])),
    ("head_weights", lambda scores, _: torch.softmax(0 * scores, -1)),
    ("split_heads", lambda x, _: x),
    ("split_heads", lambda x, num_heads: zeros(x, *unrolled(x, num_heads).transpose(1, 2).shape)),
    ("merge_heads", lambda x: x),
    ("merge_heads", lambda x: zeros(x, *x.transpose(1, 2).flatten(2).shape)),
    ("MultiHeadAttentionWrapper", lambda *_, **__: nn.Identity()),
    ("two_dimensional_output", lambda *_: None),
    ("two_dimensional_output", lambda d_in, _: nn.Linear(d_in, 2, bias=False)),
    ("MultiHeadAttention", lambda *_, **__: nn.Identity()),
    ("stack_heads", lambda *_: None),
    ("gpt2_small_attention", lambda: None),
    ("gpt2_small_attention", lambda: nn.Linear(768, 768)),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


def test_a_wrapper_of_zeros_earns_only_the_points_for_its_layers() -> None:
    right = defined_in(REPOSITORY / "solutions" / "multi_head_attention.py", "multi_head_attention")

    class MultiHeadAttentionWrapper(right["MultiHeadAttentionWrapper"]):  # type: ignore[misc, valid-type]
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return 0 * super().forward(inputs)

    assert SUITE.passed({"MultiHeadAttentionWrapper": MultiHeadAttentionWrapper}, "MultiHeadAttentionWrapper") == {
        "heads_is_a_list_of_modules",
        "every_head_has_its_own_weights",
        "no_head_has_a_bias_by_default",
    }


@pytest.mark.parametrize("attends_to", [torch.zeros_like, lambda scores: 0 * scores + torch.eye(scores.shape[-1])])
def test_a_module_without_attention_earns_at_most_the_points_not_about_it(attends_to: Any) -> None:
    right = defined_in(REPOSITORY / "solutions" / "multi_head_attention.py", "multi_head_attention")
    right["head_weights"] = lambda scores, _: attends_to(scores)
    assert SUITE.passed({"MultiHeadAttention": right["MultiHeadAttention"]}, "MultiHeadAttention") <= {
        "four_layers",
        "no_bias_by_default",
        "three_biases_on_demand",
        "heads_that_do_not_divide_are_refused",
        "the_heads_pass_through_out_proj",  # tested with a single token
    }


SCALES = (
    "scaling_forgotten",
    "divided_by_head_dim_itself",
    "half_instead_of_root",
    "twentieth_root",
    "multiplied_by_root",
    "scaled_by_number_of_tokens",
    "scaled_by_number_of_heads",
)


@pytest.mark.parametrize("name", [*SCALES, "scaled_by_all_heads_together"])
def test_a_wrong_scale_loses_only_the_points_about_it(name: str) -> None:
    assert SUITE.kept_by(name) == {
        "the_future_gets_no_weight",
        "a_far_larger_score_of_the_future",
        "the_future_gets_no_weight_beside_very_low_scores",
        "weighing_leaves_the_scores_alone",
    }


@pytest.mark.parametrize("name", [*(f"{name}_in_the_module" for name in SCALES), "scaled_by_d_out", "scaled_by_d_in"])
def test_a_wrong_scale_in_the_module_costs_only_the_scale_and_the_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "attention_is_scaled_in_each_head",
        "gradients_of_multi_head_attention",
    }


@pytest.mark.parametrize(
    ("name", "points"),
    [("reshaped_instead_of_transposed", 3), ("split_by_reshape_alone", 4), ("not_transposed_back", 3)],
)
def test_numbers_in_the_wrong_places_cost_one_point(name: str, points: int) -> None:
    assert len(SUITE.kept_by(name)) == points
    assert len(SUITE.missed_by(SUITE.mistake(name))) == 1


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("out_proj_unused", {"the_heads_pass_through_out_proj", "gradients_of_multi_head_attention"}),
        ("out_proj_forgotten", {"four_layers", "the_heads_pass_through_out_proj", "gradients_of_multi_head_attention"}),
        ("dropout_never_applied", {"weights_are_dropped_in_training"}),
        ("scores_dropped", {"weights_are_dropped_in_training"}),
        ("dropped_after_eval", {"weights_are_dropped_in_training", "nothing_is_dropped_after_eval"}),
        ("bias_always", {"no_bias_by_default"}),
        ("mask_not_cut", {"any_number_of_tokens_up_to_the_context_length"}),
        ("made_float32_on_the_way", {"multi_head_attention_in_float64"}),
        ("last_head_first_in_the_wrapper", {"heads_side_by_side", "gradients_of_the_wrapper"}),
        ("bias_in_every_head", {"no_head_has_a_bias_by_default"}),
        ("dropout_not_handed_on", {"the_wrapper_drops_weights_in_training_only"}),
        ("weights_frozen", {"the_weights_of_attention_stay_parameters"}),
        ("biases_left_behind", {"biases_are_stacked_too"}),
        ("heads_of_the_worked_example", {"the_heads_of_the_smallest_gpt2"}),
        ("context_of_the_toy_batch", {"the_context_of_the_smallest_gpt2"}),
    ],
)
def test_a_mistake_costs_only_the_criteria_about_it(name: str, missed: set[str]) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == missed


def test_the_arguments_of_gpt2_do_not_depend_on_the_students_class() -> None:
    names: dict[str, Any] = {}
    exec(
        "class MultiHeadAttention:\n"
        "    def __init__(self, *_):\n"
        "        raise TypeError\n"
        "def gpt2_small_attention():\n"
        "    return MultiHeadAttention(768, 768, 1024, 0.0, 12)\n",
        names,
    )
    assert len(SUITE.passed(names, "gpt2_small_attention")) == len(SUITE.of("gpt2_small_attention"))


@pytest.mark.parametrize("number", [int, numpy.int64])
def test_the_arguments_of_gpt2_may_be_numpys_numbers(number: Callable[[int], Any]) -> None:
    names: dict[str, Any] = {"number": number}
    exec(
        "def gpt2_small_attention():\n"
        "    return MultiHeadAttention(number(768), number(768), number(1024), 0.0, number(12))\n",
        names,
    )
    passed = SUITE.passed(names, "gpt2_small_attention")
    assert {"the_heads_of_the_smallest_gpt2", "the_context_of_the_smallest_gpt2"} <= passed


class Odd(nn.Module):
    """A module with some parameters of heads, none of which is a whole head."""

    def __init__(self, *names: str, size: tuple[int, ...] = (1, 7)) -> None:
        super().__init__()
        self.heads = nn.ModuleList([nn.Module()])
        for name in names:
            layer = nn.Module()
            layer.weight = nn.Parameter(torch.zeros(size))
            setattr(self.heads[0], name, layer)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs[..., :2]


@pytest.mark.parametrize("odd", [lambda: Odd("W_value"), lambda: Odd("W_query", "W_key", "W_value", size=())])
@pytest.mark.parametrize("substitutes", [(), ("MultiHeadAttentionWrapper",)])
def test_odd_heads_lose_points_and_make_no_test_raise(odd: Callable[[], Odd], substitutes: tuple[str, ...]) -> None:
    for criterion in SUITE.of("two_dimensional_output"):
        outcome = criterion.run(InProcessBackend(SUITE.unit, {"two_dimensional_output": lambda *_: odd()}), substitutes)
        assert outcome.fault == "", criterion.name


@pytest.mark.parametrize(
    "wrong",
    [
        ("CausalAttention",),
        ("mask_then_softmax", "CausalAttention"),
        ("unroll_heads",),
        ("group_by_head",),
        ("head_scores",),
        ("head_weights",),
        ("split_heads",),
        ("merge_heads",),
        ("unroll_heads", "group_by_head", "head_scores", "head_weights", "split_heads", "merge_heads"),
        ("MultiHeadAttentionWrapper",),
    ],
)
def test_answers_that_call_wrong_ones_earn_all_their_points_with_substitutes(wrong: tuple[str, ...]) -> None:
    outcomes = SUITE.on_substitutes("one_on_another", *wrong)
    lost = {name for name, found in outcomes.items() if not found.passed}
    # The two are aliases: an answer that only calls the other one waits for it.
    waiting = {criterion.name for criterion in SUITE.of("head_weights") if "mask_then_softmax" in wrong}
    assert (lost, {outcomes[name].kind for name in lost}) == (waiting, {"waiting"} if waiting else set())
    used = {exercise for found in outcomes.values() for exercise in found.substitutes}
    # With a substitute for split_heads, the other exercises do not call unroll_heads and group_by_head.
    assert used == set(wrong) - ({"unroll_heads", "group_by_head"} if "split_heads" in wrong else set())


def test_merge_heads_may_call_group_by_head() -> None:
    outcome = SUITE.on_substitutes("fused", "group_by_head")["the_heads_of_each_token_stand_side_by_side"]
    assert (outcome.passed, outcome.substitutes) == (True, ("group_by_head",))


# -- initial values ----------------------------------------------------------------------------------------------


def test_heads_with_equal_initial_weights_cost_nothing() -> None:
    right = defined_in(REPOSITORY / "solutions" / "multi_head_attention.py", SUITE.unit)["MultiHeadAttentionWrapper"]

    def equal_weights(*sizes: Any, **options: Any) -> nn.Module:
        wrapper = right(*sizes, **options)
        for parameter in wrapper.parameters():
            nn.init.constant_(parameter, 0.1)
        return wrapper

    outcomes = SUITE.outcomes({"MultiHeadAttentionWrapper": equal_weights}, "MultiHeadAttentionWrapper")
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}


# -- sentences -----------------------------------------------------------------------------------------------------


def test_a_text_instead_of_a_number_is_not_quoted_in_a_message() -> None:
    base: Any = SUBSTITUTES["MultiHeadAttention"]

    class Attention(base):
        def __getattribute__(self, name: str) -> object:
            hostile = ("d_in", "d_out", "num_heads", "context_length")
            return "::error::forged" if name in hostile else super().__getattribute__(name)

    Attention.__module__, Attention.__qualname__ = MODULE, "MultiHeadAttention"
    names = {"gpt2_small_attention": lambda: Attention(768, 768, 1024, 0.0, 12)}
    reasons = [outcome.reason for outcome in SUITE.outcomes(names, "gpt2_small_attention").values()]
    assert "It was made with a str for num_heads." in reasons
    assert "forged" not in " ".join(reasons)
