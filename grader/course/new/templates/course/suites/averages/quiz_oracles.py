"""Unit 1: each number of the quiz, computed in another way. `grader build` and `grader audit` compare them."""

from __future__ import annotations

import statistics
from typing import Any


def mean_of_two(a: int, b: int) -> float:
    return statistics.fmean([a, b])


# The formulas of the slips, which are known wrong answers, by item. `row` is a row of the variants.
SLIPS: dict[str, dict[str, Any]] = {"mean_of_two": {"sum": lambda row: row["a"] + row["b"]}}
