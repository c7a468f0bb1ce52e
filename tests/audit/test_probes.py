"""The probes find a difference in every misconception, and in no right answer."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator
from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES, defined_in

from grader.audit.equivalence import Solution
from grader.audit.run import probes_for

pytestmark = pytest.mark.proof(part="full")

# The audit compares all draws; these show whether a probe observes something that is not a rule.
SHARE, MOST = 6, 20

by_exercise = pytest.mark.parametrize(
    ("unit", "exercise"), [(name, exercise) for name, unit in COURSE.units.items() for exercise in unit.exercises]
)


@pytest.fixture(autouse=True)
def what_answers_print() -> Iterator[None]:
    """Right answers and misconceptions may print."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@functools.cache
def solution_of(unit: str) -> dict[str, Any]:
    return defined_in(REPOSITORY / "solutions" / f"{unit}.py", unit)


@functools.cache
def accepted_answers_of(unit: str) -> dict[str, dict[str, Any]]:
    return {style: SUITES[unit].in_style(style) for style in SUITES[unit].styles}


def probed(unit: str, exercise: str) -> Solution:
    return Solution(solution_of(unit), probes_for(COURSE, exercise, SUITES[unit].of(exercise)))


@functools.cache
def probed_in_few_draws(unit: str, exercise: str) -> Solution:
    solution = probed(unit, exercise)
    solution.probes = [(probe, min(-(-draws // SHARE), MOST)) for probe, draws in solution.probes]
    return solution


@by_exercise
def test_a_solution_shows_no_difference_from_itself(unit: str, exercise: str) -> None:
    search = probed_in_few_draws(unit, exercise).search(solution_of(unit))

    assert search.difference is None


@by_exercise
def test_no_right_answer_shows_a_difference(unit: str, exercise: str) -> None:
    solution = probed_in_few_draws(unit, exercise)

    found = {style: solution.search(names).difference for style, names in accepted_answers_of(unit).items()}

    assert found == dict.fromkeys(found)


@by_exercise
def test_every_misconception_shows_a_difference(unit: str, exercise: str) -> None:
    solution = probed(unit, exercise)

    unseen = {
        mistake.name
        for mistake in SUITES[unit].mistakes_in(exercise)
        if solution.search({**solution_of(unit), exercise: mistake.implementation}).difference is None
    }

    assert unseen == set()
