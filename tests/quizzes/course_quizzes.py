"""The quizzes and practice items of this course, read once for all tests."""

from __future__ import annotations

from courses import COURSE

from grader.quizzes.quiz_source import load_practice, load_quizzes

QUIZZES = load_quizzes(COURSE.solutions, COURSE.quizzes)
PRACTICE = load_practice(COURSE.solutions, COURSE.units, QUIZZES.values())
# By unit. The capstone has practice items and no quiz.
ITEMS = {unit: {**(QUIZZES[unit].items if unit in QUIZZES else {}), **PRACTICE[unit].items} for unit in COURSE.units}
