"""How honest a tick of `grader check` is: which known answers pass all visible tests of their exercise."""

from __future__ import annotations

import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from pydantic import Field

from grader.audit.cases import RIGHT, WRITTEN, Case, run_case
from grader.documents import Model
from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.failure_matrix import start_worker
from grader.engine.solutions import solution_names
from grader.testing.backend import InProcessBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grader.course.model import Course


class Ticks(Model):
    """What the visible tests say of the known answers of a unit. Each answer is named `exercise/answer`."""

    wrong: int = Field(description="How many wrong answers there are, written by hand.")
    ticked: list[str] = Field(description="The wrong answers with a full tick.")
    right: int = Field(description="How many right answers there are.")
    refused: list[str] = Field(description="The right answers without a tick, each with the first test that it fails.")


def count_ticks(course: Course, units: Sequence[str], cases: Sequence[Case], jobs: int) -> dict[str, Ticks]:
    """Run the visible tests of these units on their handwritten answers, each unit in one of `jobs` processes."""
    # New processes, because a fork would lack this process's threads.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), start_worker) as pool:
        own = [[case for case in cases if case.unit == unit] for unit in units]
        return dict(zip(units, pool.map(ticks_of, itertools.repeat(course), units, own), strict=True))


def ticks_of(course: Course, unit: str, cases: Iterable[Case]) -> Ticks:
    """Run the visible tests of a unit on its handwritten answers, in this process."""
    failure = failure_finder(course, unit)
    found = [(case, failure(case)) for case in cases if case.kind in (*RIGHT, *WRITTEN)]
    right = [(case, reason) for case, reason in found if case.kind in RIGHT]
    return Ticks(
        wrong=len(found) - len(right),
        ticked=[_name(case) for case, reason in found if case.kind in WRITTEN and reason is None],
        right=len(right),
        refused=[f"{_name(case)}: {reason}" for case, reason in right if reason],
    )


def failure_finder(course: Course, unit: str) -> Callable[[Case], str | None]:
    """Return a function that names the first visible test that an answer fails, and why; None for a full tick."""
    visible = visible_criteria_of_unit(course, unit)
    # A wrong answer is one exercise. Visible tests of it may need other exercises of the unit, which are right.
    solution = solution_names(course, unit)

    def first_failure(case: Case) -> str | None:
        names = run_case(case)
        if case.kind in WRITTEN:
            names = {**solution, case.exercise: names[case.exercise]}
        backend = InProcessBackend(unit, names)
        for criterion in visible:
            if criterion.exercise == case.exercise and not (outcome := criterion.run(backend)).passed:
                return f"{criterion.name}: {outcome.fault or f'{outcome.reason} {outcome.detail}'.strip()}"
        return None

    return first_failure


def _name(case: Case) -> str:
    return f"{case.exercise}/{case.name}"
