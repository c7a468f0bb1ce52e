"""Probes of unit 5: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grader.testing.probes import Draw, Estimate, Property, call, probe, refusal

# The rule allows 1e-4. At position 255 the rounding error of float32 alone is almost a third of that.
WITHIN = 7e-5


@probe("linear_as_matmul")
def rows_through_a_layer(unit: Any, draw: Draw) -> Iterator[Property]:
    m, n, k = draw.sizes(3)
    yield from call(unit.linear_as_matmul, draw.normal(m, n), draw.normal(n, k), draw.normal(k))


@probe("sinusoidal_encoding", draws=600)
def positions_encoded(unit: Any, draw: Draw) -> Iterator[Property]:
    num_positions = draw.pick(draw.size(1, 9), draw.size(1, 60), draw.size(200, 256))
    d_model = 2 * draw.pick(draw.size(1, 5), draw.size(1, 40))
    yield "the values", Estimate(unit.sinusoidal_encoding(num_positions, d_model), WITHIN)


@probe("sinusoidal_encoding", draws=100)
def odd_widths_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    yield from refusal(unit.sinusoidal_encoding, draw.size(1, 12), 2 * draw.size(0, 9) + 1)


@probe("add_positions")
def positions_added(unit: Any, draw: Draw) -> Iterator[Property]:
    batch, num_tokens, pairs = draw.sizes(3)
    if draw.chance(0.1):
        num_tokens = draw.size(10, 30)
    yield from call(unit.add_positions, draw.viewed(draw.normal(batch, num_tokens, 2 * pairs)), keeps_dtype=True)


@probe("add_positions", draws=100)
def odd_features_refused(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(draw.size(), draw.size(), 2 * draw.size(0, 5) + 1)
    yield from refusal(unit.add_positions, x, any_error=True)
