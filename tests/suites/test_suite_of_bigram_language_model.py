"""The suite of unit 6: junk earns almost nothing, and each mistake costs only the points that are about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from courses import REPOSITORY
from torch import Tensor
from units import SUITES, Suite, defined_in

from grader.testing.student import InProcessBackend, Student

SUITE: Suite = SUITES["bigram_language_model"]
RIGHT = defined_in(REPOSITORY / "solutions" / f"{SUITE.unit}.py", SUITE.unit)
Head: Any = RIGHT["Head"]
BigramLanguageModel: Any = RIGHT["BigramLanguageModel"]
RUNNING_MEANS = ("running_mean_loop", "running_mean_matmul", "running_mean_softmax")


# -- junk --------------------------------------------------------------------------------------------------------


def zeros(x: Tensor, *shape: int) -> Tensor:
    return torch.zeros(*shape, dtype=x.dtype) + 0 * x.sum()  # gradients flow, and are zero


JUNK: list[tuple[str, Callable[..., Any]]] = [
    ("build_vocabulary", lambda text: text),
    ("build_vocabulary", lambda _: []),
    ("build_vocabulary", lambda _: ["a", "b"]),
    ("encode", lambda text, _: text),
    ("encode", lambda *_: []),
    ("encode", lambda text, _: [0] * len(text)),
    ("encode", lambda text, _: [ord(character) % 2 for character in text]),
    ("decode", lambda ids, _: ids),
    ("decode", lambda *_: ""),
    ("decode", lambda ids, vocabulary: vocabulary[0] * len(ids)),
    ("sample_batch", lambda _, T, B, **__: (torch.zeros(B, T), torch.zeros(B, T))),
    ("sample_batch", lambda data, T, B, **_: (data[:T].expand(B, T), data[1 : T + 1].expand(B, T))),
    ("sample_batch", lambda _, T, B, **__: (torch.randint(9, (B, T)), torch.randint(9, (B, T)))),
    ("flatten_for_cross_entropy", lambda logits, targets: (logits, targets)),
    (
        "flatten_for_cross_entropy",
        lambda logits, targets: (zeros(logits, targets.numel(), logits.shape[2]), targets.flatten()),
    ),
    (
        "flatten_for_cross_entropy",
        lambda logits, targets: (logits[0, :1].expand(targets.numel(), -1), targets[0, :1].expand(targets.numel())),
    ),
    ("cross_entropy", lambda logits, _: zeros(logits)),
    ("cross_entropy", lambda logits, _: zeros(logits) + torch.tensor(logits.shape[1]).log()),
    ("cross_entropy", lambda logits, _: logits.mean()),
    ("cross_entropy", lambda logits, _: logits),
    *((name, lambda x: x) for name in RUNNING_MEANS),
    *((name, lambda x: 0 * x) for name in RUNNING_MEANS),
    *((name, lambda x: x[:, :1].expand_as(x)) for name in RUNNING_MEANS),
]


@pytest.mark.parametrize(("exercise", "junk"), JUNK)
def test_junk_of_the_right_shape_earns_nothing(exercise: str, junk: Callable[..., Any]) -> None:
    assert SUITE.passed({exercise: junk}, exercise) == set()


class Nothing(Head):
    def forward(self, x: Tensor) -> Tensor:
        return 0 * self.query(x) * self.key(x) * self.value(x)


class InputsReturned(Head):
    def forward(self, x: Tensor) -> Tensor:
        return x


class OwnValues(Head):
    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.value(x))


class KeysIgnored(Head):
    def forward(self, x: Tensor) -> Tensor:
        queries = self.query(x)
        scores = queries @ torch.ones_like(queries).mT  # (B, T, head_size) @ (B, head_size, T) -> (B, T, T)
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
        return self.dropout(torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)) @ self.value(x)


LAYERS = {"three_layers_from_n_embd_to_head_size", "no_layer_has_a_bias"}


@pytest.mark.parametrize("junk", [Nothing, InputsReturned, OwnValues])
def test_a_head_that_ignores_other_tokens_earns_only_the_points_for_its_layers(junk: type) -> None:
    assert SUITE.passed({"Head": junk}, "Head") == LAYERS


@pytest.mark.parametrize("junk", [SUITE.mistake("past_averaged").implementation, KeysIgnored])
def test_a_head_without_dot_products_also_earns_the_point_for_being_causal(junk: Any) -> None:
    assert SUITE.passed({"Head": junk}, "Head") == LAYERS | {"no_output_depends_on_a_later_token"}


class Silent(BigramLanguageModel):
    """The table exists and is not used."""

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:  # noqa: ARG002
        return None

    def generate(self, idx: Tensor, max_new_tokens: int, generator: Any = None) -> Tensor:  # noqa: ARG002
        return idx


class Zeros(Silent):
    def generate(self, idx: Tensor, max_new_tokens: int, generator: Any = None) -> Tensor:  # noqa: ARG002
        return torch.cat([idx, idx.new_zeros(len(idx), max_new_tokens)], dim=1)


def test_a_model_that_returns_nothing_earns_only_the_point_for_its_table() -> None:
    assert SUITE.passed({"BigramLanguageModel": Silent}, "BigramLanguageModel") == {"the_table_is_an_embedding"}


def test_a_model_that_generates_zeros_also_earns_the_points_without_draws() -> None:
    assert SUITE.passed({"BigramLanguageModel": Zeros}, "BigramLanguageModel") == {
        "the_table_is_an_embedding",
        "no_new_token_gives_the_prompt",
        "generating_leaves_idx_alone",
    }


# -- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "missed"),
    [
        ("not_sorted", {"the_characters_are_sorted"}),
        ("key_error_for_the_unknown", {"unknown_characters_are_refused"}),
        ("ids_not_checked", {"ids_that_are_too_large_are_refused", "negative_ids_are_refused"}),
        ("negative_ids_counted_from_the_end", {"negative_ids_are_refused"}),
        ("short_data_left_to_torch", {"data_that_is_too_short_is_refused"}),
        ("last_start_never_drawn", {"every_start_comes_up", "the_shortest_data_is_enough"}),
        ("starts_rounded", {"starts_are_equally_likely"}),
        ("targets_that_repeat", {"targets_are_what_follows", "the_shortest_data_is_enough"}),
        ("view_of_the_targets", {"views_are_flattened"}),
        ("targets_in_another_order", {"each_prediction_keeps_its_target"}),
        ("logarithm_of_a_softmax", {"large_logits_stay_finite"}),
        ("targets_in_float32", {"a_loss_of_either_dtype"}),
        ("next_token_averaged_by_matmul", {"means_by_matmul", "gradients_of_the_product"}),
        ("future_averaged_by_softmax", {"means_by_softmax", "gradients_of_the_softmax"}),
        ("dropout_never_applied", {"each_weight_is_dropped_by_itself", "dropping_comes_after_softmax"}),
        ("dropout_in_eval_mode_too", {"nothing_is_dropped_in_eval_mode"}),
        ("survivors_not_scaled", {"dropping_comes_after_softmax"}),
        ("bias_in_every_layer", {"no_layer_has_a_bias"}),
        ("mask_as_a_parameter", {"gradients_of_the_head"}),
        ("flat_logits_with_targets", {"logits_are_the_same_with_targets"}),
        ("lonely_logits_squeezed", {"logits_are_the_same_with_targets"}),
        ("zero_without_targets", {"there_is_no_loss_without_targets"}),
        ("loss_of_the_last_tokens", {"the_loss_is_the_mean_over_all_predictions", "gradients_reach_the_table"}),
        ("table_under_another_name", {"the_table_is_an_embedding"}),
        ("ids_made_floats", {"the_prompt_comes_first"}),
        ("logits_scaled", {"tokens_are_drawn_from_the_softmax"}),
        ("new_tokens_not_looked_at", {"each_token_follows_from_the_one_before"}),
        ("one_throw_for_all_steps", {"every_token_is_drawn_by_itself"}),
        ("generator_ignored", {"tokens_come_from_the_generator", "the_same_state_gives_the_same_tokens"}),
    ],
)
def test_a_mistake_costs_only_the_points_about_it(name: str, missed: set[str]) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == missed


SCALES = ("scaled_by_n_embd", "half_instead_of_root", "scaling_forgotten", "divided_by_head_size_itself")


@pytest.mark.parametrize("name", [*SCALES, "scaled_by_number_of_tokens", "scaled_by_block_size"])
def test_a_wrong_scale_costs_only_the_weights_and_their_gradients(name: str) -> None:
    assert SUITE.missed_by(SUITE.mistake(name)) == {
        "scores_are_divided_by_the_square_root_of_head_size",
        "output_of_the_head",
        "gradients_of_the_head",
    }


def test_a_missing_mask_costs_only_the_points_about_it() -> None:
    assert SUITE.missed_by(SUITE.mistake("masked_scores_thrown_away")) == {
        "no_output_depends_on_a_later_token",
        "later_tokens_have_no_weight_beside_very_low_scores",
        "output_of_the_head",
        "gradients_of_the_head",
    }


class DetachedLogits(BigramLanguageModel):
    """The logits are detached; gradients flow from the loss."""

    def forward(self, idx: Tensor, targets: Tensor | None = None) -> Any:
        logits, loss = super().forward(idx, targets)
        return logits.detach(), loss


def test_detached_logits_cost_nothing() -> None:
    outcomes = SUITE.outcomes({"BigramLanguageModel": DetachedLogits}, "BigramLanguageModel")
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}


def test_a_ready_made_loss_earns_every_point_and_a_remark() -> None:
    def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(logits, targets)

    outcomes = SUITE.outcomes({"cross_entropy": cross_entropy}, "cross_entropy")
    assert all(outcome.passed for outcome in outcomes.values())
    assert outcomes["the_mean_of_minus_the_logarithms"].remarks == (
        "It makes use of torch's cross_entropy, which it was to do without. That costs nothing.",
    )


# -- random draws ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exercise", "name"),
    [
        ("sample_batch", "every_start_comes_up"),
        ("sample_batch", "starts_are_equally_likely"),
        ("sample_batch", "each_row_has_a_draw_of_its_own"),
        ("BigramLanguageModel", "tokens_are_drawn_from_the_softmax"),
        ("BigramLanguageModel", "every_token_is_drawn_by_itself"),
        ("Head", "each_weight_is_dropped_by_itself"),
    ],
)
def test_a_right_answer_passes_whatever_the_draws_are(exercise: str, name: str) -> None:
    [criterion] = [criterion for criterion in SUITE.of(exercise) if criterion.name == name]
    backend = InProcessBackend(SUITE.unit, {exercise: RIGHT[exercise]})
    for seed in range(30):
        torch.manual_seed(seed)
        student = Student(backend, SUITE.unit)
        student.seed(seed)
        criterion.function(student=student, fresh=criterion.fresh())


# -- answers that call others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "wrong"),
    [
        ("one_on_another", ("flatten_for_cross_entropy",)),
        ("one_on_another", ("cross_entropy",)),
        ("one_on_another", ("flatten_for_cross_entropy", "cross_entropy")),
        ("one_on_another", ("softmax_stable",)),
        ("one_on_another", ("causal_mask",)),
        ("heads_of_unit_four", ("mask_then_renormalize",)),
        ("heads_of_unit_four", ("mask_then_softmax",)),
        ("heads_of_unit_four", ("head_scores",)),
        ("heads_of_unit_four", ("head_weights",)),
        ("heads_of_unit_four", ("head_scores", "head_weights")),
    ],
)
def test_answers_that_call_wrong_ones_earn_all_points_with_substitutes(style: str, wrong: tuple[str, ...]) -> None:
    outcomes = SUITE.on_substitutes(style, *wrong)
    assert {name: found.reason for name, found in outcomes.items() if not found.passed} == {}
    assert {exercise for found in outcomes.values() for exercise in found.substitutes} == set(wrong)


@pytest.mark.parametrize(
    ("style", "wrong", "waiting"),
    [
        ("one_on_another", "CausalAttention", {criterion.name for criterion in SUITE.of("Head")}),
        (
            "heads_of_unit_four",
            "attention_dropout",
            {
                "each_weight_is_dropped_by_itself",
                "dropping_comes_after_softmax",
                "nothing_is_dropped_without_dropout",
            },
        ),
    ],
)
def test_a_head_that_calls_a_wrong_alias_or_dropout_waits_for_it(style: str, wrong: str, waiting: set[str]) -> None:
    outcomes = SUITE.on_substitutes(style, wrong)
    assert {name for name, found in outcomes.items() if not found.passed} == waiting
    assert {outcomes[name].kind for name in waiting} == {"waiting"}
