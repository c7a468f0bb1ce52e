"""The properties of one failed comparison: how the student's values are related to the expected ones.

They need no known mistake: "transposed" holds for each result that, transposed, is the expected one. A small detector
finds each. It sees only two tensors, so what it says is true by construction. It gives no expected value away, except
for a constant factor. Each sentence lacks its subject, a plural such as "The weights".

The values come from a student process. Tensors that are large have no properties, and those that are not finite have
one, if any.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

# Sums of about ten products of standard normals in float32 have errors of about 1e-6, and common mistakes change values
# by 1e-2 and more. The tolerances of `expect_close` are ten times the former and at most a hundredth of the latter.
# The last one, for factors and logarithms, is wider.
RELATIVE, ABSOLUTE, WIDE = 1e-4, 1e-5, 1e-3
# A relation between fewer numbers may be a coincidence.
FEWEST = 4


class Property(NamedTuple):
    """A property of a wrong result: a stable name, like that of a misconception, and a sentence for the student.

    is_specific: whether it says so much that it hardly ever holds by chance.
    """

    name: str
    sentence: str
    is_specific: bool = True


Detector = Callable[[Tensor, Tensor], Iterator[Property]]


def close(value: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors have the same shape and, up to rounding in float32, the same values."""
    return value.shape == expected.shape and torch.allclose(value, expected, RELATIVE, ABSOLUTE)


def is_varied(tensor: Tensor, fewest: int = FEWEST) -> bool:
    """Return whether there are enough distinct numbers that a relation to them is no coincidence."""
    return bool(tensor.round(decimals=4).unique().numel() >= fewest)


def _is_mask(tensor: Tensor) -> bool:
    """Return whether all numbers are zero or one, and both occur."""
    return bool(((tensor == 0) | (tensor == 1)).all()) and tensor.unique().numel() == 2


def _is_repeated(tensor: Tensor, dim: int) -> bool:
    """Return whether a tensor is the same at every place along a dimension."""
    return close(tensor, tensor.narrow(dim, 0, 1).expand_as(tensor))


def _place(dim: int, dims: int) -> str:
    """Name a place along a dimension."""
    return {1: "place", 2: ("row", "column")[dim % 2]}.get(dims, f"place of dimension {dim}")


# -- places ------------------------------------------------------------------------------------------------------


def repeated(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect values that do not vary where the expected ones do."""
    if not value.any() and value.numel() >= FEWEST:
        yield Property("all_zero", "are all zero.", is_specific=False)
        return
    for dim in range(value.dim()):
        if value.shape[dim] > 1 and _is_repeated(value, dim) and not _is_repeated(expected, dim):
            text = f"are the same in every {_place(dim, value.dim())}, where they should differ."
            yield Property("the_same_everywhere", text, is_specific=False)


def swapped(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect two dimensions that are swapped."""
    for first, second in itertools.combinations(range(value.dim()), 2):
        if close(value.transpose(first, second), expected):
            which = "rows and columns" if value.dim() == 2 else f"dimensions {first} and {second}"
            text = f"are right, but transposed: {which} are swapped. Check what each dimension stands for."
            yield Property("transposed", text)


def out_of_order(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect the reverse order along a dimension, and values that come one place too early or too late."""
    for dim, size in enumerate(value.shape):
        if close(value.flip(dim), expected):
            yield Property("reversed", f"are right, but in reverse order along dimension {dim}.")
        if size < FEWEST or not is_varied(expected) or _is_repeated(expected, dim):
            continue
        for when, mine, right in (("early", 0, 1), ("late", 1, 0)):
            if close(value.narrow(dim, mine, size - 1), expected.narrow(dim, right, size - 1)):
                text = f"are right, but one place too {when} along dimension {dim}. Check where the counting starts."
                yield Property(f"one_place_{when}", text)


def shuffled(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect the expected numbers in other places."""
    mine, right = value.flatten(), expected.flatten()
    is_same = close(mine.sort().values, right.sort().values) and not close(mine, right)
    if is_same and is_varied(right, max(len(right) // 2, 2 * FEWEST)):
        text = "are the right numbers in the wrong places. Check the order of every reshape, transpose and join."
        yield Property("in_other_places", text)


def triangles(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect what is wrong on one side of the diagonal of the last two dimensions."""
    if value.dim() < 2 or not value.shape[-1] == value.shape[-2] > 2:
        return
    is_causal = expected.tril(-1).any() and not expected.triu(1).any()
    if is_causal and value.triu(1).any() and not value.tril(-1).any():
        yield Property("zero_below_the_diagonal", "are zero below the diagonal, not above it: the past is hidden.")
    elif is_causal and (value >= 0).all() and (value.triu(1) > ABSOLUTE).any():
        yield Property("not_zero_above_the_diagonal", "are not all zero above the diagonal: tokens see later ones.")
    wrong = ~torch.isclose(value, expected, RELATIVE, ABSOLUTE)
    everywhere = torch.ones_like(wrong)
    sides = {"above": everywhere.triu(1), "below": everywhere.tril(-1), "on": everywhere.triu().tril()}
    for name, side in sides.items():
        if not (wrong & ~side).any() and (_is_mask(expected) or is_varied(expected[~side])):
            yield Property(f"wrong_{name}_the_diagonal", f"are wrong {name} the diagonal, and right everywhere else.")


def parts(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect what is right, or wrong, at the first, the last or every other place along a dimension, and only there."""
    differs = ~torch.isclose(value, expected, RELATIVE, ABSOLUTE)
    for dim, size in enumerate(value.shape):
        wrong = differs.movedim(dim, 0).reshape(size, -1).any(1)  # (size,)
        # A part where all expected values are zero is right by chance.
        if not is_varied(expected.movedim(dim, 0)[~wrong], 3):
            continue
        first, odd, place = torch.arange(size) == 0, torch.arange(size) % 2 == 1, _place(dim, value.dim())
        is_feature = dim == value.dim() - 1 > 0
        # A batch often has two elements.
        if size >= (2 if dim == 0 and value.dim() > 2 else 3) and not is_feature:
            yield from _parts(wrong, {"first": first, "last": first.flip(0)}, f"the {{}} {place}")
        if size >= FEWEST:
            yield from _parts(wrong, {"even": ~odd, "odd": odd}, f"every {{}} {place}, counted from 0,")


def _parts(wrong: Tensor, places: dict[str, Tensor], words: str) -> Iterator[Property]:
    for name, where in places.items():
        place = words.format(name)
        if torch.equal(wrong, ~where):
            yield Property(f"right_only_in_{name}", f"are right in {place} and wrong in all others.", False)
        elif torch.equal(wrong, where):
            yield Property(f"wrong_only_in_{name}", f"are wrong in {place} and right in all others.", False)


# -- numbers -----------------------------------------------------------------------------------------------------


def sums(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect weights that do not sum to one along the dimension where the expected ones do."""

    def to_one(weights: Tensor) -> list[int]:
        along = [dim for dim, size in enumerate(weights.shape) if size > 1]
        return [dim for dim in along if close(weights.sum(dim), torch.ones_like(weights.sum(dim)))]

    right, found = to_one(expected), to_one(value)
    if len(right) != 1 or right[0] in found or (expected < 0).any():
        return
    way, name = right[0], "sums_along_another_dimension"
    if found and value.dim() == 2:
        should, does = ("row", "column") if way == 1 else ("column", "row")
        text = f"sum to one in each {does}, not in each {should}. Check the dimension of the sum, and its `keepdim`."
        yield Property(name, text)
    elif found:
        yield Property(name, f"sum to one along dimension {found[-1]}, but should along dimension {way}.")
    else:
        yield Property("sums_not_to_one", f"should sum to one along dimension {way}, and do not.", is_specific=False)


def lost_dims(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect rows that are divided by the sums of other rows, which a sum without `keepdim=True` leads to."""
    if value.dim() != 2 or value.shape[0] != value.shape[1] or not (expected[:, 0] > ABSOLUTE).all():
        return
    rows = value[:, :1] / expected[:, :1]  # (T, 1): entry i, j is off by the sum of row i over that of row j
    if is_varied(rows, fewest=3) and close(value, expected * rows / rows.T):
        text = "have each been divided by the sum of another row. Check the dimension of that sum, and its `keepdim`."
        yield Property("divided_by_another_row", text)


def factors(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect a constant factor, or one for each row or column."""
    if value.numel() < FEWEST or not value.any() or not expected.any():
        return
    number = _factor(value, expected, *range(value.dim())).item()
    if abs(number) > ABSOLUTE and close(value / number, expected):
        if abs(number + 1) < WIDE:
            yield Property("opposite_sign", "are right, but with the opposite sign.")
        elif abs(number - 1) > WIDE:
            yield Property("constant_factor", f"are the expected ones, multiplied by {number:.3g}.")
        return
    for dim, name in ((-1, "row"), (-2, "column")) if value.dim() > 1 else ():
        numbers = _factor(value, expected, dim)
        several = ((expected.abs() > ABSOLUTE).sum(dim) > 1).sum() > 1 and not _is_repeated(expected, dim)
        if several and (numbers.abs() > ABSOLUTE).all() and close(value / numbers, expected):
            text = (
                f"have the right proportions in each {name}, as if each {name} had been multiplied by its own number."
            )
            yield Property(f"factor_in_each_{name}", text)


def _factor(value: Tensor, expected: Tensor, *dims: int) -> Tensor:
    """Return the factor that takes `expected` closest to `value`, over these dimensions, which are kept."""
    squares = expected.square().sum(dims, keepdim=True)
    return (value * expected).sum(dims, keepdim=True) / squares.clamp(min=torch.finfo(squares.dtype).tiny)


def biases(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect a difference that is the same in every row."""
    if value.dim() < 2:
        return
    rows, right = value.flatten(0, -2), expected.flatten(0, -2)  # (…, C) -> (rows, C)
    if len(rows) > 2 and _is_repeated(rows - right, 0) and not _is_repeated(right, 0):
        text = "differ from the expected ones by the same numbers in every row. Is a bias missing, or one too many?"
        yield Property("same_difference_in_each_row", text)


def powers(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect weights that a softmax gives if all that goes into it has a factor: powers of the expected ones."""
    for dim in range(value.dim()):
        seen, ones = expected > ABSOLUTE, torch.ones_like(expected.sum(dim))
        is_softmax = close(value.sum(dim), ones) and close(expected.sum(dim), ones) and (expected >= 0).all()
        if not is_softmax or not torch.equal(seen, value > ABSOLUTE) or (seen.sum(dim) - 1).sum() < FEWEST - 1:
            continue
        mine, right = (_scores(weights, seen, dim) for weights in (value, expected))
        number = _factor(mine, right, *range(mine.dim())).item()
        is_far = min(abs(number), abs(number - 1), right.abs().max().item()) > WIDE
        if is_far and torch.allclose(mine / number, right, WIDE, WIDE):
            text = f"are what a softmax gives if all that goes into it is multiplied by {number:.3g}."
            yield Property("factor_before_softmax", text)


def _scores(weights: Tensor, seen: Tensor, dim: int) -> Tensor:
    """Return the scores behind the weights that are seen, with a mean of zero along a dimension; zero elsewhere."""
    logarithms = torch.where(seen, weights.clamp(min=ABSOLUTE).log(), 0.0)
    means = logarithms.sum(dim, keepdim=True) / seen.sum(dim, keepdim=True).clamp(min=1)
    return torch.where(seen, logarithms - means, 0.0)


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda x: x.softmax(-1),
    "exponential": torch.exp,
    "square": torch.square,
    "absolute value": torch.abs,
    "ReLU": torch.relu,
    "tanh": torch.tanh,
}


def functions(value: Tensor, expected: Tensor) -> Iterator[Property]:
    """Detect a function of all numbers that is applied once too often, or not at all."""
    if _is_mask(expected) and torch.equal(value, 1 - expected):
        yield Property("inverted", "are inverted: each entry is the opposite of the expected one.")
    if not is_varied(value) or not is_varied(expected):
        return
    for name, function in FUNCTIONS.items():
        slug = name.lower().replace(" ", "_")
        if close(function(expected), value):
            yield Property(f"extra_{slug}", f"are the {name} of the expected ones: that step is too much.")
        elif close(function(value), expected):
            yield Property(f"missing_{slug}", f"lack the last step: their {name} is the expected result.")
    if any(close(value, expected.round(decimals=places)) for places in range(4)):
        yield Property("rounded", "are the expected ones, rounded. Check for rounding and for whole-number types.")


# The most helpful come first.
OF_THE_SAME_SHAPE: list[Detector] = [
    repeated, swapped, out_of_order, lost_dims, triangles, functions, factors, powers, biases, shuffled, sums, parts,
]  # fmt: skip


# -- results of another shape ------------------------------------------------------------------------------------


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


# -- comparisons -------------------------------------------------------------------------------------------------

MOST_NUMBERS, MOST_DIMENSIONS = 10_000, 5
# What `expect_close` calls gradients.
GRADIENTS = "The gradients"
# The reason of a test in which a token sees later ones.
LOOKS_AHEAD = "An output changed with a token that comes later."

NOT_A_NUMBER = Property(
    "not_a_number",
    "are not all numbers: 0 · ∞, ∞ - ∞, ∞ / ∞ and 0 / 0 give NaN, and so do roots and logarithms of negative numbers, "
    "and a softmax of numbers that are all -∞, such as scores that are all hidden.",
)


class Comparison(NamedTuple):
    """A comparison that failed. what: a plural that names the values, such as "The weights"."""

    what: str
    value: Tensor
    expected: Tensor

    def properties(self) -> list[Property]:
        """Return the properties of the values, the most helpful first, with sentences that lack their subject."""
        if not _is_comparable(self.expected):
            return []
        if not _is_comparable(self.value):
            is_nan = self.value.is_floating_point() and self.value.shape == self.expected.shape
            return [NOT_A_NUMBER] if is_nan and self.value.isnan().any() else []
        value, expected = self.value.detach().double(), self.expected.detach().double()
        if close(value, expected):
            return []  # the comparison has another tolerance
        detectors = OF_THE_SAME_SHAPE if value.shape == expected.shape else OF_ANOTHER_SHAPE
        return [found for detector in detectors for found in detector(value, expected)]

    @property
    def is_finite(self) -> bool:
        """Whether all values are finite numbers."""
        return bool(self.value.isfinite().all())

    @property
    def is_telling(self) -> bool:
        """Whether the expected values vary so much that few properties hold by chance."""
        return _is_comparable(self.expected) and is_varied(self.expected.detach().double())


def _is_comparable(tensor: Tensor) -> bool:
    is_small = 0 < tensor.numel() <= MOST_NUMBERS and tensor.dim() <= MOST_DIMENSIONS
    return is_small and not tensor.is_complex() and bool(tensor.detach().double().isfinite().all())
