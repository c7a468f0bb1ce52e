"""Statistics of a class: known values, a slower way to the same number, and how often intervals hold the truth."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grader.classes.statistics import histogram, mean_share, quartiles


def test_quartiles_are_those_of_numpy() -> None:
    draw = random.Random(1)
    for count in (2, 3, 4, 5, 8, 100):
        numbers = [draw.randrange(100) for _ in range(count)]
        assert quartiles(numbers) == pytest.approx(tuple(np.percentile(numbers, [0, 25, 50, 75, 100])))
    assert quartiles([7]) == (7, 7, 7, 7, 7)
    assert quartiles([]) is None


def test_a_histogram_counts_everybody_once() -> None:
    assert histogram([0, 9.99, 10, 55, 99.9, 100, 100]) == [2, 1, 0, 0, 0, 1, 0, 0, 0, 3]


def test_the_mean_of_zeros_and_ones_has_wilsons_interval() -> None:
    # 81 of 263: Newcombe, Statistics in Medicine 17 (1998), table I, and 15 of 148, 0 of 20, 1 of 29.
    for right, count, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        found = mean_share([1.0] * right + [0.0] * (count - right))
        assert found.value == right / count
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("count", [8, 30, 200])
@pytest.mark.parametrize(
    "values", [[0, 1], [0, 0.2, 0.4, 0.6, 0.8, 1], [0, 0.9, 1, 1, 1, 1, 1, 1, 1, 1], [0.5, 0.75, 1]], ids=str
)
def test_of_a_hundred_intervals_of_a_mean_95_hold_it(values: list[float], count: int) -> None:
    draw = random.Random(str(values))
    truth = sum(values) / len(values)
    found = [mean_share(draw.choices(values, k=count)) for _ in range(2000)]
    # three standard errors below 0.95, and what Wilson's interval is known to lack for few students
    assert sum(one.low <= truth <= one.high for one in found) / 2000 > 0.95 - 3 * 0.0049 - 0.01
