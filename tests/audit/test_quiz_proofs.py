"""The answers of a quiz are proved by oracles and by running the programs, in a new course as in this one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from courses import COURSE

from grader.audit.quiz_proofs import FILENAME, problems
from grader.course.model import Course, load_course
from grader.course.new import new_course

QUIZ, ORACLES = "solutions/averages_quiz.yml", f"suites/averages/{FILENAME}"


@pytest.fixture
def course(tmp_path: Path) -> Iterator[Course]:
    new_course(tmp_path / "course", "A course")
    paths, modules = list(sys.path), set(sys.modules)
    yield load_course(tmp_path / "course")
    sys.path[:] = paths
    for name in {name for name in sys.modules if name.split(".")[0] == "suites"} - modules:
        del sys.modules[name]


@pytest.mark.parametrize("unit", COURSE.units)
def test_every_answer_of_this_course_is_proved(unit: str) -> None:
    assert problems(COURSE, unit, needs_all=True) == []


def test_every_answer_of_a_new_course_is_proved(course: Course) -> None:
    assert problems(course, "averages", needs_all=True) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        (
            QUIZ,
            "answer: (a + b) / 2",
            "answer: (a + b) / 2 + (a - 1) * (a - 3) * (a - 5)",
            "mean_of_two has the answer 6.5 in variant 1; quiz_oracles.py computes 3.5: correct one.",
        ),
        (QUIZ, 'fix: "ordered = sorted(numbers)"', 'fix: "ordered = numbers"', "prints the same with its fix"),
        (QUIZ, "ordered = list(numbers)", "ordered = lst(numbers)", "raises as students see it: NameError"),
        (QUIZ, "print(ordered[middle])", "ordered[middle]", "has a program that prints nothing"),
        (ORACLES, "fmean([a, b])", "fmaen([a, b])", f"{ORACLES}:9: AttributeError: module 'statistics'"),
        (ORACLES, "def mean_of_two(", "def mean_of_too(", f"{ORACLES}:8: no number or shape of averages"),
    ],
)
def test_what_differs_from_its_proof_is_a_sentence(course: Course, name: str, old: str, new: str, problem: str) -> None:
    path = course.root / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    [sentence] = problems(course, "averages")
    assert problem in sentence
    assert sentence.startswith(("solutions/averages_quiz.yml:", "suites/averages/quiz_oracles.py:"))


def test_a_number_without_an_oracle_is_a_sentence_of_the_audit(course: Course) -> None:
    (course.root / ORACLES).unlink()
    assert problems(course, "averages") == []
    [sentence] = problems(course, "averages", needs_all=True)
    assert f"mean_of_two has no oracle: write a function mean_of_two in {ORACLES}" in sentence
