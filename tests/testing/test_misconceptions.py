"""Rows: `grader build` makes a wrong answer with the row's name from a change to the solution's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import courses
import pytest
from courses import hand_in, read_reports, run_grader

from grader.testing.misconceptions import replace

ROWS = """\
from grader.testing.misconceptions import replace, row

ROWS = [
    row("add", "subtracts", replace("a + b", "a - b"),
        "Adding is not taking away."),
    row("Scale", "answers_with_nothing", replace("return", "return None #"),
        "Give the result back: what follows the word return."),
]
"""


def test_replacements_are_applied_in_order() -> None:
    assert replace("a", "b").replace("b", "c", times=2).applied("ab") == "cc"


@pytest.mark.parametrize(("text", "found"), [("xyz", 0), ("dim, dim", 2)])
def test_a_text_with_another_number_of_occurrences_is_refused(text: str, found: int) -> None:
    with pytest.raises(ValueError, match=f"'dim' occurs {found} times, not 1"):
        replace("dim", "axis").applied(text)


@pytest.fixture
def course(own_small_course: Path) -> Path:
    """A small course whose misconceptions are rows."""
    (own_small_course / "solutions" / "sums.py").write_text(courses.BUILDABLE)
    write(own_small_course, ROWS)
    return own_small_course


def write(course: Path, text: str) -> None:
    (course / "suites" / "sums" / "misconceptions.py").write_text(text, encoding="utf-8")


def named(course: Path, answers: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The misconceptions of each exercise that each student's report names."""
    for name, text in answers.items():
        hand_in(course / "class" / name, text)
    run = run_grader(course, "grade", course / "class", "--out", course / "reports")
    assert run.returncode == 0, run.stderr
    reports = {name: report["units"]["sums"]["exercises"] for name, report in read_reports(course / "reports").items()}
    return {
        student: {name: exercise["misconceptions"] for name, exercise in exercises.items()}
        for student, exercises in reports.items()
    }


def test_a_submission_that_behaves_like_a_row_gets_its_name_and_sentence(course: Path) -> None:
    subtracting = "def add(a, b):\n    return a - b\n"
    silent = "def add(a, b):\n    a + b\n\n\ndef Scale(factor):\n    return lambda x: None\n"
    found = named(course, {"bo": subtracting, "cy": silent})
    assert found["bo"] == {"add": [{"name": "subtracts", "sentence": "Adding is not taking away."}], "Scale": []}
    # A row names the mistake in its exercise alone.
    assert {name: [one["name"] for one in named] for name, named in found["cy"].items()} == {
        "add": [],
        "Scale": ["answers_with_nothing"],
    }


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('replace("a + b"', 'replace("a * b"', "the row subtracts does not apply: 'a * b' occurs 0 times, not 1."),
        ('"a - b"', '"a - "', "the row subtracts is not Python: invalid syntax."),
        ("ROWS", "ROW", "the row 'subtracts' is in ROW and not in ROWS: add it there."),
    ],
)
def test_a_row_that_cannot_be_applied_is_named_with_its_line(course: Path, old: str, new: str, sentence: str) -> None:
    assert old in ROWS
    write(course, ROWS.replace(old, new))
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert f"suites/sums/misconceptions.py:4: {sentence}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("rows", ["ROWS = 5", "ROWS = ['subtracts']", "ROWS = {'subtracts': ROWS}"])
def test_rows_of_another_form_are_refused(course: Path, rows: str) -> None:
    write(course, f"{ROWS}{rows}\n")
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert "sums/misconceptions.py: ROWS has something else than rows" in " ".join(done.stderr.split())


def test_two_rows_of_one_name_are_refused(course: Path) -> None:
    """The second would silently take the place of the first."""
    again = '    row("Scale", "subtracts", replace("return", "return -1 *"), "Keep the sign."),\n]'
    write(course, again.join(ROWS.rsplit("]", 1)))
    done = run_grader(course, "build")
    assert done.returncode == 2
    sentence = "sums/misconceptions.py:8: line 4 has a row subtracts too: give one of the two another name."
    assert sentence in " ".join(done.stderr.split())


def test_calls_of_unknown_exercises_are_refused(course: Path) -> None:
    write(course, f'{ROWS}CALLS = {{"add": ["plus"]}}\n')
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert "suites/sums: CALLS names plus, which solutions/sums.py does not define" in " ".join(done.stderr.split())
