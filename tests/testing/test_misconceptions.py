"""MISCONCEPTIONS: `grader build` makes a wrong answer with each mistake's name from a change to the solution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import courses
import pytest
from courses import hand_in, read_reports, run_grader

from grader.testing.misconceptions import replace

ADD, SCALE = "suites/sums/add.py", "suites/sums/Scale.py"
IMPORT = "from grader.testing.misconceptions import mistake, replace\n"
OF_ADD = """
MISCONCEPTIONS = [
    mistake("subtracts", replace("a + b", "a - b"),
        "Adding is not taking away."),
]
"""
OF_SCALE = """
MISCONCEPTIONS = [
    mistake("answers_with_nothing", replace("return", "return None #"),
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
    """A small course whose misconceptions are changes to the solution."""
    (own_small_course / "solutions" / "sums.py").write_text(courses.BUILDABLE)
    write(own_small_course, ADD, OF_ADD)
    write(own_small_course, SCALE, OF_SCALE)
    return own_small_course


def write(course: Path, name: str, misconceptions: str) -> None:
    """Write a suite with the tests of the small course, and these misconceptions."""
    tests = courses.SMALL_COURSE[name].partition("\n\n@misconception")[0]
    (course / name).write_text(f"{IMPORT}{tests}{misconceptions}", encoding="utf-8")


def line_of(course: Path, name: str, text: str) -> int:
    return next(n for n, line in enumerate((course / name).read_text().splitlines(), 1) if text in line)


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


def test_a_submission_that_behaves_like_a_mistake_gets_its_name_and_sentence(course: Path) -> None:
    subtracting = "def add(a, b):\n    return a - b\n"
    silent = "def add(a, b):\n    a + b\n\n\ndef Scale(factor):\n    return lambda x: None\n"
    found = named(course, {"bo": subtracting, "cy": silent})
    assert found["bo"] == {"add": [{"name": "subtracts", "sentence": "Adding is not taking away."}], "Scale": []}
    # It is named in its exercise alone.
    assert {name: [one["name"] for one in named] for name, named in found["cy"].items()} == {
        "add": [],
        "Scale": ["answers_with_nothing"],
    }


def test_a_mistake_is_made_anew_if_what_its_suite_imports_changes(course: Path) -> None:
    shared = course / "suites" / "sums" / "shared.py"
    shared.write_text('AWAY = "a - b"\n')
    rows = OF_ADD.replace('"a - b"', "AWAY")
    write(course, ADD, f"from suites.sums.shared import AWAY\n{rows}")
    for change in ("a - b", "a - b - b"):
        shared.write_text(f'AWAY = "{change}"\n')
        assert run_grader(course, "build").returncode == 0
        assert change in (course / "build" / "misconceptions" / "sums.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('replace("a + b"', 'replace("a * b"', "the mistake subtracts does not apply: 'a * b' occurs 0 times, not 1."),
        ('"a - b"', '"a - "', "the mistake subtracts is not Python: invalid syntax."),
        ("MISCONCEPTIONS", "ERRORS", "the mistake 'subtracts' is in ERRORS and not in MISCONCEPTIONS: add it there."),
    ],
)
def test_a_mistake_that_cannot_be_applied_is_named_with_its_line(
    course: Path, old: str, new: str, sentence: str
) -> None:
    assert old in OF_ADD
    write(course, ADD, OF_ADD.replace(old, new))
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert f"{ADD}:{line_of(course, ADD, 'mistake(')}: {sentence}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("value", ["5", "['subtracts']", "{'subtracts': MISCONCEPTIONS}"])
def test_misconceptions_of_another_form_are_refused(course: Path, value: str) -> None:
    write(course, ADD, f"{OF_ADD}MISCONCEPTIONS = {value}\n")
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert f"{ADD}: MISCONCEPTIONS has something else than mistakes" in " ".join(done.stderr.split())


def test_two_mistakes_of_one_name_are_refused(course: Path) -> None:
    """The second would silently take the place of the first, also if it is of another exercise."""
    write(course, SCALE, OF_SCALE.replace("answers_with_nothing", "subtracts"))
    done = run_grader(course, "build")
    assert done.returncode == 2
    first, second = (f"{name}:{line_of(course, name, 'mistake(')}" for name in (ADD, SCALE))
    sentence = f"{second}: {first} has a mistake subtracts too: give one of the two another name."
    assert sentence in " ".join(done.stderr.split())


def test_calls_of_unknown_exercises_are_refused(course: Path) -> None:
    write(course, ADD, f'{OF_ADD}CALLS = ["plus"]\n')
    done = run_grader(course, "build")
    assert done.returncode == 2
    assert f"{ADD}: CALLS names plus, which solutions/sums.py does not define" in " ".join(done.stderr.split())


def test_a_suite_that_is_missing_is_named(course: Path) -> None:
    (course / SCALE).unlink()
    done = run_grader(course, "build")
    assert done.returncode == 2
    sentence = f"{SCALE} is missing: write the hidden tests of Scale there."
    assert sentence in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_sums.py", "def test_sum(student):\n    ...\n"),
        ("subtract.py", "test_contract = None\n"),
        ("misconceptions.py", ""),
    ],
)
def test_a_file_with_tests_or_misconceptions_of_no_exercise_is_refused(course: Path, name: str, text: str) -> None:
    """It would be ignored, such as the files of suites that were written before."""
    (course / "suites" / "sums" / name).write_text(text, encoding="utf-8")
    done = run_grader(course, "build")
    assert done.returncode == 2
    sentence = f"suites/sums/{name} is not the file of an exercise, so it is not read: move what is about an exercise"
    assert sentence in " ".join(done.stderr.split())
