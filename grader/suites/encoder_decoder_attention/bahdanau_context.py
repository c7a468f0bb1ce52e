"""bahdanau_context: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from grader.suites.encoder_decoder_attention.shared import (
    ADDED,
    EXCHANGED,
    HIDDEN,
    NO_TANH,
    STATES,
    Pair,
    T,
    additive_scores_of,
    context_of,
    expect_order,
    ordered_states,
    softmax_of,
    states,
    states_with,
)
from grader.testing.checks import expect_close, expect_tensor, expect_true, expect_values
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Example,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
    rule,
)


def bahdanau_of(student: Student) -> Callable[..., Pair]:
    """bahdanau_context: the context (h,) and the weights (T,)."""
    score, normalize = student.substitute("additive_scores", additive_scores_of(student)), softmax_of(student)
    weighted_sum = context_of(student)

    def bahdanau_context(decoder_state: torch.Tensor, encoder_states: torch.Tensor, *weights: torch.Tensor) -> Pair:
        encoder_states = encoder_states.double()
        scores = score(decoder_state.double(), encoder_states, *(weight.double() for weight in weights))
        attention_weights = normalize(scores, -1)
        return weighted_sum(attention_weights, encoder_states), attention_weights

    return bahdanau_context


def decisive_state(fresh: Fresh, count: int = T, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Arguments of bahdanau_context where one encoder state gets all the weight.

    In each feature its sum is about 3 and all other sums are about -1, and the entries of v sum to 80. So the best
    score is about 80 · (tanh(3) - tanh(-1)) = 140 ahead, and still 140 / 6 if the scores are divided by the width.
    exp(80) is finite in float32, so softmax works without subtracting the maximum.
    """
    targets = torch.full((count, ADDED), -2.0, dtype=torch.float64)
    targets[fresh.order(count)[0]] = 2
    features, v = fresh(2, ADDED, dtype=torch.float64).abs().clamp(max=2) + 1
    return [*states_with(fresh, targets, 0.7 + features / 10, dtype=dtype), (80 * v / v.sum()).to(dtype)]


def context_and_weights(result: Any) -> Pair:
    """Return context and weights, also if they are swapped: one criterion is about their order, and no other."""
    context, weights = expect_values(result, 2)
    is_swapped = isinstance(weights, torch.Tensor) and weights.shape == (HIDDEN,)
    return (weights, context) if is_swapped else (context, weights)


def expect_context_and_weights(value: Any, right: Pair) -> None:
    context, weights = context_and_weights(value)
    expect_close(weights, right[1], "The weights")
    expect_close(context, right[0], "The features of the context")


def scores_from(weights: torch.Tensor) -> torch.Tensor:
    """The scores (T,) behind these weights, minus their mean: softmax ignores a constant."""
    logarithms = weights.double().log()
    return logarithms - logarithms.mean()


SOFTMAX = "the weights are the softmax of the additive scores, so they sum to one"


@rule(SOFTMAX)
def test_additive_scores_are_behind_the_weights(student: Student, fresh: Fresh) -> None:
    """The weights should be the softmax of the plain additive scores, not scaled."""
    arguments = states(fresh)
    _, weights = context_and_weights(student.bahdanau_context(*arguments))
    _, right_weights = bahdanau_of(student)(*arguments)
    expect_close(scores_from(expect_tensor(weights, (T,))), scores_from(right_weights), "The scores")


@rule(SOFTMAX)
def test_the_encoder_states_share_the_attention(student: Student, fresh: Fresh) -> None:
    """The weights should be positive, sum to one, and be largest for the encoder state with the best score."""
    arguments = ordered_states(fresh, T)
    _, weights = context_and_weights(student.bahdanau_context(*arguments))
    _, right_weights = bahdanau_of(student)(*arguments)
    expect_true(bool((expect_tensor(weights, (T,)) > 0).all()), "Not every weight is positive.")
    expect_close(weights.sum(), right_weights.sum(), "The sum of the weights")
    expect_order(weights, right_weights)


@rule("the context is the sum of the encoder states, each times its weight")
def test_the_context_is_a_sum_of_encoder_states(student: Student, fresh: Fresh) -> None:
    """The context should be the sum of the encoder states themselves, each times its weight: shape (h,)."""
    for added in (ADDED, HIDDEN):  # last, sums are as wide as states: using them instead is no error
        arguments = states(fresh, added=added)
        context, _ = context_and_weights(student.bahdanau_context(*arguments))
        expect_close(context, bahdanau_of(student)(*arguments)[0], "The features of the context")


@rule("the result is the pair (context, weights)")
def test_the_context_comes_before_the_weights(student: Student, fresh: Fresh) -> None:
    """The function should return two results: first the context (h,), then the weights (T,)."""
    arguments = decisive_state(fresh, T)
    first, second = expect_values(student.bahdanau_context(*arguments), 2)
    context, weights = bahdanau_of(student)(*arguments)
    expect_close(first, context, "The features of the context")
    expect_close(second, weights, "The weights")


GATHER = asking("bahdanau_context", decisive_state, bahdanau_of, expect_context_and_weights)


test_contract = contract(
    GATHER,
    right_results(
        "a_context_of_any_number_of_states", "any number of encoder states, including one",
        "Any number of encoder states should work; a single one has the weight one and is the context itself.",
        *({"count": count} for count in (1, 3, 7))),
    right_results(
        "bahdanau_context_of_either_dtype", "float32 and float64 arguments both work",
        "Context and weights should be correct for float32 and for float64 arguments.", *IN_BOTH_DTYPES),
    right_gradients(
        "gradients_of_bahdanau_context", "gradients flow to all five arguments",
        "Gradients of context and weights should flow to the states of both sides, to both matrices and to v.",
        ask=asking("bahdanau_context", states, bahdanau_of)),
    kept_arguments(
        "bahdanau_context_leaves_the_arguments_alone", "the arguments are not changed",
        "Context and weights should be correct, and the call should not change its arguments.",
        "An argument was changed."),
    example=Example(STATES),
)  # fmt: skip


# -- misconceptions ------------------------------------------------------------------------------------------------

ADDITIVE = "additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v)"
SOFTMAX_LINE = "torch.softmax(scores, dim=0)"
CALLS = ["additive_scores"]

MISCONCEPTIONS = [
    mistake("scores_as_weights", replace(SOFTMAX_LINE, "scores"),
        "The scores are used as weights directly. Apply softmax first: it makes them positive, with the sum one."),
    mistake("additive_scores_scaled_by_a", replace("(scores", "(scores / len(v) ** 0.5"),
        "The scores are divided by the root of a. That is for dot products, which grow with the width. Here the tanh "
        "keeps every term between -1 and 1, and v can learn any size."),
    mistake("softmax_over_a_single_score",
        replace("torch.softmax(scores, dim=0)", "torch.softmax(scores[:, None], dim=1)[:, 0]"),
        "Every weight is one: softmax runs over a dimension of size one. It should run over the T encoder states, so "
        "that their weights sum to one."),
    mistake("last_state_as_the_context", replace("weights @ encoder_states", "encoder_states[-1]"),
        "The last encoder state is the context, whatever the scores are. That was the method before attention. Now "
        "each state counts with its weight."),
    mistake("context_without_tanh", replace(ADDITIVE, "(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v"),
        NO_TANH),
    mistake("matrices_exchanged_in_context", replace("W_decoder, W_encoder", "W_encoder, W_decoder"), EXCHANGED),
    mistake("dot_products_in_context", replace(ADDITIVE, "encoder_states @ decoder_state"),
        "These are dot products of the states. Additive attention is older: it adds the two projections, takes the "
        "tanh, and multiplies with v."),
    mistake("projections_mixed", replace("weights @ encoder_states", "weights @ encoder_states @ W_encoder"),
        "The context is a sum of projected states. The projections are only for the scores. The context is the "
        "weighted sum of the encoder states themselves, (h,)."),
    mistake("context_as_a_row", replace("return context", "return context[None]"),
        "The context still has a dimension of size one. For one state of the decoder it should be one vector, (h,)."),
    mistake("decoder_state_added", replace("return context", "return context + decoder_state"),
        "The decoder's state was added to the context. The decoder does that itself, later. The context should only "
        "contain the encoder states."),
    mistake("weights_first", replace("context, weights", "weights, context"),
        "The two results are in the wrong order. Return the context first, then the weights, as everywhere in this "
        "course."),
    mistake("context_alone", replace("context, weights", "context"),
        "Only the context is returned. Return the weights too: they show where the decoder looked."),
    mistake("scores_in_the_place_of_weights", replace("context, weights", "context, scores"),
        "The context is correct, but the scores are returned instead of the weights. The weights are the softmax of "
        "the scores."),
    mistake("lonely_weight_squeezed", replace("context, weights", "context, weights.squeeze()"),
        "`squeeze()` removes every dimension of size one, so the weight of a single encoder state is not a vector "
        "any more."),
    mistake("states_made_float32_in_context",
        replace("(decoder_state, encoder_states", "(decoder_state.float(), encoder_states.float()"),
        "The states are made float32, so they do not match float64 tensors. Keep the dtype of the arguments."),
    mistake("context_without_gradients", replace("context, weights", "context.detach(), weights.detach()"),
        "Gradients stop at the results, for example because of `.detach()`, `.data` or `torch.no_grad()`. Encoder "
        "and decoder learn only through these results."),
    mistake("encoder_states_weighted_in_place",
        replace("    return", "    with torch.no_grad():\n        encoder_states *= weights[:, None]\n    return"),
        "The caller's encoder states were multiplied by the weights in place. The next word of the translation needs "
        "them again: write `x = x * …` instead of `x *= …`."),
]  # fmt: skip


# -- answers -------------------------------------------------------------------------------------------------------


def wrong_answers():
    """Mistakes without a name, and answers with two. Never run here: the audit reads them."""

    def _scores(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return torch.tanh(decoder_state @ W_decoder + encoder_states @ W_encoder) @ v

    def _weights(*arguments):
        return torch.softmax(_scores(*arguments), dim=0)

    def additive_scores_scaled_by_a__and__projections_mixed(decoder_state, encoder_states, W_decoder, W_encoder, v):
        scores = _scores(decoder_state, encoder_states, W_decoder, W_encoder, v)
        weights = torch.softmax(scores / len(v) ** 0.5, dim=0)
        return weights @ (encoder_states @ W_encoder), weights

    def last_state_as_the_context__and__dot_products_in_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
        return encoder_states[-1], torch.softmax(encoder_states @ decoder_state, dim=0)

    def logarithms_of_the_weights(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, v).log()
        return weights @ encoder_states, weights

    def mean_of_the_weighted_states(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, v)
        return (weights[:, None] * encoder_states).mean(dim=0), weights

    def decoder_state_put_behind(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, v)
        return torch.cat([weights @ encoder_states, decoder_state]), weights

    def tanh_of_the_context(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, v)
        return torch.tanh(weights @ encoder_states), weights

    def three_results(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, v)
        return weights @ encoder_states, weights, _scores(decoder_state, encoder_states, W_decoder, W_encoder, v)

    def worst_state_favoured(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = _weights(decoder_state, encoder_states, W_decoder, W_encoder, -v)
        return weights @ encoder_states, weights


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import torch.nn as nn
    from encoder_decoder_attention import additive_scores
    from simple_attention import context_vector, softmax_naive, softmax_stable

    def building_on(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = softmax_stable(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v))
        return context_vector(weights, encoder_states), weights

    def by_hand(decoder_state, encoder_states, W_decoder, W_encoder, v):
        scores = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v).double()
        exponentials = [torch.exp(score - scores.max()) for score in scores]
        weights = [(e / sum(exponentials)).to(encoder_states.dtype) for e in exponentials]
        context = sum(weight * state for weight, state in zip(weights, encoder_states, strict=True))
        return [context, torch.stack(weights)]

    def einsum(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = nn.functional.softmax(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v), dim=-1)
        return torch.einsum("t,th->h", weights, encoder_states), weights

    def query_by_query(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = softmax_naive(additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v))
        return (weights.unsqueeze(1) * encoder_states).sum(0), weights

    def ready_made(decoder_state, encoder_states, W_decoder, W_encoder, v):
        weights = additive_scores(decoder_state, encoder_states, W_decoder, W_encoder, v).log_softmax(0).exp()
        return torch.mv(encoder_states.T, weights), weights
