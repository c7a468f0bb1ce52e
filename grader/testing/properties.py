"""The properties of one failed comparison: how the student's values are related to the expected ones.

They need no known mistake: "transposed" holds for each result that, transposed, is the expected one. The values come
from a student process. Tensors that are large have no properties, and those that are not finite have one, if any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.testing.other_shapes import OF_ANOTHER_SHAPE
from grader.testing.relations import OF_THE_SAME_SHAPE, Property, close, is_varied

if TYPE_CHECKING:
    from torch import Tensor

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
