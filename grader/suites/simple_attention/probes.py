"""Probes of unit 1: the properties that its rules define. The audit compares answers by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from grader.testing.probes import Draw, Estimate, Property, alike, call, probe, refusal

Numbers = Sequence[float] | torch.Tensor


def numbers_for(draw: Draw, count: int) -> Numbers:
    """Return a sequence of `count` numbers, of any type that dot_product takes."""
    # All ints or all floats: a mixture would give products of two dtypes with a tensor of ints.
    numbers: list[float] = [draw.random.gauss(0, 3) for _ in range(count)]
    is_ints = draw.chance(0.4)
    if is_ints:
        numbers = [draw.random.randint(-9, 9) for _ in range(count)]
    match draw.pick("list", "tuple", "tensor"):
        case "tuple":
            return tuple(numbers)
        case "tensor":
            return torch.tensor(numbers, dtype=torch.int64 if is_ints else draw.dtype)
    return numbers


@probe("dot_product")
def sums_of_products(unit: Any, draw: Draw) -> Iterator[Property]:
    count = draw.size(0, 7)
    a, b = numbers_for(draw, count), numbers_for(draw, count)
    before = [list(a), list(b)]
    yield "the values", unit.dot_product(a, b)
    yield "the arguments afterwards", alike([list(a), list(b)], before)


@probe("dot_product", draws=300)
def lengths_that_differ(unit: Any, draw: Draw) -> Iterator[Property]:
    first, second = draw.random.sample(range(6), 2)
    yield from refusal(unit.dot_product, numbers_for(draw, first), numbers_for(draw, second))


@probe("attention_scores")
def scores_of_a_query(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d = draw.sizes(2)
    yield from call(unit.attention_scores, draw.normal(d), draw.normal(num_tokens, d))


@probe("normalize_by_sum")
def shares_of_a_sum(unit: Any, draw: Draw) -> Iterator[Property]:
    scores = draw.normal(draw.size(1, 8))
    if draw.chance(0.3):
        scores = draw.pick(1, -1) * scores.abs()
    # A sum near zero makes any answer inexact.
    while scores.sum().abs() < 0.2 * scores.abs().sum():
        scores = draw.normal(len(scores))
    yield from call(unit.normalize_by_sum, scores)


def dim_for(draw: Draw, x: torch.Tensor) -> dict[str, Any]:
    return {} if draw.chance(0.3) else {"dim": draw.random.randrange(-x.dim(), x.dim())}


@probe("softmax_naive")
def plain_softmax(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(*draw.sizes(draw.size(1, 4)))
    yield from call(unit.softmax_naive, x, **dim_for(draw, x))


@probe("softmax_stable")
def softmax_of_anything(unit: Any, draw: Draw) -> Iterator[Property]:
    x = draw.normal(*draw.sizes(draw.size(1, 4)))
    match draw.pick("plain", "large", "all large", "infinite"):
        case "large":
            large = torch.tensor([10_000, 0, -10_000], dtype=x.dtype)[draw.integers(0, 3, *x.shape)]
            x = torch.where(large == 0, x, large)
        case "all large":
            x = torch.tensor([10_000, -10_000], dtype=x.dtype)[draw.integers(0, 2, *x.shape)]
            x = draw.pick(x, x.abs(), -x.abs())
    options = dim_for(draw, x)
    if draw.chance(0.3):
        hidden = draw.integers(0, 2, *x.shape).bool()
        hidden &= ~hidden.all(dim=options.get("dim", -1), keepdim=True)  # each list keeps a finite entry
        x = x.masked_fill(hidden, -torch.inf)
    x = draw.viewed(x)
    if x.dtype == torch.float32 and x.masked_fill(x == -torch.inf, 0).abs().max() == 10_000:
        # Subtracting the logarithm of the sum is correct too, but loses digits if two entries are that large.
        found = unit.softmax_stable(x, **options)
        yield "the values of large entries", Estimate(found, 5e-4)
        yield "the dtype", str(found.dtype)
    else:
        yield from call(unit.softmax_stable, x, keeps_dtype=True, **options)


@probe("context_vector")
def weighted_sum(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d = draw.sizes(2)
    yield from call(unit.context_vector, draw.normal(num_tokens), draw.normal(num_tokens, d))


@probe("simple_self_attention")
def contexts_and_weights(unit: Any, draw: Draw) -> Iterator[Property]:
    num_tokens, d = draw.sizes(2)
    yield from call(unit.simple_self_attention, draw.normal(num_tokens, d))
