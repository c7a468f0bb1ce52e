"""Probes of unit 3: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_probes import (
    causal_at_low_scores,
    dropped_weights,
    is_seen,
    one_hot_texts,
    parameters_of_length,
    unit_values,
)
from grader.testing.probes import (
    PROBABILITIES,
    Draw,
    Property,
    alike,
    call,
    draws_from_generator,
    layers,
    probe,
    refusal,
    set_layers,
    set_to,
    shares,
)

NAMES = ("W_query", "W_key", "W_value")


@probe("causal_mask", draws=60)
def mask_of_the_future(unit: Any, draw: Draw) -> Iterator[Property]:
    mask = unit.causal_mask(draw.number + 1)
    yield "the dtype", str(mask.dtype)
    yield "the values", mask


@probe("mask_then_renormalize")
def past_weights(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.size(1, 8)
    # No weight near zero: gradients are differences of terms such as 1 / weight, and float32 rounds each of them.
    scores = draw.normal(num_tokens, num_tokens, scale=0.3)
    yield from call(unit.mask_then_renormalize, torch.softmax(scores, dim=-1))


@probe("mask_then_softmax")
def softmax_of_the_past(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_k = draw.sizes(2, 1, 8)
    scores = draw.normal(num_tokens, num_tokens)
    if draw.chance(0.3):
        scores += draw.pick(300, 1_000, 10_000) * torch.ones_like(scores).triu(diagonal=1)
    yield from call(unit.mask_then_softmax, scores, d_k)


@probe("mask_then_softmax", draws=5)
def future_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_k = draw.number + 2, draw.size()
    scores = torch.full((num_tokens, num_tokens), -10_000 * d_k**0.5, dtype=torch.float64)
    yield (
        "whether the future has weight if scores are low",
        is_seen(unit.mask_then_softmax(scores, d_k).triu(diagonal=1)),
    )
    yield "whether a score of zero has weight", bool(unit.mask_then_softmax(0 * scores, d_k).isfinite().all())


@probe("attention_dropout")
def weights_kept_or_dropped(unit: Any, draw: Draw) -> Iterator[Property]:
    """It is random which weights are dropped, but not what the result for each weight is."""
    weights = draw.normal(*draw.sizes(draw.size(1, 4)), scale=1)
    weights = torch.where(weights < 0, weights - 0.1, weights + 0.1)  # none is zero before dropout
    p = draw.pick(0.0, 0.1, 0.5, 0.9, 0.99)
    given = weights.clone().requires_grad_()
    found = unit.attention_dropout(given, p, **draw.pick({}, {"generator": draw.generator}))
    kept = found != 0
    yield "whether each weight is dropped or scaled", alike(found, weights * kept / (1 - p))
    yield "the arguments afterwards", given
    [gradient] = torch.autograd.grad(found.sum(), [given])
    yield "whether gradients flow to what is kept", alike(gradient, kept.to(weights.dtype) / (1 - p))
    if p == 0:
        yield "the result for p = 0", found
    yield "the arguments after a call without gradients", changed_by_dropout(unit, weights, p)


def changed_by_dropout(unit: Any, weights: torch.Tensor, p: float) -> torch.Tensor:
    given = weights.clone()
    unit.attention_dropout(given, p)
    return given


@probe("attention_dropout", draws=100)
def probabilities_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    p = draw.pick(-0.1, -1.0, -0.001, -5.0, 1.0, 1.0, 1.001, 1.5, 10.0)
    yield from refusal(unit.attention_dropout, draw.normal(draw.size(), draw.size()), p)


@probe("attention_dropout", draws=8)
def what_is_dropped(unit: Any, draw: Draw) -> Iterator[Property]:
    p = PROBABILITIES[draw.number % 4]
    shape = draw.pick((2000, 6), (2000, 2, 3), (2000, 3, 1, 2))
    found = unit.attention_dropout(
        torch.ones(shape, dtype=draw.dtype), p, **draw.pick({}, {"generator": draw.generator})
    )
    yield from shares(found.flatten(1) != 0)


@probe("attention_dropout", draws=4)
def what_is_dropped_call_by_call(unit: Any, draw: Draw) -> Iterator[Property]:
    p = PROBABILITIES[draw.number]
    options = draw.pick({}, {"generator": draw.generator})
    found = [unit.attention_dropout(torch.ones(2, 2), p, **options) for _ in range(2000)]
    yield from shares(torch.stack(found).flatten(1) != 0)


@probe("attention_dropout", draws=8)
def where_drops_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> torch.Tensor:
        return unit.attention_dropout(weights, 0.5, generator=generator)

    weights = draw.normal(20, 10)
    yield from draws_from_generator(result_with, draw.number)


@probe("CausalAttention")
def contexts_of_the_past(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out, num_tokens = draw.sizes(3)
    context_length = num_tokens + draw.pick(0, 0, 1, 5)
    options = draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False})
    dropout = draw.pick(0.0, 0.5)
    module = unit.CausalAttention(d_in, d_out, context_length, dropout, **options)
    yield from layers(module, NAMES)
    module.to(draw.dtype).train(dropout == 0 and draw.chance(0.5))
    parameters = set_layers(draw, module, NAMES)
    yield from call(module, draw.viewed(draw.normal(draw.size(1, 3), num_tokens, d_in)), parameters=parameters)


@probe("CausalAttention", draws=5)
def no_mask_among_the_parameters(unit: Any, draw: Draw) -> Iterator[Property]:
    context_length = 20 + draw.number
    module = unit.CausalAttention(draw.size(), draw.size(), context_length, 0.0, qkv_bias=draw.chance(0.5))
    yield from parameters_of_length(module, context_length)


@probe("CausalAttention", draws=5)
def later_tokens_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.CausalAttention(num_tokens, num_tokens, num_tokens, 0.0)
    yield from causal_at_low_scores(module, NAMES, num_tokens)


@probe("CausalAttention", draws=4)
def weights_dropped_in_training(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, dropout = 3, PROBABILITIES[draw.number]
    module = unit.CausalAttention(num_tokens, 2 * num_tokens, draw.pick(3, 5), dropout)
    set_layers(draw, module.to(draw.dtype), NAMES)
    set_to(module.W_value.weight, unit_values(num_tokens))
    yield from dropped_weights(module, one_hot_texts(1000, num_tokens).to(draw.dtype), dropout)
