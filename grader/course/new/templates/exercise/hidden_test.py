"""Hidden tests of $exercise, and known mistakes. Each test quotes a rule; its docstring is what students read."""

from __future__ import annotations

import pytest

from grader.testing.checks import expect_number
from grader.testing.inputs import Fresh
from grader.testing.misconceptions import replace, row
from grader.testing.student import Student


# TODO (author): write a test for each rule.
@pytest.mark.exercise("$exercise", rule="the result is two times the number")
def test_twice_the_number(student: Student, fresh: Fresh) -> None:
    """The result should be two times the number."""
    number = fresh(1).item()
    expect_number(student.$exercise(number), number + number, within=1e-9)


# TODO (author): write the mistakes that you expect, each with a sentence that helps.
ROWS = [
    row("$exercise", "${exercise}_squares", replace("2 * number", "number**2"),
        "The number is multiplied by itself. Twice a number is the number multiplied by two."),
]  # fmt: skip
