"""median: hidden tests, known mistakes and right answers."""

from __future__ import annotations

from grader.testing.checks import expect_equal, expect_number
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import rule

WITHIN = 1e-9


@rule("for an odd count, the median is the number in the middle of the sorted list")
def test_median_of_an_odd_count(student: Student, fresh: Fresh) -> None:
    """For an odd count, the median should be the number in the middle of the sorted list."""
    for count in (1, 5, 7):
        numbers = fresh(count).tolist()
        expect_number(student.median(numbers), sorted(numbers)[(count - 1) // 2], WITHIN)


@rule("for an even count, it is the mean of the two numbers in the middle")
def test_median_of_an_even_count(student: Student, fresh: Fresh) -> None:
    """For an even count, the median should be the mean of the two numbers in the middle."""
    for count in (2, 6):
        numbers = fresh(count).tolist()
        low, high = sorted(numbers)[count // 2 - 1 : count // 2 + 1]
        expect_number(student.median(numbers), low / 2 + high / 2, WITHIN)


@rule("the list is the same after the call as before")
def test_the_list_is_left_alone(student: Student, fresh: Fresh) -> None:
    """The list should be the same after the call as before: sort a copy of it."""
    numbers = fresh(6).tolist()
    _, (after,) = student.median.with_arguments(numbers)
    expect_equal(after, numbers, "The list was changed.")


MISCONCEPTIONS = [
    mistake("not_sorted", replace("sorted(numbers)", "list(numbers)"),
        "This is the middle of the unsorted list. The median is the middle of the sorted list."),
    mistake("upper_of_the_two", replace("(ordered[middle - 1] + ordered[middle]) / 2", "ordered[middle]"),
        "For an even count, this is the larger of the two numbers in the middle. The median is their mean."),
    mistake("sorted_in_place", replace("ordered = sorted(numbers)", "numbers.sort()\n    ordered = numbers"),
        "`list.sort` changes the argument. `sorted` makes a new list."),
]  # fmt: skip


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import statistics

    def with_the_library(numbers):
        return statistics.median(numbers)
