"""Statistics of a class in closed formulas, so that the same reports give the same numbers everywhere."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Z = statistics.NormalDist().inv_cdf(0.975)


class Estimate(NamedTuple):
    """A number, and the 95 % interval around it."""

    value: float
    low: float
    high: float


class Quartiles(NamedTuple):
    """The least number, the three that divide the numbers into quarters, and the greatest."""

    least: float
    first: float
    median: float
    third: float
    greatest: float


def quartiles(numbers: Sequence[float]) -> Quartiles | None:
    """Return the quartiles, interpolated between two numbers as in spreadsheets; None for no numbers."""
    if not numbers:
        return None
    if len(numbers) == 1:
        return Quartiles(*[float(numbers[0])] * 5)
    first, median, third = statistics.quantiles(numbers, n=4, method="inclusive")
    return Quartiles(min(numbers), first, median, third, max(numbers))


def histogram(percents: Sequence[float], bins: int = 10) -> list[int]:
    """Return how many percents are in each of several bins of the same width; 100 is in the last one."""
    counts = [0] * bins
    for percent in percents:
        counts[min(int(percent * bins // 100), bins - 1)] += 1
    return counts


def mean_share(shares: Sequence[float]) -> Estimate:
    """Return the mean of shares, each from 0 to 1, with Wilson's interval.

    Wilson's interval [1, 2] is for a proportion: the mean of zeros and ones. Here a share may also lie between, and
    then it varies less: a variable from 0 to 1 has at most the variance m (1 - m), where m is its mean [3], and zeros
    and ones have exactly this. So the interval is wide enough. A bootstrap would be a single point where everybody has
    full marks, although the next student may not.

    [1] E. B. Wilson, Probable inference, the law of succession, and statistical inference. JASA 22 (1927), 209-212.
    [2] L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion. Statistical Science 16
        (2001), 101-133.
    [3] R. Bhatia, C. Davis, A better bound on the variance. American Mathematical Monthly 107 (2000), 353-357.
    """
    n = len(shares)
    mean = math.fsum(shares) / n
    centre = (mean + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(mean * (1 - mean) / n + Z**2 / (4 * n**2))
    return Estimate(mean, max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)))
