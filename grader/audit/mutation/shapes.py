"""Slips in dimensions and shapes, in scales and in masks."""

from __future__ import annotations

import ast

from grader.audit.mutation.operators import Changes, Operators, Place, make, rewritten
from grader.audit.mutation.scope import called, integer, keyword_of, names_in, of_tensor

OPERATORS = Operators()

# -- dimensions and shapes ---------------------------------------------------------------------------------------


OPERATORS.rewrite("""
transpose_dims: A transpose swaps two other dimensions.
  X.transpose(-A, -B) -> X.transpose(-3, -2); X.transpose(-3, -1); X.transpose(0, 1); X.transpose(1, 2)
  X.transpose(A, B) -> X.transpose(0, 1); X.transpose(0, 2); X.transpose(1, 3); X.transpose(2, 3)
""")


@OPERATORS.add
def other_dim(place: Place) -> Changes:
    """A sum, a softmax, a stack and the like goes along another dimension."""
    is_dim = keyword_of(place) in {"dim", "start_dim"}
    match place.parent, place.field:
        case ast.Call(ast.Attribute(_, "flatten")), "args":
            is_dim = True
        case ast.Call(ast.Attribute(_, "unsqueeze" | "gather")), "args":
            is_dim = place.index == 0
    if is_dim:
        yield from (make(f"{dim}") for dim in (-1, -2, 0, 1) if dim != integer(place))
    yield from rewritten(
        place.node,
        "X.{stack|cat}(*A) -> X.{}(*A, dim=1); X.{}(*A, dim=-1)",
        "X.{sum|mean|var}() -> X.{}(dim=0); X.{}(dim=-1)",
        "X.flatten() -> X.flatten(1); X.flatten(-1)",
    )


@OPERATORS.add
def keepdim(place: Place) -> Changes:
    """keepdim=True is left out, or given where it was not."""
    match place.node:
        case ast.Call(func, arguments, keywords):
            names = [keyword.arg for keyword in keywords]
            if "keepdim" in names:
                yield ast.Call(func, arguments, [keyword for keyword in keywords if keyword.arg != "keepdim"])
            elif "dim" in names and called(place.node) in {"sum", "mean", "max", "amax", "var"}:
                yield from rewritten(place.node, "F(*A, **K) -> F(*A, **K, keepdim=True)")


OPERATORS.rewrite("""
reshape_for_transpose: A reshape to the transposed shape stands for a transpose.
  X.transpose(*A) -> X.reshape(IT.shape)
  X.T -> X.reshape(IT.shape)
transpose_before_reshape: Two dimensions are swapped before a reshape or flatten.
  X.{reshape|flatten}(*A, **K) -> X.transpose(0, 1).reshape(IT.shape); X.transpose(1, 2).reshape(IT.shape); \
X.transpose(-2, -1).reshape(IT.shape)
view_for_reshape: A view, which not every memory layout allows, stands for a reshape or flatten.
  X.reshape(*A) -> X.view(*A)
  X.flatten(*A, **K) -> X.view(IT.shape)
""")


@OPERATORS.add
def squeeze(place: Place) -> Changes:
    """Dimensions of size 1 are taken out of a result."""
    return of_tensor(place, "X.squeeze()")


# -- scores, scales and masks ------------------------------------------------------------------------------------

OPERATORS.rewrite("""
scale: A division by the square root of a size is dropped, inverted, or done with another power.
  X / D ** 0.5 -> X; X * D ** 0.5; X / D; X / D ** -0.5; X / D ** 2; X / D * 0.5; X / (D * 0.5)
""")


@OPERATORS.add
def added_scale(place: Place) -> Changes:
    """A matrix product is divided by the square root of a size where it should not be."""
    if place.function and not any(isinstance(x, ast.Constant) and x.value == 0.5 for x in ast.walk(place.function)):
        yield from rewritten(place.node, "X @ Y -> X @ Y / X.shape[-1] ** 0.5")


OPERATORS.rewrite("""
dropped_mask: Nothing is masked.
  X.masked_fill(*A) -> X
inverted_mask: What should be masked stays, and the rest is masked.
  X.masked_fill(M, *A) -> X.masked_fill(~M, *A)
  X.triu(*A, **K) -> ~IT
mask_value: Another number is filled in where a mask is: 0 for minus infinity, or the other way round.
  X.masked_fill(M, V) -> X.masked_fill(M, 0); X.masked_fill(M, -torch.inf); X.masked_fill(M, torch.inf); \
X.masked_fill(M, -1.0)
""")


@OPERATORS.add
def added_mask(place: Place) -> Changes:
    """The later tokens are masked, before or after a softmax, where none should be."""
    if place.function and "masked_fill" not in names_in(place.function) and called(place.node).startswith("softmax"):
        later = "torch.ones(X.shape[-2:], dtype=torch.bool).triu(1)"
        before = f"F(X.masked_fill({later}, -torch.inf), *A, **K)"
        yield from rewritten(place.node, f"F(X, *A, **K) -> torch.tril(IT); {before}")
