"""Runs the cases of the audit on all cores: hidden tests, diagnosis, searches for differences, and visible tests."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from pydantic import Field

from grader.audit.cases import RIGHT, WRITTEN, Case, run_case
from grader.audit.equivalence import SearchResult, Solution, derived_probes
from grader.course.model import Course
from grader.course.modules import import_file
from grader.documents import Model
from grader.engine.criteria import Criterion, criteria_of_unit, visible_criteria_of_unit
from grader.engine.diagnosis import diagnose
from grader.engine.failure_matrix import names_in, solution_names, start_worker, worker_pool
from grader.engine.outcomes import MISSING, Outcome
from grader.errors import InternalError
from grader.sandbox import lockdown
from grader.sandbox.processes import ForkServer, PracticeServer, Server
from grader.sandbox.sandbox_client import SandboxClient, Source
from grader.testing.misconceptions import misconceptions_of
from grader.testing.probes import Probe, contract_probes, probes_of
from grader.testing.student import InProcessBackend
from grader.text import ended

SEARCH_BYTES = 4 * 2**30  # the memory limit of the search for differences


@dataclass(frozen=True)
class CaseResult:
    """The result of one case. missed: the criteria that it failed.

    named: the misconceptions that a report would name, for a handwritten mistake.
    search: for a mutant, the search for a difference from the solution.
    broken: what stops an answer that was written by hand, if that is probably not meant.
    """

    case: Case
    missed: tuple[str, ...]
    named: tuple[str, ...]
    search: SearchResult | None
    broken: str = ""


def run(course: Course, cases: Sequence[Case], jobs: int) -> Iterator[list[CaseResult]]:
    """Yield the results, exercise by exercise, in the order of completion. Raises InternalError if the grader fails."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.unit, case.exercise), []).append(case)
    # The longest comes first, so that it does not run alone at the end. A single exercise is shared by all processes.
    shares = sorted(groups.values(), key=len, reverse=True) if len(groups) > 1 else _shares([*cases], jobs)
    with worker_pool(jobs, _begin, course) as pool:
        waiting = [pool.submit(_results, course, share) for share in shares]
        try:
            is_first = True
            for done in as_completed(waiting):
                results = done.result()
                # The solution is the first case of each share.
                yield results if is_first or len(groups) > 1 else results[1:]
                is_first = False
        except BrokenProcessPool:
            raise InternalError("a process of the audit ended before it was done") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _shares(cases: Sequence[Case], jobs: int) -> list[list[Case]]:
    """Share the cases of one exercise. Each share needs the solution, because answers are compared with it."""
    others = [case for case in cases if case.kind != "solution"]
    solution = [case for case in cases if case.kind == "solution"]
    return [[*solution, *others[number::jobs]] for number in range(jobs)]


# -- in each process ----------------------------------------------------------------------------------------------


@functools.cache
def _server(course: Course) -> Server:
    return ForkServer.spawned(course.modules) if sys.platform == "linux" else PracticeServer(course.modules)


def _begin(course: Course) -> None:
    start_worker()
    _server(course)
    if sys.platform == "linux":
        import resource

        # Some mutants would use all memory.
        most = lockdown.address_space() + SEARCH_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def probes_for(course: Course, exercise: str, criteria: Sequence[Criterion]) -> list[tuple[Probe, int]]:
    """Return the probes of an exercise with the draws of each: its contract's, and handwritten ones or else derived."""
    suite = import_file(course.suites / criteria[0].unit / f"{exercise}.py")
    return [*contract_probes(suite), *(probes_of(suite) or derived_probes(criteria))]


def _results(course: Course, cases: Sequence[Case]) -> list[CaseResult]:
    """Return the results of the cases of one exercise."""
    unit, exercise = cases[0].unit, cases[0].exercise
    gc.freeze()  # or a collection of what earlier exercises left here would be time of an answer with a large result
    criteria, known = criteria_of_unit(course, unit), misconceptions_of(course, unit)
    asked = [criterion for criterion in criteria if criterion.exercise == exercise]
    [right] = [case for case in cases if case.kind == "solution"]
    solution = Solution(names_in(unit, right.sources), probes_for(course, exercise, asked))

    def result(case: Case) -> CaseResult:
        outcomes = _graded(course, case, asked)
        missed = tuple(criterion.name for criterion, outcome in outcomes if not outcome.passed)
        named = diagnose(course, exercise, outcomes, known) if case.kind in WRITTEN else []
        search = solution.search(names_in(unit, case.sources)) if case.mutant else None
        return CaseResult(case, missed, tuple(one.name for one in named), search, _broken(case, outcomes))

    return [result(case) for case in cases]


def _broken(case: Case, outcomes: Sequence[tuple[Criterion, Outcome]]) -> str:
    """Return what stops an answer written by hand, if a right one raises or a wrong one lacks a name; or ""."""
    for _, outcome in outcomes:
        if outcome.kind == "raised" and case.kind in (*RIGHT, *WRITTEN):
            if case.kind == "right answer":
                return f"{case.place}: {case.name}: {outcome.reason} {outcome.detail}".rstrip()
            if MISSING.match(outcome.detail) and not case.lacks_name:
                return f"{case.place}: {case.name} cannot be run: {ended(outcome.detail)} Correct it."
    return ""


def _graded(course: Course, case: Case, criteria: Sequence[Criterion]) -> list[tuple[Criterion, Outcome]]:
    """Return the outcome of each criterion for a submission of these sources, without substitutes."""
    sources = {unit: Source.of(f"{unit}.py", [text]) for unit, text in case.sources.items()}
    client = SandboxClient(_server(course), sources, course.limits)
    client.budget.use(case.exercise, course.units[case.unit].time_shares)
    try:
        return [(criterion, criterion.run(client)) for criterion in criteria]
    finally:
        client.close()


# -- visible tests -----------------------------------------------------------------------------------------------


class Ticks(Model):
    """What the visible tests say of the known answers of a unit. Each answer is named `exercise/answer`."""

    wrong: int = Field(description="How many wrong answers there are, written by hand.")
    ticked: list[str] = Field(description="The wrong answers with a full tick.")
    right: int = Field(description="How many right answers there are.")
    refused: list[str] = Field(description="The right answers without a tick, each with the first test that it fails.")


def count_ticks(course: Course, units: Sequence[str], cases: Sequence[Case], jobs: int) -> dict[str, Ticks]:
    """Run the visible tests of these units on their handwritten answers, each unit in one of `jobs` processes."""
    with worker_pool(jobs) as pool:
        own = [[case for case in cases if case.unit == unit] for unit in units]
        return dict(zip(units, pool.map(ticks_of, itertools.repeat(course), units, own), strict=True))


def ticks_of(course: Course, unit: str, cases: Iterable[Case]) -> Ticks:
    """Run the visible tests of a unit on its handwritten answers, in this process."""
    visible = visible_criteria_of_unit(course, unit)
    # A wrong answer is one exercise. Visible tests of it may need other exercises of the unit, which are right.
    solution = solution_names(course, unit)

    def first_failure(case: Case) -> str | None:
        """Return the first visible test that an answer fails, and why; None for a full tick."""
        names = run_case(case)
        if case.kind in WRITTEN:
            names = {**solution, case.exercise: names[case.exercise]}
        backend = InProcessBackend(unit, names)
        for criterion in visible:
            if criterion.exercise == case.exercise and not (outcome := criterion.run(backend)).passed:
                return f"{criterion.name}: {outcome.fault or f'{outcome.reason} {outcome.detail}'.strip()}"
        return None

    by_hand = [case for case in cases if case.kind in (*RIGHT, *WRITTEN)]
    found = [(case.kind, f"{case.exercise}/{case.name}", first_failure(case)) for case in by_hand]
    right = [(name, reason) for kind, name, reason in found if kind in RIGHT]
    return Ticks(
        wrong=len(found) - len(right),
        ticked=[name for kind, name, reason in found if kind in WRITTEN and reason is None],
        right=len(right),
        refused=[f"{name}: {reason}" for name, reason in right if reason],
    )
