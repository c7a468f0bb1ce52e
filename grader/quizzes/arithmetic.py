"""Computes the formulas of a quiz item from the numbers of a variant: arithmetic, and nothing else of Python."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from grader.documents import nearest
from grader.quizzes.items import Columns, exact
from grader.quizzes.questions import Value

Result = Fraction | list[Fraction]
"""A number, or several: a list of the variants, or the sizes of a shape."""

LARGEST_EXPONENT = 100
"""A power with a larger exponent is no number of a quiz, and could take forever."""


class FormulaError(Exception):
    """A formula cannot be computed; the text says in one sentence why, and what to do."""


def _power(base: Fraction, exponent: Fraction) -> Any:
    if abs(exponent) > LARGEST_EXPONENT:
        raise OverflowError(f"the exponent is over {LARGEST_EXPONENT}")
    return base**exponent


def _dot(first: list[Fraction], second: list[Fraction]) -> Fraction:
    if len(first) != len(second):
        raise ValueError("the lists have different lengths")
    return sum(map(operator.mul, first, second), Fraction(0))


_OPERATORS: dict[type[ast.operator], Callable[..., Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: _power},
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (math.cos, math.exp, math.log, math.sin, math.sqrt, math.tanh)},
    **{"abs": abs, "dot": _dot, "min": min, "sum": sum},
}


def numbers_in(row: Columns) -> dict[str, Result]:
    """Return the numbers and lists of a variant, exactly as they are written: 0.1 is a tenth."""
    found: dict[str, Result] = {}
    for name, value in row.items():
        if isinstance(value, list):
            found[name] = [Fraction(one) for one in value]
        elif isinstance(value, int | float) and math.isfinite(value):
            found[name] = exact(value)
    return found


def evaluate(formula: str, names: Mapping[str, Result]) -> Result:
    """Compute a formula, such as `V * C + L * C`, or `(B, T, C)` for a shape.

    The result is exact, except for functions and roots such as `x ** 0.5`.

    Raises:
        FormulaError: It is no formula, uses a name without a value, or has no result.
    """
    tree = _parsed(formula)
    return [_number(size, names) for size in tree.elts] if isinstance(tree, ast.Tuple) else _number(tree, names)


def rounded(result: Result, decimals: int | None) -> Value:
    """Return a result as a column of a variant: rounded to the decimals, the half away from zero, or a shape.

    Raises:
        FormulaError: It has to be whole and is not: a size, or a number that is asked without decimals.
    """
    if isinstance(result, list):
        return [_whole(size) for size in result]
    if not decimals:
        return _whole(result)
    number = Fraction(math.floor(abs(result) * 10**decimals + Fraction(1, 2)), 10**decimals)
    number = -number if result < 0 else number
    return float(number) if number.denominator > 1 else int(number)


def _whole(number: Fraction) -> int:
    if number.denominator > 1:
        raise FormulaError(
            f"the result {float(number):g} is not a whole number: divide with `//`, or say to how many `decimals` a "
            "number is asked."
        )
    return int(number)


@cache
def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"this is not a formula ({error.msg}): write one like `V * C + L * C`.") from None


def _number(node: ast.expr, names: Mapping[str, Result]) -> Fraction:
    value = _value(node, names)
    if isinstance(value, list):
        raise FormulaError(f"`{ast.unparse(node)}` is a list: take a number of it, as in `x[0]`.")
    return value


def _finite(result: Any) -> Fraction:
    float(result)  # raises an error for what is no number, or too large for one
    return Fraction(result)


def _list(node: ast.expr, names: Mapping[str, Result]) -> list[Fraction]:
    value = _value(node, names)
    if not isinstance(value, list):
        raise FormulaError(f"`{ast.unparse(node)}` is a number: only lists have `[]`.")
    return value


def _value(node: ast.expr, names: Mapping[str, Result]) -> Result:
    try:
        match node:
            case ast.Constant(value=int() | float() as number):
                return exact(number)
            case ast.Name() if node.id in names:
                return names[node.id]
            case ast.Name():
                hint = nearest(node.id, names)
                raise FormulaError(f"`{node.id}` has no value: a formula can use {', '.join(names)}.{hint}")
            case ast.UnaryOp(op=ast.USub()):
                return -_number(node.operand, names)
            case ast.BinOp() if type(node.op) in _OPERATORS:
                return _finite(_OPERATORS[type(node.op)](_number(node.left, names), _number(node.right, names)))
            case ast.Subscript(value=ast.Name()):
                return _list(node.value, names)[_whole(_number(node.slice, names))]
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
                return _finite(_FUNCTIONS[name](*(_value(argument, names) for argument in node.args)))
    except ZeroDivisionError:
        raise FormulaError(f"`{ast.unparse(node)}` divides by zero: change it, or the variant.") from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FormulaError(f"`{ast.unparse(node)}` has no result ({error}): change it, or the variant.") from None
    raise FormulaError(
        f"`{ast.unparse(node)}` cannot be in a formula: use numbers, columns, + - * / // % **, [] and "
        f"{', '.join(sorted(_FUNCTIONS))}."
    )
