"""Examples for unit 1 that you can check by hand. Run `grader check`, or `pytest` in this folder.

`student` is your file: `student.mean(numbers)` is what your mean returns.
"""

from __future__ import annotations

import pytest

from grader.testing.checks import expect_error, expect_number
from grader.testing.contracts import expect_arguments_kept
from grader.testing.student import Student


@pytest.mark.example("mean", rule="the mean is the sum of the numbers, divided by how many there are")
def test_mean(student: Student) -> None:
    """The mean of 1, 2 and 6 is 3."""
    expect_number(student.mean([1, 2, 6]), 3, within=1e-9)


@pytest.mark.example("mean", rule="an empty list raises a ValueError")
def test_mean_of_nothing(student: Student) -> None:
    """An empty list has no mean."""
    expect_error(lambda: student.mean([]), "an empty list")


@pytest.mark.example(
    "median",
    rule=["for an odd count, the median is the number in the middle of the sorted list",
          "for an even count, it is the mean of the two numbers in the middle"],
)  # fmt: skip
def test_median(student: Student) -> None:
    """The median of 6, 1 and 2 is 2; that of 6, 1, 2 and 4 is 3."""
    expect_number(student.median([6, 1, 2]), 2, within=1e-9)
    expect_number(student.median([6, 1, 2, 4]), 3, within=1e-9)


@pytest.mark.example("median", rule="the list is the same after the call as before")
def test_median_keeps_its_list(student: Student) -> None:
    """The list is in the same order after the call."""
    expect_arguments_kept(student.median, numbers=[6, 1, 2])
