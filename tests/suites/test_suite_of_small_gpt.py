"""The suite of the capstone: junk earns almost nothing, and each mistake costs only the points that are about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from units import SUITES

from grader.engine.criteria import Criterion
from grader.testing.misconceptions import Misconception
from grader.testing.student import InProcessBackend

SUITE = SUITES["small_gpt"]


# -- junk --------------------------------------------------------------------------------------------------------


class Zeros(nn.Module):
    def forward(self, idx: Tensor) -> Tensor:
        return torch.zeros(*idx.shape, 7)


JUNK: list[tuple[str, Callable[..., Any]]] = [
    *(("SmallGPT", junk) for junk in (lambda *_: nn.Identity(), lambda *_: Zeros(), lambda *_: None)),
    ("generate_text", lambda *_, **__: None),
    ("generate_text", lambda _model, idx, *_, **__: idx[:, :0]),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) <= {
        "nothing_is_dropped_in_eval_mode",
        "nothing_is_dropped_without_dropout",
    }


def test_zeros_as_new_tokens_earn_only_the_points_for_what_stays_the_same() -> None:
    def zeros(_model: Any, idx: Tensor, count: int, *_: Any, **__: Any) -> Tensor:
        return torch.cat([idx, torch.zeros(len(idx), count, dtype=torch.long)], dim=1)

    assert SUITE.passed({"generate_text": zeros}, "generate_text") == {
        "no_new_token_gives_the_prompt",
        "the_mode_of_the_model_is_kept",
        "generating_leaves_idx_alone",
    }


# -- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("norm_under_another_name", {"the_final_norm"}),
        ("bias_of_the_output", {"the_output_layer", "the_number_of_parameters"}),
        ("output_tied_to_the_tokens", {"the_number_of_parameters"}),
        ("one_block_used_again", {"each_block_has_its_own_parameters", "the_number_of_parameters"}),
        ("one_head_only", {"the_sum_goes_through_the_blocks", "gradients_of_the_model"}),
        (
            "no_positions",
            {"tokens_and_positions_are_added", "the_sum_goes_through_the_blocks", "gradients_of_the_model"},
        ),
        ("positions_after_the_blocks", {"the_sum_goes_through_the_blocks", "gradients_of_the_model"}),
        ("no_final_norm", {"the_norm_comes_before_the_output", "gradients_of_the_model"}),
        (
            "mask_missing",
            {
                "the_sum_goes_through_the_blocks",
                "no_logits_depend_on_a_later_token",
                "gradients_of_the_model",
            },
        ),
        ("long_texts_accepted", {"too_many_tokens_are_an_error"}),
        ("blocks_drop_nothing", {"numbers_are_dropped_in_training"}),
        ("dropped_in_eval_mode_too", {"nothing_is_dropped_in_eval_mode"}),
        ("positions_do_not_learn", {"gradients_of_the_model"}),
        ("text_not_cut", {"the_model_gets_the_last_tokens"}),
        ("first_tokens_taken", {"the_model_gets_the_last_tokens"}),
        ("likely_made_likelier", {"tokens_are_drawn_from_the_softmax"}),
        ("left_in_eval_mode", {"the_mode_of_the_model_is_kept"}),
    ],
)
def test_a_mistake_costs_only_the_points_about_it(name: str, missed: set[str]) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == missed


# -- answers that call parts of other units ----------------------------------------------------------------------

PARTS = ("MultiHeadAttention", "LayerNorm", "FeedForward", "TransformerBlock", "stack_blocks")


@pytest.mark.parametrize("wrong", [*((part,) for part in PARTS), PARTS], ids="-".join)
def test_a_model_of_wrong_parts_earns_all_points_with_their_substitutes(wrong: tuple[str, ...]) -> None:
    outcomes = SUITE.on_substitutes("by_the_book", *wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    called = set().union(*(found.substitutes for found in outcomes.values()))
    assert called == set(wrong) - {"stack_blocks"}  # this answer stacks its blocks itself


def test_no_mistake_in_the_model_is_hidden_by_substitutes() -> None:
    """As if only this unit were graded: then it is not known whether the other parts are right."""
    parts = [*PARTS, "Residual"]

    def is_lost(criterion: Criterion, mistake: Misconception) -> bool:
        backend = InProcessBackend(SUITE.unit, {mistake.exercise: mistake.implementation})
        first = criterion.run(backend)
        return not first.passed and not criterion.run_again(backend, first, parts).passed

    mistakes = SUITE.mistakes_in("SmallGPT")
    assert [one.name for one in mistakes if not any(is_lost(each, one) for each in SUITE.of("SmallGPT"))] == []
