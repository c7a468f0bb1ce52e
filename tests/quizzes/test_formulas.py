"""Formulas as text, and those of the course as MathML."""

from __future__ import annotations

import re

import pytest
from course_quizzes import QUIZZES

from grader.quizzes.items import explanation
from grader.quizzes.questions import as_text
from grader.reports.exporters.html import blocks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is $\\frac{1}{2}$.", "It is 1 / 2."),
        ("$\\frac{w_1}{w_1 + w_2} = 0.25$", "w_1 / (w_1 + w_2) = 0.25"),
        ("$$\\frac{1}{1 + e^{(2 - 4)/\\sqrt{4}}} \\approx 0.73$$", "1 / (1 + e^((2 − 4)/√4)) ≈ 0.73"),
        ("$10000^{2i/d} \\cdot \\sqrt{d_k}$", "10000^(2i/d) · √d_k"),
        ("$\\left(1 - p\\right) \\text{of all}$", "(1 − p) of all"),
        ("$5 or $6", "$5 or $6"),
        ("`$x$` and `` ` $y$ ``", "`$x$` and `` ` $y$ ``"),
        ("no formula", "no formula"),
    ],
)
def test_a_formula_can_be_read_in_one_line(text: str, shown: str) -> None:
    assert as_text(text) == shown


def test_every_formula_of_the_course_can_be_drawn_and_read() -> None:
    for name, item in [pair for quiz in QUIZZES.values() for pair in quiz.items.items()]:
        text = explanation(item, 0)
        plain = re.sub(r"(`+).+?\1", "", as_text(text))
        assert {"$", "\\"}.isdisjoint(plain), name
        assert ("$" in text) == ("<math" in blocks(text)), name
        assert "$" not in blocks(text), name
