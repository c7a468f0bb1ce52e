"""Probes of unit 2: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.testing.probes import (
    DEVIATIONS,
    Draw,
    Estimate,
    Property,
    alike,
    call,
    draws_from_generator,
    has_parameters,
    layers,
    probe,
    refusal,
    set_layers,
    set_to,
)

NAMES = ("W_query", "W_key", "W_value")


@probe("project_qkv")
def projections(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_in, d_out = draw.sizes(3)
    matrices = [draw.normal(d_in, d_out) for _ in NAMES]
    yield from call(unit.project_qkv, draw.normal(num_tokens, d_in), *matrices)


@probe("scaled_dot_product_attention")
def contexts_and_weights(unit: Any, draw: Draw) -> Iterator[Property]:
    queries, keys, d_k, d_v = draw.sizes(4)
    leading = draw.sizes(draw.size(0, 2), 1, 3)
    yield from call(
        unit.scaled_dot_product_attention,
        draw.viewed(draw.normal(*leading, queries, d_k)),
        draw.viewed(draw.normal(*leading, keys, d_k)),
        draw.viewed(draw.normal(*leading, keys, d_v)),
        keeps_dtype=True,
    )


@probe("SelfAttention_v1")
def attention_of_matrices(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_in, d_out = draw.sizes(3)
    module = unit.SelfAttention_v1(d_in, d_out)
    for name in NAMES:
        matrix = getattr(module, name)
        yield f"what {name} is", (isinstance(matrix, nn.Parameter), tuple(matrix.shape))
        yield f"whether {name} is trained", has_parameters(module, [matrix])
    module.to(draw.dtype).train(draw.chance(0.5))
    # Read the attributes again: the parameters may be other objects after .to.
    matrices = {name: set_to(getattr(module, name), draw.normal(d_in, d_out, scale=d_in**-0.5)) for name in NAMES}
    yield from call(module, draw.normal(num_tokens, d_in), parameters=matrices)


@probe("SelfAttention_v2")
def attention_of_layers(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d_in, d_out = draw.sizes(3)
    module = unit.SelfAttention_v2(d_in, d_out, **draw.pick({}, {"qkv_bias": True}, {"qkv_bias": False}))
    yield from layers(module, NAMES)
    module.to(draw.dtype).train(draw.chance(0.5))
    parameters = set_layers(draw, module, NAMES)
    yield from call(module, draw.normal(num_tokens, d_in), parameters=parameters)


class Matrices(nn.Module):
    """The module that transfer_weights changes. It computes attention by the rules of SelfAttention_v1."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in NAMES)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(inputs @ self.W_query, inputs @ self.W_key, inputs @ self.W_value)


class Layers(nn.Module):
    """The module that transfer_weights reads. It computes attention by the rules of SelfAttention_v2."""

    def __init__(self, d_in: int, d_out: int, bias: bool) -> None:
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in NAMES)

    def forward(self, inputs: Tensor) -> Tensor:
        return attended(self.W_query(inputs), self.W_key(inputs), self.W_value(inputs))


def attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return torch.softmax(queries @ keys.T / queries.shape[-1] ** 0.5, dim=-1) @ values


def source_and_target(draw: Draw) -> tuple[Layers, Matrices, Tensor]:
    """Return both modules, the first with zero biases or without biases, and inputs for both."""
    num_tokens, d_in, d_out = draw.sizes(3)
    if draw.chance(0.3):
        d_out = d_in
    source, target = Layers(d_in, d_out, bias=draw.chance(0.4)), Matrices(d_in, d_out)
    set_layers(draw, source.float(), NAMES)
    for name in NAMES:
        layer = getattr(source, name)
        set_to(layer.weight, draw.normal(d_out, d_in, dtype=torch.float32, scale=1))
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return source, target, draw.normal(num_tokens, d_in, dtype=torch.float32)


def state_of(module: nn.Module) -> list[tuple[str, Tensor, bool]]:
    return [(name, value.detach().clone(), value.requires_grad) for name, value in module.named_parameters()]


@probe("transfer_weights")
def outputs_after_the_transfer(unit: Any, draw: Draw) -> Iterator[Property]:
    source, target, inputs = source_and_target(draw)
    before = state_of(source)
    unit.transfer_weights(source, target)
    yield "whether the source is unchanged", alike(state_of(source), before)
    yield "the outputs of the source", source(inputs)
    yield "the outputs", target(inputs)
    yield "the outputs computed from the weights", Matrices.forward(target, inputs)
    for name in NAMES:
        matrix = getattr(target, name)
        yield f"what {name} is", (isinstance(matrix, nn.Parameter), tuple(matrix.shape))
        yield f"whether {name} is trained", has_parameters(target, [matrix])


@probe("transfer_weights", draws=300)
def biases_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    d_in, d_out = draw.sizes(2)
    source, target = Layers(d_in, d_out, bias=True), Matrices(d_in, d_out)
    for name in NAMES:
        nn.init.zeros_(getattr(source, name).bias)
    biased = [getattr(source, name).bias for name in draw.random.sample(NAMES, draw.pick(1, 1, 1, 2, 3))]
    with torch.no_grad():
        for bias in biased:
            bias[draw.random.randrange(d_out)] = draw.pick(1.0, -1.0, 0.01, -3.0)
            if d_out > 1 and draw.chance(0.3):  # these have no effect on the sum
                bias[0], bias[-1] = 0.5, -0.5
    before = state_of(source)
    yield from refusal(unit.transfer_weights, source, target)
    yield "whether the source is unchanged", alike(state_of(source), before)


@probe("dot_product_variance", draws=6)
def variances(unit: Any, draw: Draw) -> Iterator[Property]:
    d_k, samples = (1, 2, 5, 16, 64, 300)[draw.number % 6], 20_000
    generator = draw.pick([], [torch.Generator().manual_seed(draw.number)])
    plain, scaled = unit.dot_product_variance(d_k, samples, *generator)
    # The standard deviation of a variance over `samples` pairs; q·k has an excess kurtosis of 6 / d_k.
    spread = ((2 + 6 / d_k) / samples) ** 0.5
    yield "the variance", Estimate(float(plain), DEVIATIONS * spread * d_k)
    yield "the scaled variance", Estimate(float(scaled), DEVIATIONS * spread)


@probe("dot_product_variance", draws=4)
def number_of_samples(unit: Any, draw: Draw) -> Iterator[Property]:
    """The spread of the variances shows how many samples each was computed from, and of which quantity."""
    d_k, samples, times = draw.pick(1, draw.size(4, 9)), draw.size(40, 60), 1000
    results = [unit.dot_product_variance(d_k, samples, draw.generator) for _ in range(times)]
    for name, found, expected in zip(("plain", "scaled"), zip(*results, strict=True), (d_k, 1), strict=True):
        spread = torch.tensor([float(one) for one in found], dtype=torch.float64).std() / expected
        yield f"the spread of the {name} variances", Estimate(spread, DEVIATIONS * spread * (2 / times) ** 0.5)


@probe("dot_product_variance", draws=4)
def where_vectors_are_drawn(unit: Any, draw: Draw) -> Iterator[Property]:
    def result_with(generator: torch.Generator | None) -> Any:
        return unit.dot_product_variance(d_k, 50, **({} if generator is None else {"generator": generator}))

    d_k = draw.size(1, 9)
    yield from draws_from_generator(result_with, draw.number)
