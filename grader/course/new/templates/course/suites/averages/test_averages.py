"""Unit 1: the hidden tests. Each test quotes a rule of the solution's docstring; its docstring is what students read."""

from __future__ import annotations

import pytest

from grader.testing.checks import expect_equal, expect_error, expect_number
from grader.testing.draws import Fresh
from grader.testing.student import Student

WITHIN = 1e-9


@pytest.mark.exercise("mean", rule="the mean is the sum of the numbers, divided by how many there are")
def test_mean_of_several_numbers(student: Student, fresh: Fresh) -> None:
    """The mean should be the sum of the numbers divided by their count."""
    for count in (1, 2, 5):
        numbers = fresh(count).tolist()
        expect_number(student.mean(numbers), sum(numbers) / count, WITHIN)


@pytest.mark.exercise("mean", rule="an empty list raises a ValueError")
def test_an_empty_list_is_refused(student: Student) -> None:
    """An empty list has no mean: raise a ValueError."""
    expect_error(lambda: student.mean([]))


@pytest.mark.exercise("median", rule="for an odd count, the median is the number in the middle of the sorted list")
def test_median_of_an_odd_count(student: Student, fresh: Fresh) -> None:
    """For an odd count, the median should be the number in the middle of the sorted list."""
    for count in (1, 5, 7):
        numbers = fresh(count).tolist()
        expect_number(student.median(numbers), sorted(numbers)[(count - 1) // 2], WITHIN)


@pytest.mark.exercise("median", rule="for an even count, it is the mean of the two numbers in the middle")
def test_median_of_an_even_count(student: Student, fresh: Fresh) -> None:
    """For an even count, the median should be the mean of the two numbers in the middle."""
    for count in (2, 6):
        numbers = fresh(count).tolist()
        low, high = sorted(numbers)[count // 2 - 1 : count // 2 + 1]
        expect_number(student.median(numbers), low / 2 + high / 2, WITHIN)


@pytest.mark.exercise("median", rule="the list is the same after the call as before")
def test_the_list_is_left_alone(student: Student, fresh: Fresh) -> None:
    """The list should be the same after the call as before: sort a copy of it."""
    numbers = fresh(6).tolist()
    _, (after,) = student.median.with_arguments(numbers)
    expect_equal(after, numbers, "The list was changed.")
