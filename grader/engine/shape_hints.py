"""What to do about tensors whose shapes do not fit, by the error's text, the shapes and the code of the line."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# A sum or the like along a dim, and errors that come of the dim that it removes.
REDUCTION = re.compile(r"\b(sum|mean|max|min|amax|amin|var|std)\((?!\))")
INDEXED = re.compile(rf"{REDUCTION.pattern}[^()]*\)\S*\[")
# Tensors that do not line up, and products that do not fit.
UNEQUAL = re.compile(r"must match the size of tensor")
PRODUCT = re.compile(r"shapes cannot be multiplied|^size mismatch, got input")
PRODUCT_OF_BATCHES = re.compile(
    rf"{UNEQUAL.pattern}|shapes cannot be multiplied|^Expected size for first two dimensions of batch2"
)
MISMATCH = re.compile(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)")
IN_A_PRODUCT = re.compile(r"@|\b(?:matmul|bmm|mm)\(")
SWAP = r"(?<![\w.]){name}\.(?:{ways})\((-?\d), ?(-?\d)\)|\b(?:{ways})\({name}, ?(-?\d), ?(-?\d)\)"
A_LAYER = re.compile(r"\bself\.\w+\(|linear\(")
WAYS = "transpose|swapaxes|swapdims"


class _Tensor(NamedTuple):
    """A tensor in the line of an error."""

    name: str
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, shape: str) -> _Tensor:
        """Return the tensor of a text such as "x (2, 3)"."""
        name, _, sizes = shape.partition(" ")
        return cls(name, tuple(map(int, re.findall(r"\d+", sizes))))

    @property
    def transposed(self) -> _Tensor:
        """The transpose of a matrix; a vector has none."""
        name = self.name.removesuffix(".T") if self.name.endswith(".T") else f"{self.name}.T"
        return _Tensor(name, self.sizes[::-1]) if len(self.sizes) == 2 else self

    def fits(self, other: _Tensor) -> bool:
        """Return whether this matrix or vector can be multiplied by another one from the left."""
        return 0 < len(self.sizes) < 3 > len(other.sizes) > 0 and self.sizes[-1] == other.sizes[0]

    def swap_of_other_dims(self, code: str) -> str:
        """Return where a line swaps other dims of this batch than the last two, or ""."""
        dims = len(self.sizes)
        if dims > 2 and self.name.endswith(".T"):
            return self.name
        for found in re.finditer(SWAP.format(name=re.escape(self.name), ways=WAYS), code) if dims > 2 else ():
            if {int(one) % dims for one in found.groups() if one} != {dims - 2, dims - 1}:
                return found[0]
        return ""


def hint_on_shapes(detail: str, code: str, shapes: Sequence[str]) -> str:
    """Return a sentence on what to do about tensors whose shapes do not fit, or "".

    Args:
        detail: The error's text.
        code: The text of the line.
        shapes: The tensors in the expression that failed, each a name and a shape.
    """
    tensors = [_Tensor.of(one) for one in shapes]
    return (
        _swapped(detail, code, tensors)
        or _unequal(detail, code, tensors)
        or _lost_dim(detail, code)
        or _column(detail, tensors)
        or (_product(detail, code, tensors) if PRODUCT.search(detail) else "")
    )


def _lost_dim(detail: str, code: str) -> str:
    """Return what to do about the dim that a sum or the like in the line removes, or ""."""
    reduction = REDUCTION.search(code)
    is_lost = (
        UNEQUAL.search(detail)
        or ("too many indices" in detail and INDEXED.search(code))
        or (detail.startswith("Dimension out of range") and "unsqueeze(" in code)
    )
    if not reduction or not is_lost or "keepdim" in code:
        return ""
    return f"Without `keepdim=True`, `{reduction[1]}` removes the dim that it runs over: keep it, with size one."


def _swapped(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about a product of batches in which other dims than the last two are swapped, or ""."""
    if not PRODUCT_OF_BATCHES.search(detail) or not IN_A_PRODUCT.search(code):
        return ""
    swaps = ((one.name.removesuffix(".T"), one.swap_of_other_dims(code)) for one in tensors)
    sentences = (
        f"`{swap}` does not swap the last two dims: `{one}.transpose(-2, -1)` does." for one, swap in swaps if swap
    )
    return next(sentences, "")


def _unequal(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about two tensors that do not line up entry by entry, or ""."""
    if not UNEQUAL.search(detail) or len(tensors) != 2:
        return ""
    left, right = tensors
    if _are_aligned(left.sizes, right.sizes):
        return ""  # another tensor of the line is to blame
    if f"{left.name} * {right.name}" in code and left.fits(right):
        return f"`*` multiplies entry by entry: the matrix product is `{left.name} @ {right.name}`."
    small, large = sorted(tensors, key=lambda one: len(one.sizes))
    if len(large.sizes) == 1:
        one, other = left.name, right.name
        return f"To combine each entry of `{one}` with each of `{other}`, make it a column: `{one}[:, None]`."
    if len(small.sizes) == len(large.sizes) == 2 and small.sizes == large.sizes[::-1]:
        return "One shape is the other one, transposed: is a `.T` missing, or one too many?"
    if small.sizes in itertools.combinations(large.sizes, len(large.sizes) - 1):
        kept = "`keepdim=True` keeps that of a sum or mean, `unsqueeze` adds one"
        return f"`{small.name}` lacks a dim of `{large.name}`: {kept}."
    return ""


def _column(detail: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about numbers without a name that may belong to another dim than the last, or ""."""
    mismatch = MISMATCH.search(detail)
    if not mismatch or len(tensors) != 1:
        return ""
    [(name, sizes)], (one, other, place) = tensors, map(int, mismatch.groups())
    wanted = other if sizes[-1:] == (one,) else one
    if place != len(sizes) - 1 or sizes[-1] not in (one, other) or sizes[:-1].count(wanted) != 1:
        return ""
    dim = sizes.index(wanted)
    shape, ones = (wanted, *[1] * (place - dim)), ", None" * (place - dim)
    them = f"the {wanted} numbers beside `{name}`"
    return f"If {them} belong to its dim {dim}, give them the shape {shape}, with `[:{ones}]`."


def _are_aligned(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether tensors with these sizes can be combined entry by entry."""
    return all(one == other or 1 in (one, other) for one, other in zip(left[::-1], right[::-1], strict=False))


def _product(detail: str, code: str, tensors: Sequence[_Tensor]) -> str:
    """Return what to do about a product of matrices, or of a vector and a matrix, whose shapes do not fit, or ""."""
    numbers = tuple(map(int, re.findall(r"\d+", detail.partition("(")[2])))
    if len(numbers) != 4:
        return ""
    if len(tensors) == 2 and tensors[0].name.endswith(".weight") and tensors[0].sizes == numbers[:-3:-1]:
        layer, takes, gets = tensors[0].name.removesuffix(".weight"), numbers[-2], numbers[1]
        return f"The layer `{layer}` takes {takes} features, and here it gets {gets}."
    if len(tensors) == 1 and f"{tensors[0].name} @ {tensors[0].name}" in code:
        tensors = [*tensors, *tensors]
    what = "If these shapes are right"
    sizes = tuple(size for one in tensors for size in one.sizes)
    if len(tensors) != 2 or numbers[-len(sizes) :] != sizes:
        # The factors have no names.
        is_product = IN_A_PRODUCT.search(code) and not A_LAYER.search(code)
        if not is_product or any(len(one.sizes) > 2 for one in tensors):
            return ""
        tensors = [_Tensor("A", numbers[:2]), _Tensor("B", numbers[2:])]
        what = f"This is `A @ B` with A {tensors[0].sizes} and B {tensors[1].sizes}. If that is right"
    left, right = tensors
    products = [(right, left), (left, right.transposed), (left.transposed, right)]
    fitting = dict.fromkeys(f"`{one.name} @ {other.name}`" for one, other in products if one.fits(other))
    return f"{what}, {' or '.join(fitting)} fits." if fitting else ""
