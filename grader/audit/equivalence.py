"""Finds whether a changed answer can be told from the right one by anything that the course rules on.

The probes of a unit's suite are run on the solution and on the changed answer, with the same draws and the same random
states, until one sees a difference.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import warnings
from dataclasses import dataclass
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from grader.testing.alike import alike
from grader.testing.probes import ANY_ERROR, Draw, Probe, Property

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROBE_SECONDS = 10  # of processor time that a changed answer may take for one draw
FIRST = 20  # draws of every probe that come before the many


@dataclass(frozen=True)
class Difference:
    """Where a changed answer showed itself: in which draw of which probe, and in what."""

    probe: str
    draw: int
    what: str


@dataclass(frozen=True)
class Search:
    """What a search came to: the first difference, or None; and how many draws were compared."""

    difference: Difference | None
    draws: int


class Solution:
    """A solution's exercise as the probes see it. What it shows is kept, for all changed answers to be held against."""

    def __init__(self, names: Mapping[str, Any], probes: Sequence[tuple[Probe, int]]) -> None:
        """Take what the solution's file defines, and the probes of the exercise, each with its number of draws."""
        self.probes = probes
        self._names = names
        self._shown: dict[tuple[str, int], list[Property]] = {}

    def search(self, names: Mapping[str, Any]) -> Search:
        """Look for a draw that tells another answer from the solution: a few of every probe first, then all."""
        compared = 0
        first = ((probe, draw) for probe, draws in self.probes for draw in range(min(draws, FIRST)))
        rest = ((probe, draw) for probe, draws in self.probes for draw in range(FIRST, draws))
        for probe, draw in itertools.chain(first, rest):
            compared += 1
            what = self._difference(probe, draw, names)
            if what is not None:
                return Search(Difference(probe.__name__, draw, what), compared)
        return Search(None, compared)

    def _difference(self, probe: Probe, draw: int, names: Mapping[str, Any]) -> str | None:
        key = probe.__name__, draw
        if key not in self._shown:
            self._shown[key] = list(_observations(probe, self._names, draw))
        expected = iter(self._shown[key])
        what = "the first call"
        try:
            with _deadline(PROBE_SECONDS):
                for (what, right), (_, found) in zip(expected, _observations(probe, names, draw), strict=True):
                    if not alike(found, right):
                        return what
        except (*ANY_ERROR, _OutOfTime) as error:
            return f"it raised {type(error).__name__} at {what} or after it"
        return None


def _observations(probe: Probe, names: Mapping[str, Any], number: int) -> Iterator[Property]:
    torch.manual_seed(number)
    random.seed(number)
    with warnings.catch_warnings(action="ignore"):
        yield from probe(SimpleNamespace(**names), Draw(number))


class _OutOfTime(BaseException):
    """Not an Exception, so that no probe or answer takes it for a refusal."""


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise _OutOfTime in the block once it has taken so much processor time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
