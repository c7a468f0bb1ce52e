"""Unit 1: misconceptions. Each is a change to the solution, with a sentence that helps students who have it."""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

ROWS = [
    row("mean", "divided_by_one_less", replace("len(numbers)", "(len(numbers) - 1 or 1)"),
        "The sum is divided by one less than the count. That belongs to the variance, not to the mean."),
    row("mean", "empty_list_is_zero", replace('raise ValueError("an empty list has no mean")', "return 0.0"),
        "An empty list gives 0 here. It has no mean, so it should raise a ValueError."),
    row("median", "not_sorted", replace("sorted(numbers)", "list(numbers)"),
        "This is the middle of the unsorted list. The median is the middle of the sorted list."),
    row("median", "upper_of_the_two", replace("(ordered[middle - 1] + ordered[middle]) / 2", "ordered[middle]"),
        "For an even count, this is the larger of the two numbers in the middle. The median is their mean."),
    row("median", "sorted_in_place", replace("ordered = sorted(numbers)", "numbers.sort()\n    ordered = numbers"),
        "`list.sort` changes the argument. `sorted` makes a new list."),
]  # fmt: skip
