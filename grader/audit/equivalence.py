"""Searches for a difference between a changed answer and the solution that a rule of the course covers.

The probes of a unit's suite run on the solution and on the changed answer, with the same draws and the same random
states, until one observes a difference. One is derived from a contract's draw, and others are written by hand. An
exercise without the latter has some that are derived from its hidden tests: the same calls with other draws. They find
only differences in what the hidden tests observe but do not judge.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
import signal
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import torch

from grader.course.modules import SuiteError, described
from grader.engine.criteria import Criterion, ReplayBackend
from grader.sandbox import values
from grader.sandbox.failures import Failure, Raised
from grader.testing.checks import REFUSALS
from grader.testing.probes import ANY_ERROR, Draw, Probe, Property, alike
from grader.testing.student import InProcessBackend

PROBE_SECONDS = 10  # of processor time for one draw of a changed answer
FIRST = 20  # the draws of every probe that come before the rest


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: the first difference, if any, and the number of draws that were compared.

    difference: in which observation an answer differs, and in which draw of which probe.
    """

    difference: str | None
    draws: int


class Solution:
    """A solution's exercise as the probes observe it. Its observations are kept for all changed answers."""

    def __init__(self, names: Mapping[str, Any], probes: Sequence[tuple[Probe, int]]) -> None:
        """Take the names in the solution's file, and the probes of the exercise, each with its number of draws."""
        self.probes = probes
        self._names = names
        self._shown: dict[tuple[str, int], list[Property]] = {}

    def search(self, names: Mapping[str, Any]) -> SearchResult:
        """Search for a draw in which an answer differs from the solution: first a few of every probe, then all."""
        first = ((probe, draw) for probe, draws in self.probes for draw in range(min(draws, FIRST)))
        rest = ((probe, draw) for probe, draws in self.probes for draw in range(FIRST, draws))
        compared = 0
        for compared, (probe, draw) in enumerate(itertools.chain(first, rest), 1):
            if what := self._difference(probe, draw, names):
                return SearchResult(f"{what}: draw {draw} of {probe.__name__}", compared)
        return SearchResult(None, compared)

    def _difference(self, probe: Probe, draw: int, names: Mapping[str, Any]) -> str | None:
        key = probe.__name__, draw
        if key not in self._shown:
            try:
                self._shown[key] = [(what, value) for what, value in _observations(probe, self._names, draw)]
            except Exception as error:
                code = inspect.unwrap(probe).__code__
                problem = described(error, Path(code.co_filename), code.co_firstlineno)
                raise SuiteError(f"{problem} The probe {probe.__name__} raises this: correct it.") from error
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
    """Not an Exception, so that no probe or answer catches it as a refusal."""


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise _OutOfTime in the block when it has used this processor time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# -- probes that are derived from hidden tests -------------------------------------------------------------------

DRAWS = 20
"""The draws of each criterion. They differ from those of the course's version."""


def derived_probes(criteria: Iterable[Criterion]) -> list[tuple[Probe, int]]:
    """Return a probe for each of an exercise's criteria, with its number of draws."""
    return [(_probe(criterion), DRAWS) for criterion in criteria]


def _probe(criterion: Criterion) -> Probe:
    def probe(unit: Any, draw: Draw) -> Iterator[Property]:
        recorded = ReplayBackend(InProcessBackend(criterion.unit, vars(unit)))
        outcome = replace(criterion, version=f"{criterion.version}/{draw.number}").run(recorded)
        for number, (operation, answer) in enumerate(recorded.answers, 1):
            yield f"answer {number}, to {operation}", _comparable(operation, answer)
        yield "the verdict", outcome.passed

    probe.__name__ = criterion.name
    return probe


def _comparable(operation: str, answer: Any) -> Any:
    """Return the part of an answer that should be the same for all right ones."""
    match operation, answer:
        case _, Raised():
            return "a refusal" if REFUSALS & set(answer.types) else answer.types[0]
        case _, Failure():
            return type(answer).__name__
        case "torch_functions", _:
            return ""
        case "parameters", torch.Tensor():  # their first values are random
            return str(answer.shape)
        case _, values.Handle():
            return "an object"
        case _, tuple() | list():
            return [_comparable(operation, one) for one in answer]
        case _, dict():
            return [(str(name), _comparable(operation, answer[name])) for name in sorted(answer, key=str)]
    return answer
