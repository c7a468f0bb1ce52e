"""Statistics of a class: estimates with 95 % intervals, and tests that compare groups of students.

All are closed formulas or exact sums, so that the same reports give the same numbers everywhere.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST = 10
"""With fewer students, the interval of a correlation covers most of the numbers from -1 to 1."""
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


def mean_share(shares: Sequence[float]) -> Estimate | None:
    """Return the mean of shares, each from 0 to 1, with Wilson's interval; None for no shares.

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
    if not n:
        return None
    mean = math.fsum(shares) / n
    centre = (mean + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(mean * (1 - mean) / n + Z**2 / (4 * n**2))
    return Estimate(mean, max(0.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)))


def correlation(first: Sequence[float], second: Sequence[float]) -> Estimate | None:
    """Return Pearson's correlation of pairs, with Fisher's interval; None for fewer than FEWEST or without variance.

    The interval is that of the z-transform, which is nearly normal with the variance 1 / (n - 3).

    R. A. Fisher, On the "probable error" of a coefficient of correlation deduced from a small sample. Metron 1 (1921),
    3-32.
    """
    n = len(first)
    if n < FEWEST or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    r = max(-1.0, min(1.0, statistics.correlation(first, second)))
    if abs(r) == 1:
        return Estimate(r, r, r)
    z, half = math.atanh(r), Z / math.sqrt(n - 3)
    return Estimate(r, math.tanh(z - half), math.tanh(z + half))


def fisher_exact(right: int, total: int, other_right: int, other_total: int) -> float:
    """Return how probable it is that two groups differ at least this much by chance: Fisher's exact test, two-sided.

    It adds the probabilities of all tables with the same sums that are not more probable than this one. They are whole
    numbers here, so that equal ones compare as equal.

    R. A. Fisher, The logic of inductive inference. Journal of the Royal Statistical Society 98 (1935), 39-82.
    """
    drawn = right + other_right
    lowest, highest = max(0, drawn - other_total), min(drawn, total)
    ways = [math.comb(total, lowest) * math.comb(other_total, drawn - lowest)]
    for k in range(lowest, highest):
        # C(total, k + 1) C(other_total, drawn - k - 1), from the one before
        ways.append(ways[-1] * (total - k) * (drawn - k) // ((k + 1) * (other_total - drawn + k + 1)))
    observed = ways[right - lowest]
    return sum(one for one in ways if one <= observed) / sum(ways)


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return the probabilities of several tests, adjusted so that all of them together err in one class of twenty.

    S. Holm, A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6 (1979),
    65-70.
    """
    adjusted = [0.0] * len(probabilities)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(probabilities)), key=lambda at: probabilities[at])):
        largest = max(largest, min(1.0, probabilities[at] * (len(probabilities) - rank)))
        adjusted[at] = largest
    return adjusted
