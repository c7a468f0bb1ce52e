"""The formulas of quiz items: what they compute, how results are rounded, and what they refuse."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from grader.quizzes.arithmetic import FormulaError, evaluate, numbers_in, rounded

ROW = {"T": 6, "p": 0.2, "x": [3, -1, 4], "y": [1, 2, 2], "name": "small"}


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("T", 6),
        ("T * (T + 1) // 2 - 1", 20),
        ("-T % 4 + T**2", 38),
        ("1 - p", Fraction(4, 5)),
        ("T / 4", Fraction(3, 2)),
        ("0.1 + p", Fraction(3, 10)),
        ("x[0] - x[-1] + y[T // 3]", 1),
        ("dot(x, y) + sum(x) + abs(x[1]) + min(T, 4)", 20),
        ("sqrt(T + 3) * exp(0) + log(8, 2) + tanh(0) + cos(0) - sin(0)", 7),
        ("(T, x[0] * 2, 1)", [6, 6, 1]),
        ("(T,)", [6]),
    ],
)
def test_a_formula_is_computed_from_numbers_and_lists(formula: str, value: Any) -> None:
    assert evaluate(formula, numbers_in(ROW)) == value


@pytest.mark.parametrize(
    ("value", "decimals", "column"),
    [
        (Fraction(1, 16), 3, 0.063),
        (Fraction(-1, 16), 3, -0.063),
        (Fraction(2, 3), 2, 0.67),
        (Fraction("9.9996"), 3, 10),
        (Fraction(7), None, 7),
        ([Fraction(2), Fraction(3)], None, [2, 3]),
    ],
)
def test_half_is_rounded_away_from_zero_and_what_is_whole_stays_whole(value: Any, decimals: Any, column: Any) -> None:
    found = rounded(value, decimals)
    assert (found, type(found)) == (column, type(column))


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("", "this is not a formula ("),
        ("T T", "this is not a formula ("),
        ("t + 1", "`t` has no value: a formula can use T, p, x, y. Did you mean 'T'?"),
        ("name", "`name` has no value: a formula can use T, p, x, y."),
        ("1 / (T - 6)", "`1 / (T - 6)` divides by zero: change it, or the variant."),
        ("log(T - 6)", "`log(T - 6)` has no result ("),
        ("exp(T**9)", "`exp(T ** 9)` has no result ("),
        ("(-1) ** 0.5", "`(-1) ** 0.5` has no result ("),
        ("9 ** 9 ** 9", "`9 ** 9 ** 9` has no result (the exponent is over 100)"),
        ("1e99 ** 4 / 7", "`1e+99 ** 4` has no result ("),
        ("x[3]", "`x[3]` has no result ("),
        ("dot(x, (1, 2))", "`(1, 2)` cannot be in a formula: use numbers, columns, + - * / // % **, [] and abs, cos, "),
        ("dot(x, T)", "`dot(x, T)` has no result ("),
        ("T[0]", "`T` is a number: only lists have `[]`."),
        ("x + y", "`x` is a list: take a number of it, as in `x[0]`."),
        ("T.real", "`T.real` cannot be in a formula"),
        ("T if p else 1", "`T if p else 1` cannot be in a formula"),
        ("open('a')", "`open('a')` cannot be in a formula"),
        ("[one for one in x][0]", "`[one for one in x][0]` cannot be in a formula"),
        ("'a' * T", "`'a'` cannot be in a formula"),
        ("(T, T / 4)", "the result 1.5 is not a whole number: divide with `//`"),
    ],
)
def test_what_is_no_formula_or_has_no_result_is_a_sentence(formula: str, sentence: str) -> None:
    with pytest.raises(FormulaError, match=f"^{re.escape(sentence)}"):
        rounded(evaluate(formula, numbers_in(ROW)), None)
