"""One exercise that is missing or wrong costs its own points, and no other exercise's."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import courses
import pytest
from courses import COURSE, REPOSITORY

from grader.engine.client import Engine
from grader.reports.results import Judged
from grader.submissions.source import Submission, UnitSource, UnitSubmission

pytestmark = pytest.mark.proof(part="substitutes")

EXERCISES = {exercise: unit for unit, described in COURSE.units.items() for exercise in described.exercises}


@cache
def solutions() -> dict[str, str]:
    return {unit: (REPOSITORY / "solutions" / f"{unit}.py").read_text(encoding="utf-8") for unit in COURSE.units}


def builds_on(unit: str) -> dict[str, str]:
    """The solutions of a unit and of those that import it; the others run no line of it."""
    return {name: text for name, text in solutions().items() if name == unit or f"from {unit} import" in text}


def results(engine: Engine, texts: dict[str, str]) -> dict[str, list[Judged]]:
    """The outcomes of each exercise."""
    units = {unit: UnitSubmission(UnitSource(f"{unit}.py", (text,))) for unit, text in texts.items()}
    result = courses.graded(engine, Submission("ada", Path(), None, units))
    found: dict[str, list[Judged]] = {}
    for outcome in result.outcomes:
        found.setdefault(outcome.exercise, []).append(outcome)
    return found


def losing(found: dict[str, list[Judged]]) -> set[str]:
    return {exercise for exercise, outcomes in found.items() if not all(outcome.passed for outcome in outcomes)}


def without(exercise: str, text: str) -> str:
    """A unit's file in which this exercise is not written after all."""
    return f"{text}\n\ndef {exercise}(*arguments, **options):\n    raise NotImplementedError()\n"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_that_is_not_written_costs_no_other_one_a_point(engine: Engine, exercise: str) -> None:
    unit = EXERCISES[exercise]
    found = results(engine, {**builds_on(unit), unit: without(exercise, solutions()[unit])})
    assert losing(found) == {exercise}
    assert not any(outcome.passed for outcome in found[exercise])


@pytest.mark.parametrize(
    ("missing", "waiting", "right", "building_on_it"),
    [
        # Whatever a substitute for dropout did, it would have to be random, and so would be a right answer.
        (
            "attention_dropout",
            "CausalAttention",
            "self.dropout(torch.softmax(masked / d_out**0.5, dim=-1))",
            "attention_dropout(torch.softmax(masked / d_out**0.5, dim=-1), self.dropout.p if self.training else 0.0)",
        ),
        # The two are one function, so what the one does with a substitute for the other shows little.
        (
            "softmax_naive",
            "softmax_stable",
            "exponentials = torch.exp(x - largest)",
            "return softmax_naive(x - largest, dim)",
        ),
    ],
)
def test_where_no_substitute_can_serve_an_exercise_waits(
    engine: Engine, missing: str, waiting: str, right: str, building_on_it: str
) -> None:
    unit = EXERCISES[missing]
    assert right in solutions()[unit]
    found = results(engine, {unit: without(missing, solutions()[unit].replace(right, building_on_it))})
    assert losing(found) == {missing, waiting}
    lost = [outcome for outcome in found[waiting] if not outcome.passed]
    assert all(outcome.waiting and outcome.substitutes == [missing] for outcome in lost)


@pytest.mark.parametrize(
    ("missing", "alias"), [("softmax_naive", "softmax_stable"), ("softmax_stable", "softmax_naive")]
)
def test_calling_the_same_function_by_its_other_name_earns_nothing(engine: Engine, missing: str, alias: str) -> None:
    text = without(missing, solutions()["simple_attention"])
    text += f"\n\ndef {alias}(x, dim=-1):\n    return {missing}(x, dim)\n"
    found = results(engine, {"simple_attention": text})
    assert not any(outcome.passed for outcome in found[alias])


@pytest.mark.parametrize("unit", COURSE.units)
def test_a_unit_that_is_not_handed_in_costs_no_other_one_a_point(engine: Engine, unit: str) -> None:
    assert losing(results(engine, {name: text for name, text in solutions().items() if name != unit})) == set()
