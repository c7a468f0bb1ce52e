"""Names the misconception behind a wrong answer. It compares behaviour, never source text."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from grader.engine.failure_matrix import recorded
from grader.testing.backend import InProcessBackend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.course.model import Course
    from grader.engine.criteria import Criterion
    from grader.engine.outcomes import Outcome
    from grader.testing.misconceptions import Misconception

# Kinds of outcomes without behaviour to compare.
SILENT = {"not written", "not defined", "timed out", "ended", "waiting"}


def diagnose(
    course: Course, exercise: str, results: Sequence[tuple[Criterion, Outcome]], known: Sequence[Misconception]
) -> list[Misconception]:
    """Return the one misconception whose outcomes on this exercise's tests all resemble the submission's.

    The list is empty if the answer is right, gave nothing to compare, or behaves like none or several of them.
    """
    outcomes = [outcome for _, outcome in results]
    if all(outcome.passed for outcome in outcomes) or any(outcome.kind in SILENT for outcome in outcomes):
        return []
    matching = [
        candidate for candidate in known if candidate.exercise == exercise and _behaves_like(course, candidate, results)
    ]
    return matching if len(matching) == 1 else []


def _behaves_like(course: Course, candidate: Misconception, results: Sequence[tuple[Criterion, Outcome]]) -> bool:
    # Failures first: most candidates differ there.
    failures_first = sorted(results, key=lambda result: result[1].passed)
    return all(
        outcome.resembles(_outcome_of(course, candidate, criterion, outcome.substitutes))
        for criterion, outcome in failures_first
    )


@functools.cache
def _outcome_of(
    course: Course, candidate: Misconception, criterion: Criterion, substitutes: tuple[str, ...]
) -> Outcome:
    rows = None if substitutes else recorded(course, criterion.unit, candidate.exercise)
    if rows and candidate.name in rows:
        return rows[candidate.name][criterion.name]
    return criterion.run(InProcessBackend(criterion.unit, {candidate.exercise: candidate.implementation}), substitutes)
