"""Slips in dimensions, shapes, scales, masks, products, sums and numbers."""

from __future__ import annotations

import ast

from grader.audit.mutation.operators import Changes, NodePlace, Operators, called, make, names_in

OPERATORS = Operators()

# -- dimensions and shapes ---------------------------------------------------------------------------------------


OPERATORS.rewrite("""
transpose_dims: A transpose swaps two other dimensions.
  X.transpose(-A, -B) -> X.transpose(-3, -2); X.transpose(-3, -1); X.transpose(0, 1); X.transpose(1, 2)
  X.transpose(A, B) -> X.transpose(0, 1); X.transpose(0, 2); X.transpose(1, 3); X.transpose(2, 3)
""")


@OPERATORS.add
def other_dim(place: NodePlace) -> Changes:
    """A sum, a softmax, a stack or the like uses another dimension."""
    is_dim = place.keyword in {"dim", "start_dim"}
    match place.parent, place.field:
        case ast.Call(ast.Attribute(_, "flatten")), "args":
            is_dim = True
        case ast.Call(ast.Attribute(_, "unsqueeze" | "gather")), "args":
            is_dim = place.index == 0
    if is_dim:
        yield from (make(f"{dim}") for dim in (-1, -2, 0, 1) if dim != place.integer)
    yield from place.rewritten(
        "X.{stack|cat}(*A) -> X.{}(*A, dim=1); X.{}(*A, dim=-1)",
        "X.{sum|mean|var}() -> X.{}(dim=0); X.{}(dim=-1)",
        "X.flatten() -> X.flatten(1); X.flatten(-1)",
    )


OPERATORS.rewrite("""
keepdim: keepdim=True is left out or added.
  F(*A, dim=D, keepdim=B, **K) -> F(*A, dim=D, **K)
  X.{sum|mean|max|amax|var}(*A, dim=D, **K) -> X.{}(*A, dim=D, **K, keepdim=True)
reshape_for_transpose: A reshape to the transposed shape replaces a transpose.
  X.transpose(*A) -> X.reshape(IT.shape)
  X.T -> X.reshape(IT.shape)
transpose_before_reshape: Two dimensions are swapped before a reshape or flatten.
  X.{reshape|flatten}(*A, **K) -> X.transpose(0, 1).reshape(IT.shape); X.transpose(1, 2).reshape(IT.shape); \
X.transpose(-2, -1).reshape(IT.shape)
view_for_reshape: A view, which not every memory layout allows, replaces a reshape or flatten.
  X.reshape(*A) -> X.view(*A)
  X.flatten(*A, **K) -> X.view(IT.shape)
""")


@OPERATORS.add
def squeeze(place: NodePlace) -> Changes:
    """Dimensions of size 1 are removed from a result."""
    return place.of_tensor("X.squeeze()")


# -- scores, scales and masks ------------------------------------------------------------------------------------

OPERATORS.rewrite("""
scale: A division by the square root of a size is dropped, inverted, or done with another power.
  X / D ** 0.5 -> X; X * D ** 0.5; X / D; X / D ** -0.5; X / D ** 2; X / D * 0.5; X / (D * 0.5)
""")


@OPERATORS.add
def added_scale(place: NodePlace) -> Changes:
    """A matrix product is divided by the square root of a size where it should not be."""
    if place.function and not any(isinstance(x, ast.Constant) and x.value == 0.5 for x in ast.walk(place.function)):
        yield from place.rewritten("X @ Y -> X @ Y / X.shape[-1] ** 0.5")


OPERATORS.rewrite("""
dropped_mask: Nothing is masked.
  X.masked_fill(*A) -> X
inverted_mask: The mask is inverted.
  X.masked_fill(M, *A) -> X.masked_fill(~M, *A)
  X.triu(*A, **K) -> ~IT
mask_value: A mask fills in another number: 0 for minus infinity, or the reverse.
  X.masked_fill(M, V) -> X.masked_fill(M, 0); X.masked_fill(M, -torch.inf); X.masked_fill(M, torch.inf); \
X.masked_fill(M, -1.0)
""")


@OPERATORS.add
def added_mask(place: NodePlace) -> Changes:
    """The later tokens are masked, before or after a softmax, where none should be."""
    if place.function and "masked_fill" not in names_in(place.function) and called(place.node).startswith("softmax"):
        later = "torch.ones(X.shape[-2:], dtype=torch.bool).triu(1)"
        before = f"F(X.masked_fill({later}, -torch.inf), *A, **K)"
        yield from place.rewritten(f"F(X, *A, **K) -> torch.tril(IT); {before}")


# -- products and sums -------------------------------------------------------------------------------------------

OPERATORS.rewrite("""
asterisk: `*`, element by element, replaces `@`.
  X @ Y -> X * Y
swapped_operands: The two sides of `@`, `-`, `/`, `%` or `**` change places.
  X {@|-|/|//|%|**} Y -> Y {} X
transposed_operand: The right side of `@` is transposed.
  X @ Y -> X @ Y.mT
power: `**` replaces `*`, or `*` replaces `**`.
  X * Y -> X ** Y
  X ** Y -> X * Y
""")


@OPERATORS.add
def residual(place: NodePlace) -> Changes:
    """In x + f(x) one of the two is left out."""
    match place.node:
        case ast.BinOp(ast.Name(name) as left, ast.Add(), ast.Call() as right) if name in names_in(right):
            yield from (left, right)


# `scale` already covers the division by a square root.
OPERATORS.rewrite("""
dropped_operand: One side of an operation is left out.
  X / D ** 0.5 ->
  X {+|-|*|/|//|%|@} Y -> X; Y
arithmetic: Another of + - * / // % is written.
  X + Y -> X - Y; X * Y
  X - Y -> X + Y
  X * Y -> X / Y; X + Y
  X / Y -> X * Y; X - Y
  X // Y -> X / Y; X * Y; X % Y
  X % Y -> X // Y
parentheses: A pair of parentheses is forgotten.
  X {*|/|-} (Y {+|-} Z) -> (X {} Y) {} Z
  X ** (Y {+|-|*|/|//|%|@} Z) -> (X ** Y) {} Z
  (X {+|-} Y) {*|/} Z -> X {} (Y {} Z)
  (X {+|-|*|/|//|%|@|**} Y).NAME(*A, **K) -> X {} Y.NAME(*A, **K)
""")

# -- numbers -----------------------------------------------------------------------------------------------------


@OPERATORS.add
def off_by_one(place: NodePlace) -> Changes:
    """A diagonal, an index, or an end of a slice or range is one too low or too high."""
    match place.parent, place.field:
        case (ast.keyword("diagonal"), _) | (ast.Slice(), "lower" | "upper") | (ast.Subscript(), "slice"):
            yield from _moved(place)
        case ast.Tuple(), "elts" if isinstance(place.around[-2], ast.Subscript):
            yield from _moved(place)
        case ast.Call(), "args" if called(place.parent) in {"range", "arange", "randint"} and not place.index:
            yield from _moved(place)
        case _:
            yield from place.rewritten("range(X) -> range(1, X)", "L.arange(X, **K) -> L.arange(1, X, **K)")


def _moved(place: NodePlace) -> Changes:
    value = place.integer
    if value is not None:
        yield from (make(f"{value - 1}"), make(f"{value + 1}"))
    elif isinstance(place.node, ast.Name | ast.BinOp | ast.Call) and place.kind_of(place.node) == "int":
        yield from (make("X - 1", X=place.node), make("X + 1", X=place.node))


@OPERATORS.add
def constant(place: NodePlace) -> Changes:
    """A number is one less or one more, or a fraction is ten times as large or as small; "" is a space."""
    value = place.integer
    if value is not None and called(place.parent) != "transpose":
        yield from (make(f"{value - 1}"), make(f"{value + 1}"))
    match place.node, place.parent:
        case (ast.Constant(float(fraction)), _) if fraction == 0:
            yield from (make("0.1"), make("0.5"))
        case (ast.Constant(float(fraction)), _) if not isinstance(place.parent, ast.BinOp):
            yield from (make(repr(other)) for other in (fraction * 10, fraction / 10, 0.0))
        case ast.Constant(""), _:
            yield make("' '")


@OPERATORS.add
def flipped_bool(place: NodePlace) -> Changes:
    """True replaces False, or False replaces True."""
    if place.keyword != "keepdim":
        yield from place.rewritten("True -> False", "False -> True")


OPERATORS.rewrite("""
complement: 1 - p replaces a probability p.
  {p|dropout} -> 1 - {}
""")
