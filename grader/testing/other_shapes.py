"""Relations between a wrong result and an expected one of another shape, as in `grader.testing.relations`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch

from grader.testing.relations import Detector, Property, close, shuffled, swapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor


def reshaped(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect the expected numbers in their order, but in another shape."""
    if close(value.flatten(), expected.flatten()):
        yield Property("only_the_shape", "are the right numbers in the right order, but have the wrong shape.")


def cut(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect a result that is too long or too short along one dimension, and right otherwise."""
    sizes = zip(value.shape, expected.shape, strict=False)
    unequal = [dim for dim, (mine, right) in enumerate(sizes) if mine != right]
    if value.dim() != expected.dim() or len(unequal) != 1:
        return
    [dim] = unequal
    size = min(value.shape[dim], expected.shape[dim])
    name, many = ("too_long", "many") if value.shape[dim] > size else ("too_short", "few")
    first = [one.narrow(dim, 0, size) for one in (value, expected)]
    last = [one.narrow(dim, one.shape[dim] - size, size) for one in (value, expected)]
    for side, both in (("end", first), ("start", last)):
        if close(*both):
            yield Property(name, f"are right, but there are too {many} at the {side} of dimension {dim}.")


def reduced(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect a sum or a mean over a dimension that is too much, or missing."""
    ways: dict[str, Callable[..., Tensor]] = {"sum": torch.sum, "mean": torch.mean}
    for (name, way), keepdim in itertools.product(ways.items(), (False, True)):
        for dim, size in enumerate(expected.shape):
            if size > 1 and value.any() and close(way(expected, dim, keepdim=keepdim), value):
                yield Property(f"extra_{name}", f"are the {name}s of the expected ones over dimension {dim}.")
        for dim, size in enumerate(value.shape):
            if size > 1 and expected.any() and close(way(value, dim, keepdim=keepdim), expected):
                yield Property(f"missing_{name}", f"lack the last step: the {name} over dimension {dim}.")


# The most helpful come first.
OF_ANOTHER_SHAPE: list[Detector] = [swapped, reshaped, cut, reduced, shuffled]
