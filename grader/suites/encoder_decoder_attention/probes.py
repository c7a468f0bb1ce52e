"""Probes of unit 8: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from grader.suites.attention_probes import is_seen, one_hot_at_low_scores
from grader.testing.probes import Draw, Property, call, layers, probe, set_layers

NAMES = ("W_query", "W_key", "W_value")


@probe("rnn_hidden_states")
def states_of_a_text(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d, h = draw.sizes(3)
    matrices = draw.normal(d, h, scale=d**-0.5), draw.normal(h, h, scale=h**-0.5)
    yield from call(unit.rnn_hidden_states, draw.normal(num_tokens, d), *matrices, draw.normal(h))


def states_and_matrices(draw: Draw) -> list[torch.Tensor]:
    num_tokens, h, a = draw.sizes(3)
    h = max(h, 2)  # so that a right answer may squeeze a context of shape (1, h)
    return [
        draw.normal(h),
        draw.normal(num_tokens, h),
        draw.normal(h, a, scale=h**-0.5),
        draw.normal(h, a, scale=h**-0.5),
        draw.normal(a),
    ]


@probe("additive_scores")
def scores_of_states(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.additive_scores, *states_and_matrices(draw))


@probe("bahdanau_context")
def context_and_weights(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from call(unit.bahdanau_context, *states_and_matrices(draw))


@probe("CrossAttention")
def contexts_of_another_text(unit: Any, draw: Draw) -> Iterator[Property]:
    d_query, d_context, d_out, queries, keys = draw.sizes(5)
    batch = draw.size(1, 3)
    module = unit.CrossAttention(d_query, d_context, d_out)
    yield from layers(module, NAMES)
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = set_layers(draw, module, NAMES)
    x, context = draw.normal(batch, queries, d_query), draw.normal(batch, keys, d_context)
    if draw.dtype == torch.float64 and draw.chance(0.2):  # so that padding can have much higher scores
        x = 100 * x
    if draw.chance(0.3):
        yield from call(module, x, context, parameters=parameters)
        return
    padding_mask = draw.integers(0, 2, batch, keys).bool()
    padding_mask[torch.arange(batch), draw.integers(0, keys, batch)] = False  # at least one token is not padding
    if draw.chance(0.15):
        padding_mask[:] = False
    context = torch.where(padding_mask[..., None], draw.pick(1, 1, 100, 10_000) * context, context)
    if draw.chance(0.5):
        yield from call(module, x, context, padding_mask, parameters=parameters)
    else:
        yield from call(module, x, context, padding_mask=padding_mask, parameters=parameters)


@probe("CrossAttention", draws=5)
def padding_beside_low_scores(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens = draw.number + 2
    module = unit.CrossAttention(num_tokens, num_tokens, num_tokens)
    text = one_hot_at_low_scores(module, NAMES, num_tokens)
    padding_mask = torch.arange(num_tokens)[None] == num_tokens - 1  # (1, T), only the last token is padding
    output = module(text, text, padding_mask=padding_mask)  # (1, T, T), the weights
    yield "whether padding has weight beside low scores", is_seen(output[..., -1])
    output = module(torch.zeros_like(text), text, padding_mask=padding_mask)
    yield "whether a score of zero has weight", bool(output.isfinite().all())
