"""The substitutes for exercises that others call: they have the form of the answers, and none of them is right."""

from __future__ import annotations

from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUBSTITUTES, SUITES, defined_in

from grader.engine.criteria import Criterion
from grader.engine.outcomes import Outcome
from grader.testing.student import InProcessBackend

pytestmark = pytest.mark.proof(part="substitutes")

UNITS = {exercise: unit for unit, described in COURSE.units.items() for exercise in described.exercises}
EXERCISES = list(UNITS)


@pytest.mark.parametrize("exercise", list(SUBSTITUTES))
def test_every_substitute_has_the_form_of_its_exercise_and_is_not_a_right_answer(exercise: str) -> None:
    suite = SUITES[UNITS[exercise]]
    outcomes = suite.outcomes({exercise: SUBSTITUTES[exercise]}, exercise).values()
    assert not all(outcome.passed for outcome in outcomes)
    assert "The result has the wrong shape" not in " ".join(outcome.reason for outcome in outcomes)
    assert {outcome.kind for outcome in outcomes} <= {"passed", "wrong"}


def test_the_substitutes_are_in_the_courses_order() -> None:
    assert list(SUBSTITUTES) == [exercise for exercise in EXERCISES if exercise in SUBSTITUTES]


class Claiming(InProcessBackend):
    """A submission that always claims to have called these substitutes."""

    def __init__(self, unit: str, names: dict[str, Any], claims: tuple[str, ...]) -> None:
        super().__init__(unit, names)
        self.claims = claims

    def call(self, operation: str, **details: Any) -> Any:
        value = super().call(operation, **details)
        return list(self.claims) if operation == "unpatch" else value


@pytest.mark.parametrize("exercise", EXERCISES)
def test_no_wrong_answer_gains_by_saying_that_it_called_substitutes(exercise: str) -> None:
    suite = SUITES[UNITS[exercise]]
    wrong = [mistake.implementation for mistake in suite.mistakes_in(exercise)]
    if exercise in SUBSTITUTES:
        wrong.append(SUBSTITUTES[exercise])
    right = defined_in(REPOSITORY / "solutions" / f"{suite.unit}.py", suite.unit)
    for criterion in suite.of(exercise):
        earlier = [name for name in EXERCISES[: EXERCISES.index(exercise)] if name in SUBSTITUTES]
        # Only substitutes that change an expected value: with these, a right answer that calls none of them fails.
        effective = [name for name in earlier if not claimed(criterion, right, name).passed]
        for answer in wrong:
            names = {exercise: answer}
            if effective and not criterion.run(InProcessBackend(suite.unit, names)).passed:
                for claims in [*([name] for name in effective), effective]:
                    assert not claimed(criterion, names, *claims).passed, (criterion.name, answer, claims)


def claimed(criterion: Criterion, names: dict[str, Any], *claims: str) -> Outcome:
    """Return the outcome of a criterion for an answer that claims to have called these substitutes."""
    return criterion.run(Claiming(criterion.unit, names, claims), claims)
