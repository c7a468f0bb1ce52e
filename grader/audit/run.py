"""Grades the cases of the audit on all cores, names their mistakes, and searches for what tells mutants apart."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import types
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.audit.cases import WRITTEN, Case
from grader.audit.derived import derived_probes
from grader.audit.equivalence import Search, Solution
from grader.course.modules import import_file
from grader.engine.criteria import Criterion, criteria_of_unit
from grader.engine.diagnosis import diagnose
from grader.errors import InternalError
from grader.sandbox import lockdown
from grader.sandbox.client import SandboxClient, Source
from grader.sandbox.processes import ForkServer
from grader.testing.misconceptions import Misconception, misconceptions_of
from grader.testing.probes import Probe, probes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.course.model import Course
    from grader.engine.outcomes import Outcome

SEARCH_BYTES = 4 * 2**30  # that the search for differences may take


@dataclass(frozen=True)
class Result:
    """What one case came to. missed: the criteria that it lost.

    named: the misconceptions that a report would name, of a mistake that was written by hand.
    search: for a mutant, what tells it from the solution.
    """

    case: Case
    missed: tuple[str, ...]
    named: tuple[str, ...]
    search: Search | None


def run(course: Course, cases: Sequence[Case], jobs: int) -> Iterator[list[Result]]:
    """Yield the results, an exercise at a time, as they are done. Raises InternalError where the grader fails."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.unit, case.exercise), []).append(case)
    # Processes of their own making, and not forks of this one, whose threads a fork would lack.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin, (course,)) as pool:
        # The longest first, so that none is left over when all others are done.
        waiting = [pool.submit(_results, course, group) for group in sorted(groups.values(), key=len, reverse=True)]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BrokenProcessPool:
            raise InternalError("a process of the audit ended before it was done") from None
        finally:
            pool.shutdown(cancel_futures=True)


def criteria_names(course: Course, unit: str) -> dict[str, list[str]]:
    """Return the names of a unit's criteria, by exercise."""
    names: dict[str, list[str]] = {}
    for criterion in _unit(course, unit)[0]:
        names.setdefault(criterion.exercise, []).append(criterion.name)
    return names


# -- in one of the processes --------------------------------------------------------------------------------------


@functools.cache
def _server(course: Course) -> ForkServer | None:
    return ForkServer.spawned(course.modules) if sys.platform == "linux" else None


def _begin(course: Course) -> None:
    import torch

    torch.set_num_threads(1)
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - whatever an answer prints
    _server(course)
    if sys.platform == "linux":
        import resource

        # Some mutants would take all there is.
        most = lockdown.address_space() + SEARCH_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@functools.cache
def _unit(course: Course, unit: str) -> tuple[list[Criterion], list[Misconception]]:
    """Return a unit's criteria and misconceptions."""
    return criteria_of_unit(course, unit), misconceptions_of(course, unit)


def probes_for(course: Course, exercise: str, criteria: Sequence[Criterion]) -> list[tuple[Probe, int]]:
    """Return the probes of an exercise, with the draws of each: those by hand, or else those of its criteria."""
    unit = criteria[0].unit
    file = course.suites / unit / "probes.py"
    written = probes_of(import_file(file), exercise) if file.is_file() else []
    return written or derived_probes(criteria)


def _results(course: Course, cases: Sequence[Case]) -> list[Result]:
    """Return what the cases of one exercise come to."""
    unit, exercise = cases[0].unit, cases[0].exercise
    criteria, known = _unit(course, unit)
    asked = [criterion for criterion in criteria if criterion.exercise == exercise]
    [right] = [case for case in cases if case.kind == "solution"]
    solution = Solution(names_in(unit, right.sources), probes_for(course, exercise, asked))

    def result(case: Case) -> Result:
        outcomes = _graded(course, case, asked)
        missed = tuple(criterion.name for criterion, outcome in outcomes if not outcome.passed)
        named = diagnose(course, exercise, outcomes, known) if case.kind in WRITTEN else []
        search = solution.search(names_in(unit, case.sources)) if case.mutant else None
        return Result(case, missed, tuple(one.name for one in named), search)

    return [result(case) for case in cases]


def _graded(course: Course, case: Case, criteria: Sequence[Criterion]) -> list[tuple[Criterion, Outcome]]:
    """Return each criterion's outcome for a submission of these sources, whose other exercises are taken as right."""
    sources = {unit: Source.of(f"{unit}.py", [text]) for unit, text in case.sources.items()}
    client = SandboxClient(_server(course), sources, course.limits)
    client.budget.use(case.exercise, course.units[case.unit].time_shares)
    try:
        return [(criterion, criterion.run(client)) for criterion in criteria]
    finally:
        client.close()


def names_in(unit: str, sources: Mapping[str, str]) -> dict[str, Any]:
    """Return what a unit's file, the last of these sources, defines. It runs in this process, after what it imports."""
    try:
        with warnings.catch_warnings(action="ignore"):
            for name, text in sources.items():
                module = sys.modules[name] = types.ModuleType(name)
                exec(compile(text, f"{name}.py", "exec"), module.__dict__)
        return vars(sys.modules[unit])
    finally:
        for name in sources:
            sys.modules.pop(name, None)
