"""Unit 1: each number of the quiz, computed in another way. `grader build` and `grader audit` compare them."""

from __future__ import annotations

import statistics


def mean_of_two(a: int, b: int) -> float:
    return statistics.fmean([a, b])
