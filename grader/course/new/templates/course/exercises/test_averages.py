"""Examples for unit 1 that you can check by hand. Run `grader check`, or `pytest` in this folder.

`student` is your file: `student.mean(numbers)` is what your mean returns.
"""

from __future__ import annotations

import pytest

from grader.testing.checks import expect_number
from grader.testing.student import Student


@pytest.mark.example("mean")
def test_mean(student: Student) -> None:
    """The mean of 1, 2 and 6 is 3."""
    expect_number(student.mean([1, 2, 6]), 3, within=1e-9)


@pytest.mark.example("median")
def test_median(student: Student) -> None:
    """The median of 6, 1 and 2 is 2; that of 6, 1, 2 and 4 is 3."""
    expect_number(student.median([6, 1, 2]), 2, within=1e-9)
    expect_number(student.median([6, 1, 2, 4]), 3, within=1e-9)
