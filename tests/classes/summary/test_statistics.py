"""Statistics of a class: known values, a slower way to the same number, and how often intervals hold the truth."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from grader.classes.summary.statistics import FEWEST, correlation, fisher_exact, histogram, holm, mean_share, quartiles


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
        assert found
        assert found.value == right / count
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    assert mean_share([]) is None


@pytest.mark.parametrize("count", [8, 30, 200])
@pytest.mark.parametrize(
    "values", [[0, 1], [0, 0.2, 0.4, 0.6, 0.8, 1], [0, 0.9, 1, 1, 1, 1, 1, 1, 1, 1], [0.5, 0.75, 1]], ids=str
)
def test_of_a_hundred_intervals_of_a_mean_95_hold_it(values: list[float], count: int) -> None:
    draw = random.Random(str(values))
    truth = sum(values) / len(values)
    found = [mean_share(draw.choices(values, k=count)) for _ in range(2000)]
    # three standard errors below 0.95, and what Wilson's interval is known to lack for few students
    assert sum(bool(one and one.low <= truth <= one.high) for one in found) / 2000 > 0.95 - 3 * 0.0049 - 0.01


def test_a_correlation_is_that_of_numpy_and_its_interval_that_of_fisher() -> None:
    draw = random.Random(2)
    first = [draw.random() for _ in range(40)]
    second = [one + draw.random() for one in first]
    found = correlation(first, second)
    assert found
    assert found.value == pytest.approx(np.corrcoef(first, second)[0, 1])
    half = (math.atanh(found.high) - math.atanh(found.low)) / 2
    assert half == pytest.approx(1.959964 / math.sqrt(37), rel=1e-6)
    assert (math.atanh(found.high) + math.atanh(found.low)) / 2 == pytest.approx(math.atanh(found.value))


def test_of_a_hundred_intervals_of_a_correlation_95_hold_it() -> None:
    draw = random.Random(3)
    held = 0
    for _ in range(1000):
        first = [draw.gauss(0, 1) for _ in range(20)]
        found = correlation(first, [0.6 * one + 0.8 * draw.gauss(0, 1) for one in first])
        held += bool(found and found.low <= 0.6 <= found.high)
    assert 0.93 < held / 1000 < 0.97


def test_nothing_is_said_about_few_students_and_without_variance() -> None:
    numbers = [float(number) for number in range(FEWEST)]
    assert correlation(numbers[1:], numbers[1:]) is None
    assert correlation(numbers, [1.0] * FEWEST) is None
    assert correlation(numbers, [-one for one in numbers]) == (-1, -1, -1)


def test_fishers_test_of_the_lady_who_tastes_tea() -> None:
    assert fisher_exact(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert fisher_exact(4, 4, 0, 4) == pytest.approx(2 / 70)


def test_fishers_test_agrees_with_counting_all_assignments() -> None:
    for total, other_total in itertools.product(range(1, 6), range(1, 6)):
        for drawn in range(total + other_total + 1):
            people = range(total + other_total)
            by_count: dict[int, int] = {}
            for chosen in itertools.combinations(people, drawn):
                count = sum(one < total for one in chosen)
                by_count[count] = by_count.get(count, 0) + 1
            every = sum(by_count.values())
            for right, ways in by_count.items():
                expected = Fraction(sum(other for other in by_count.values() if other <= ways), every)
                assert fisher_exact(right, total, drawn - right, other_total) == pytest.approx(float(expected))


def test_fishers_test_is_symmetric_also_for_a_large_class() -> None:
    assert fisher_exact(90, 200, 500, 800) == fisher_exact(500, 800, 90, 200)
    assert fisher_exact(90, 200, 500, 800) == pytest.approx(fisher_exact(110, 200, 300, 800), rel=1e-12)
    assert 1e-6 < fisher_exact(90, 200, 500, 800) < 1e-4


def test_holms_adjustment_is_that_of_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_where_nothing_differs_one_class_in_twenty_has_a_false_mark() -> None:
    draw = random.Random(4)
    marked = 0
    for _ in range(300):
        tests = []
        for _ in range(30):
            right, other = (sum(draw.random() < 0.6 for _ in range(12)) for _ in range(2))
            tests.append(fisher_exact(right, 12, other, 12))
        marked += min(holm(tests)) < 0.05
    assert marked / 300 <= 0.05
