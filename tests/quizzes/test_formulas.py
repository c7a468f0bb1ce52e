"""Formulas as text, and those of the course as MathML."""

from __future__ import annotations

import re

import pytest
from courses import REPOSITORY

from grader.course.model import load_course
from grader.quizzes.items import explanation
from grader.quizzes.questions import as_text
from grader.quizzes.quiz_source import load_quizzes
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


@pytest.mark.parametrize("unit", load_course(REPOSITORY).quizzes)
def test_every_formula_of_the_course_can_be_drawn_and_read(unit: str) -> None:
    [quiz] = load_quizzes(REPOSITORY / "solutions", [unit]).values()
    for item in quiz.items.values():
        text = explanation(item, 0)
        assert "$" not in re.sub(r"(`+).+?\1", "", as_text(text))
        assert "\\" not in re.sub(r"(`+).+?\1", "", as_text(text))
        assert ("$" in text) == ("<math" in blocks(text))
        assert "$" not in blocks(text)
