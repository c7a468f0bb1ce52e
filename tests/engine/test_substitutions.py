"""A missing or wrong exercise loses its own points, and no other exercise does."""

from __future__ import annotations

from functools import cache

import courses
import pytest
from courses import COURSE, REPOSITORY

from grader.engine.engine_client import Engine
from grader.reports.report_model import Judged
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

pytestmark = pytest.mark.proof(part="substitutes")

EXERCISES = {exercise: unit for unit, described in COURSE.units.items() for exercise in described.exercises}


@cache
def solutions() -> dict[str, str]:
    return {unit: (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8") for unit in COURSE.units}


def builds_on(unit: str) -> dict[str, str]:
    """The solutions of a unit and of the units that import it. No other unit runs its code."""
    return {name: text for name, text in solutions().items() if name == unit or f"from {unit} import" in text}


def results(engine: Engine, texts: dict[str, str]) -> dict[str, list[Judged]]:
    """The outcomes of each exercise."""
    units = {unit: UnitSubmission(UnitSource(f"{unit}.py", (text,))) for unit, text in texts.items()}
    result = courses.graded(engine, Submission("ada", None, units))
    found: dict[str, list[Judged]] = {}
    for outcome in result.outcomes:
        found.setdefault(outcome.exercise, []).append(outcome)
    return found


def losing(found: dict[str, list[Judged]]) -> set[str]:
    return {exercise for exercise, outcomes in found.items() if not all(outcome.passed for outcome in outcomes)}


def without(exercise: str, text: str) -> str:
    """A unit's file in which this exercise is not written."""
    return f"{text}\n\ndef {exercise}(*arguments, **options):\n    raise NotImplementedError()\n"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_unwritten_exercise_costs_no_points_of_others(engine: Engine, exercise: str) -> None:
    unit = EXERCISES[exercise]
    found = results(engine, {**builds_on(unit), unit: without(exercise, solutions()[unit])})
    assert losing(found) == {exercise}
    assert not any(outcome.passed for outcome in found[exercise])


@pytest.mark.parametrize("unit", COURSE.units)
def test_a_missing_unit_costs_no_points_of_others(engine: Engine, unit: str) -> None:
    assert losing(results(engine, {name: text for name, text in solutions().items() if name != unit})) == set()
