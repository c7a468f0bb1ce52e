"""Unit 1: known mistakes. Each is a change to the solution, with the sentence that helps whoever made it."""

from __future__ import annotations

from grader.testing.misconceptions import replace, row

ROWS = [
    row("mean", "divided_by_one_less", replace("len(numbers)", "(len(numbers) - 1 or 1)"),
        "The sum is divided by one less than the count. That belongs to the variance, not to the mean."),
    row("mean", "empty_list_is_zero", replace('raise ValueError("an empty list has no mean")', "return 0.0"),
        "An empty list gives 0 here. It has no mean, so it should raise a ValueError."),
    row("median", "not_sorted", replace("sorted(numbers)", "list(numbers)"),
        "This is the middle of the list as it stands. The median is the middle of the sorted list."),
    row("median", "upper_of_the_two", replace("(ordered[middle - 1] + ordered[middle]) / 2", "ordered[middle]"),
        "Of an even count this is the upper one of the two in the middle. The median is their mean."),
    row("median", "sorted_in_place", replace("ordered = sorted(numbers)", "numbers.sort()\n    ordered = numbers"),
        "`list.sort` changes the list that was handed in. `sorted` makes a new one."),
]  # fmt: skip
