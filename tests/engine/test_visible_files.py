"""The files that `grader build` writes beside the visible tests."""

from __future__ import annotations

import json
from pathlib import Path

import courses
import pytest
from courses import COURSE

from grader.course.guidance import read_rules

VISIBLE = '''\
from pathlib import Path

import pytest
import torch

from grader.testing.checks import expect_close
from grader.testing.running_test import read_values, solution_value

VALUES = read_values(Path(__file__).with_name("expected_values.json"))


@pytest.mark.example("add", rule="add adds")
def test_sum(student):
    """The sum of two numbers."""
    yours = student.add(torch.tensor([1.0, 2.0]), torch.tensor([0.1234567, 3.0]))
    expect_close(yours, solution_value(VALUES, "the sum", yours))
'''

CONTRACT = """

from grader.testing.draws import numbers
from grader.testing.suite import Example, asking, contract, kept_arguments

test_contract = contract(
    asking("add", lambda fresh: [fresh(3), fresh(3)], lambda _: lambda a, b: a + b),
    kept_arguments("kept", "add adds", "Both should stay the same.", "It was changed."),
    example=Example({"a": numbers(3), "b": numbers(3, seed=1)}),
)
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A small course with one visible test, whose hidden test has the rule that it tries."""
    root = courses.make_small_course(tmp_path)
    source = root / "solutions" / "sums.py"
    source.write_text(f"# %%\n{source.read_text(encoding='utf-8')}", encoding="utf-8")
    (root / "exercises" / "checks" / "test_sums.py").write_text(VISIBLE, encoding="utf-8")
    return root


def test_every_exercise_has_rules() -> None:
    rules = read_rules(COURSE)
    assert {unit: list(described.exercises) for unit, described in COURSE.units.items()} == {
        unit: list(of_unit) for unit, of_unit in rules.items()
    }
    assert all(of_exercise for of_unit in rules.values() for of_exercise in of_unit.values())


def test_build_writes_what_the_solution_gives_and_which_rules_are_tried(course: Path) -> None:
    done = courses.run_grader(course, "build")
    assert done.returncode == 0, done.stderr
    values = course / "exercises" / "checks" / "expected_values.json"
    assert json.loads(values.read_text(encoding="utf-8")) == {"sums": {"sum": {"the sum": [1.12346, 5.0]}}}
    rules = json.loads((course / "exercises" / "checks" / "rules.json").read_text(encoding="utf-8"))
    assert rules == {"sums": {"add": {"add adds": True}, "Scale": {"Scale scales": False}}}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("add adds", "add subtracts", "sum tries a rule that add has not: 'add subtracts'. Quote one of the stub's"),
        ("torch.tensor([0.1234567, 3.0])", "1.0, 2.0", "This is so with the solution too: correct the test sum."),
    ],
)
def test_build_refuses_a_visible_test_that_is_wrong(course: Path, old: str, new: str, sentence: str) -> None:
    path = course / "exercises" / "checks" / "test_sums.py"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    done = courses.run_grader(course, "build")
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())


def test_an_example_that_no_visible_test_runs_is_refused_with_the_line_to_add(course: Path) -> None:
    with (course / "suites" / "sums" / "add.py").open("a", encoding="utf-8") as suite:
        suite.write(CONTRACT)
    done = courses.run_grader(course, "build")
    assert done.returncode == 2
    assert (
        "test_sums.py does not run the examples of add: add `test_contract = contract_tests(__file__)`" in done.stderr
    )
