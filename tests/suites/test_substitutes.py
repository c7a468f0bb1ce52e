"""The substitutes for exercises that others call: no answer loses points because it calls a wrong one."""

from __future__ import annotations

from typing import Any

import pytest
from courses import REPOSITORY
from units import SUBSTITUTES, SUITES, UNITS, defined_in, nothing

from grader.engine.criteria import Criterion
from grader.engine.outcomes import Outcome
from grader.testing.misconceptions import Misconception
from grader.testing.student import InProcessBackend

EXERCISES = list(UNITS)


# -- answers that call wrong ones --------------------------------------------------------------------------------

SOFTMAXES = ("softmax_naive", "softmax_stable")
PARTS_OF_GPT = ("MultiHeadAttention", "LayerNorm", "FeedForward", "TransformerBlock", "stack_blocks")

# By unit and style of the right answer: the exercises that are wrong, each of which the others call.
CALLED = {
    ("simple_attention", "one_on_another"): ["dot_product", "attention_scores", "normalize_by_sum", "context_vector"],
    ("causal_attention", "building_on"): ["causal_mask", "mask_then_softmax"],
    ("multi_head_attention", "one_on_another"): [
        "CausalAttention",
        "unroll_heads",
        "group_by_head",
        "head_scores",
        "head_weights",
        "split_heads",
        "merge_heads",
        "MultiHeadAttentionWrapper",
    ],
    ("positional_encoding", "building_on"): ["context_vector", "sinusoidal_encoding"],
    ("bigram_language_model", "one_on_another"): [
        "flatten_for_cross_entropy",
        "cross_entropy",
        "flatten_for_cross_entropy cross_entropy",
        "softmax_stable",
        "causal_mask",
    ],
    ("bigram_language_model", "heads_of_unit_four"): [
        "mask_then_renormalize",
        "mask_then_softmax",
        "head_scores",
        "head_weights",
        "head_scores head_weights",
    ],
    ("transformer_block", "one_on_another"): [*PARTS_OF_GPT, "Residual", "LayerNorm Residual"],
    ("encoder_decoder_attention", "building_on"): [
        "additive_scores",
        "linear_as_matmul",
        "attention_scores",
        "softmax_stable context_vector",
        "scaled_dot_product_attention",
    ],
    ("encoder_decoder_attention", "query_by_query"): [
        "softmax_naive",
        "attention_scores softmax_stable context_vector",
    ],
    ("small_gpt", "by_the_book"): PARTS_OF_GPT[:-1],
}


def lost_and_called(unit: str, style: str, *wrong: str) -> tuple[dict[str, str], set[str]]:
    """Return the kind of each outcome that lost a point, and the substitutes that were called."""
    outcomes = SUITES[unit].on_substitutes(style, *wrong)
    lost = {name: outcome.kind for name, outcome in outcomes.items() if not outcome.passed}
    return lost, set().union(*(outcome.substitutes for outcome in outcomes.values()))


@pytest.mark.parametrize(
    ("unit", "style", "wrong"), [(*answer, wrong) for answer, several in CALLED.items() for wrong in several]
)
def test_answers_that_call_wrong_ones_earn_all_their_points_with_substitutes(unit: str, style: str, wrong: str) -> None:
    assert lost_and_called(unit, style, *wrong.split()) == ({}, set(wrong.split()))


def test_exercises_that_only_a_substitute_would_call_are_not_called() -> None:
    parts = {"unroll_heads", "group_by_head", "head_scores", "head_weights", "split_heads", "merge_heads"}
    found = lost_and_called("multi_head_attention", "one_on_another", *parts)
    assert found == ({}, parts - {"unroll_heads", "group_by_head"})  # split_heads calls these two
    found = lost_and_called("small_gpt", "by_the_book", *PARTS_OF_GPT)
    assert found == ({}, {*PARTS_OF_GPT} - {"stack_blocks"})  # this answer stacks its blocks itself


@pytest.mark.parametrize(
    ("unit", "style", "wrong", "waiting"),
    [
        # The last two are aliases: an answer that only calls the other one waits for it.
        ("multi_head_attention", "one_on_another", "mask_then_softmax CausalAttention", "head_weights"),
        ("bigram_language_model", "one_on_another", "CausalAttention", "Head"),
        # Dropout has no substitute.
        (
            "causal_attention",
            "building_on",
            "attention_dropout",
            {
                "each_weight_is_dropped_by_itself_in_training",
                "dropout_acts_on_the_weights_after_softmax",
                "nothing_is_dropped_without_dropout",
            },
        ),
        (
            "bigram_language_model",
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
def test_an_answer_that_calls_a_wrong_alias_or_dropout_waits_for_it(
    unit: str, style: str, wrong: str, waiting: str | set[str]
) -> None:
    names = {criterion.name for criterion in SUITES[unit].of(waiting)} if isinstance(waiting, str) else waiting
    lost, _ = lost_and_called(unit, style, *wrong.split())
    assert lost == dict.fromkeys(names, "waiting")


@pytest.mark.parametrize("wrong", SOFTMAXES)
def test_self_attention_that_calls_a_wrong_softmax_earns_all_its_points_with_a_substitute(wrong: str) -> None:
    suite = SUITES["simple_attention"]
    found = suite.on_substitutes("one_on_another", wrong, doubtful=SOFTMAXES, exercise="simple_self_attention")
    outcomes = list(found.values())
    assert [outcome.reason for outcome in outcomes if not outcome.passed] == []
    assert {outcome.substitutes for outcome in outcomes} == {("softmax_stable",)}


@pytest.mark.parametrize(("exercise", "other"), [SOFTMAXES, SOFTMAXES[::-1]])
def test_a_softmax_that_only_calls_the_other_one_waits_for_it(exercise: str, other: str) -> None:
    names: dict[str, Any] = {other: nothing}
    exec(f"def {exercise}(x, dim=-1): return {other}(x, dim)", names)
    beside = InProcessBackend("simple_attention", names)
    criteria = SUITES["simple_attention"].of(exercise)
    outcomes = [criterion.run_again(beside, criterion.run(beside), [other]) for criterion in criteria]
    assert {found.substitutes for found in outcomes} == {(other,)}
    assert {found.kind for found in outcomes} == {"waiting"}


def test_merge_heads_may_call_group_by_head() -> None:
    found = SUITES["multi_head_attention"].on_substitutes("fused", "group_by_head", exercise="merge_heads")
    outcome = found["the_heads_of_each_token_stand_side_by_side"]
    assert (outcome.passed, outcome.substitutes) == (True, ("group_by_head",))


@pytest.mark.proof(part="substitutes")
def test_no_mistake_in_the_model_is_hidden_by_substitutes() -> None:
    """As if only this unit were graded: then it is not known whether the other parts are right."""
    suite, parts = SUITES["small_gpt"], [*PARTS_OF_GPT, "Residual"]

    def is_lost(criterion: Criterion, mistake: Misconception) -> bool:
        backend = InProcessBackend(suite.unit, {mistake.exercise: mistake.implementation})
        first = criterion.run(backend)
        return not first.passed and not criterion.run_again(backend, first, parts).passed

    mistakes = suite.mistakes_in("SmallGPT")
    assert [one.name for one in mistakes if not any(is_lost(each, one) for each in suite.of("SmallGPT"))] == []


# -- the substitutes themselves ----------------------------------------------------------------------------------


@pytest.mark.proof(part="substitutes")
@pytest.mark.parametrize("exercise", list(SUBSTITUTES))
def test_every_substitute_has_the_form_of_its_exercise_and_is_not_a_right_answer(exercise: str) -> None:
    suite = SUITES[UNITS[exercise]]
    outcomes = suite.outcomes({exercise: SUBSTITUTES[exercise]}, exercise).values()
    assert not all(outcome.passed for outcome in outcomes)
    assert "The result has the wrong shape" not in " ".join(outcome.reason for outcome in outcomes)
    assert {outcome.kind for outcome in outcomes} <= {"passed", "wrong"}


def test_the_substitutes_are_in_the_courses_order() -> None:
    assert list(SUBSTITUTES) == [exercise for exercise in EXERCISES if exercise in SUBSTITUTES]


class Claiming(InProcessBackend):
    """A submission that always claims to have called these substitutes."""

    def __init__(self, unit: str, names: dict[str, Any], claims: tuple[str, ...]) -> None:
        super().__init__(unit, names)
        self.claims = claims

    def call(self, operation: str, **details: Any) -> Any:
        value = super().call(operation, **details)
        return list(self.claims) if operation == "unpatch" else value


@pytest.mark.proof(part="full")
@pytest.mark.parametrize("exercise", EXERCISES)
def test_no_wrong_answer_gains_by_saying_that_it_called_substitutes(exercise: str) -> None:
    suite = SUITES[UNITS[exercise]]
    wrong = [mistake.implementation for mistake in suite.mistakes_in(exercise)]
    if exercise in SUBSTITUTES:
        wrong.append(SUBSTITUTES[exercise])
    right = defined_in(REPOSITORY / "solutions" / f"{suite.unit}.py", suite.unit)
    for criterion in suite.of(exercise):
        earlier = [name for name in EXERCISES[: EXERCISES.index(exercise)] if name in SUBSTITUTES]
        # Only substitutes that change an expected value: with these, a right answer that calls none of them fails.
        effective = [name for name in earlier if not claimed(criterion, right, name).passed]
        for answer in wrong:
            names = {exercise: answer}
            if effective and not criterion.run(InProcessBackend(suite.unit, names)).passed:
                for claims in [*([name] for name in effective), effective]:
                    assert not claimed(criterion, names, *claims).passed, (criterion.name, answer, claims)


def claimed(criterion: Criterion, names: dict[str, Any], *claims: str) -> Outcome:
    """Return the outcome of a criterion for an answer that claims to have called these substitutes."""
    return criterion.run(Claiming(criterion.unit, names, claims), claims)
