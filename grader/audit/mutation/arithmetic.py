"""Slips in products, sums and numbers, in conditions and errors."""

from __future__ import annotations

import ast

from grader.audit.mutation.operators import Changes, Operators, Place, make, rewritten
from grader.audit.mutation.scope import called, in_scope, integer, keyword_of, kind_of, names_in

OPERATORS = Operators()

# -- products and sums -------------------------------------------------------------------------------------------

OPERATORS.rewrite("""
asterisk: `*`, element by element, stands for `@`.
  X @ Y -> X * Y
swapped_operands: The two sides of `@`, `-`, `/`, `%` or `**` change places.
  X {@|-|/|//|%|**} Y -> Y {} X
transposed_operand: The right side of `@` is transposed.
  X @ Y -> X @ Y.mT
power: `**` stands for `*`, or `*` for `**`.
  X * Y -> X ** Y
  X ** Y -> X * Y
""")


@OPERATORS.add
def residual(place: Place) -> Changes:
    """In x + f(x) one of the two is left out."""
    match place.node:
        case ast.BinOp(ast.Name(name) as left, ast.Add(), ast.Call() as right) if name in names_in(right):
            yield from (left, right)


# What scale does is not done once more.
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
def off_by_one(place: Place) -> Changes:
    """A diagonal, an index, or an end of a slice or range is one too low or too high."""
    match place.parent, place.field:
        case (ast.keyword("diagonal"), _) | (ast.Slice(), "lower" | "upper") | (ast.Subscript(), "slice"):
            yield from _moved(place)
        case ast.Tuple(), "elts" if isinstance(place.around[-2], ast.Subscript):
            yield from _moved(place)
        case ast.Call(), "args" if called(place.parent) in {"range", "arange", "randint"} and not place.index:
            yield from _moved(place)
        case _:
            yield from rewritten(place.node, "range(X) -> range(1, X)", "L.arange(X, **K) -> L.arange(1, X, **K)")


def _moved(place: Place) -> Changes:
    value = integer(place)
    if value is not None:
        yield from (make(f"{value - 1}"), make(f"{value + 1}"))
    elif isinstance(place.node, ast.Name | ast.BinOp | ast.Call) and kind_of(place.node, in_scope(place)) == "int":
        yield from (make("X - 1", X=place.node), make("X + 1", X=place.node))


@OPERATORS.add
def constant(place: Place) -> Changes:
    """A number is one less or one more, or a fraction is ten times as large or as small; "" is a space."""
    value = integer(place)
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
def flipped_bool(place: Place) -> Changes:
    """True stands for False, or False for True."""
    if keyword_of(place) != "keepdim":
        yield from rewritten(place.node, "True -> False", "False -> True")


OPERATORS.rewrite("""
complement: A probability p stands for 1 - p.
  {p|dropout} -> 1 - {}
""")
