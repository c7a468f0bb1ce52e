"""The substitutes for answers that others build on: of the same form as the answers, and none of them right."""

from __future__ import annotations

from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUBSTITUTES, SUITES, defined_in

from grader.engine.criteria import Criterion
from grader.engine.outcomes import Outcome
from grader.testing.backend import InProcessBackend

pytestmark = pytest.mark.proof(part="substitutes")

UNITS = {exercise: unit for unit, described in COURSE.units.items() for exercise in described.exercises}
EXERCISES = list(UNITS)


@pytest.mark.parametrize("exercise", list(SUBSTITUTES))
def test_every_substitute_is_called_as_an_exercise_is_and_is_no_answer_to_it(exercise: str) -> None:
    suite = SUITES[UNITS[exercise]]
    outcomes = suite.outcomes({exercise: SUBSTITUTES[exercise]}, exercise).values()
    assert not all(outcome.passed for outcome in outcomes)
    assert "The result has the wrong shape" not in " ".join(outcome.reason for outcome in outcomes)
    assert {outcome.kind for outcome in outcomes} <= {"passed", "wrong"}


def test_the_substitutes_are_in_the_courses_order() -> None:
    assert list(SUBSTITUTES) == [exercise for exercise in EXERCISES if exercise in SUBSTITUTES]


class Claiming(InProcessBackend):
    """A submission that says that it called these exercises' substitutes, whatever it did."""

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
        # Substitutes that an expected value is made with: a right answer that calls none of them is another one then.
        counting = [name for name in earlier if not claimed(criterion, right, name).passed]
        for answer in wrong:
            names = {exercise: answer}
            if counting and not criterion.run(InProcessBackend(suite.unit, names)).passed:
                for claims in [*([name] for name in counting), counting]:
                    assert not claimed(criterion, names, *claims).passed, (criterion.name, answer, claims)


def claimed(criterion: Criterion, names: dict[str, Any], *claims: str) -> Outcome:
    """What a criterion comes to for an answer that says that it called these substitutes."""
    return criterion.run(Claiming(criterion.unit, names, claims), claims)
