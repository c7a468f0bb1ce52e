"""mean: hidden tests, known mistakes and right answers.

Each test quotes a rule of the solution's docstring, and its own docstring is what students read. Each known mistake is a
change to the solution, with a sentence that helps students who make it.
"""

from __future__ import annotations

from grader.testing.checks import expect_error, expect_number
from grader.testing.draws import Fresh
from grader.testing.misconceptions import mistake, replace
from grader.testing.student import Student
from grader.testing.suite import rule


@rule("the mean is the sum of the numbers, divided by how many there are")
def test_mean_of_several_numbers(student: Student, fresh: Fresh) -> None:
    """The mean should be the sum of the numbers divided by their count."""
    for count in (1, 2, 5):
        numbers = fresh(count).tolist()
        expect_number(student.mean(numbers), sum(numbers) / count, within=1e-9)


@rule("an empty list raises a ValueError")
def test_an_empty_list_is_refused(student: Student) -> None:
    """An empty list has no mean: raise a ValueError."""
    expect_error(lambda: student.mean([]))


MISCONCEPTIONS = [
    mistake("divided_by_one_less", replace("len(numbers)", "(len(numbers) - 1 or 1)"),
        "The sum is divided by one less than the count. That belongs to the variance, not to the mean."),
    mistake("empty_list_is_zero", replace('raise ValueError("an empty list has no mean")', "return 0.0"),
        "An empty list gives 0 here. It has no mean, so it should raise a ValueError."),
]  # fmt: skip


def right_answers():
    """Answers in other styles. Never run here: the audit reads them."""

    import statistics

    def with_the_library(numbers):
        if len(numbers) == 0:
            raise ValueError
        return statistics.fmean(numbers)
