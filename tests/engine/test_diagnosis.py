"""A wrong answer that behaves like one misconception gets its name; any other gets none."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES, Suite, defined_in

from grader.engine import failure_matrix
from grader.engine.criteria import Criterion
from grader.engine.diagnosis import diagnose
from grader.engine.outcomes import Outcome
from grader.testing.backend import InProcessBackend

UNIT = "self_attention"
KNOWN = SUITES[UNIT].known


def graded(exercise: str, answer: Any, unit: str = UNIT) -> list[tuple[Criterion, Outcome]]:
    backend = InProcessBackend(unit, {exercise: answer})
    return [(criterion, criterion.run(backend)) for criterion in SUITES[unit].of(exercise)]


def written(exercise: str, source: str) -> Any:
    """The answer to an exercise from a student's source."""
    names: dict[str, Any] = {"__name__": UNIT}
    exec("import math\nimport torch\nimport torch.nn as nn\n" + textwrap.dedent(source), names)
    return names[exercise]


def diagnosis(exercise: str, answer: Any, unit: str = UNIT) -> list[str]:
    return [found.name for found in diagnose(COURSE, exercise, graded(exercise, answer, unit), SUITES[unit].known)]


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_misconception_is_distinguished_from_all_others(suite: Suite) -> None:
    """The outcomes in the failure matrix are those of a submission with the same code."""
    unnamed = []
    for mistake in suite.known:
        rows = failure_matrix.recorded(COURSE, suite.unit, mistake.exercise) or {}
        results = [(criterion, rows[mistake.name][criterion.name]) for criterion in suite.of(mistake.exercise)]
        if diagnose(COURSE, mistake.exercise, results, suite.known) != [mistake]:
            unnamed.append(mistake.name)
    assert unnamed == []


def test_a_right_answer_has_no_name() -> None:
    right = defined_in(REPOSITORY / "solutions" / f"{UNIT}.py", UNIT)
    assert diagnosis("scaled_dot_product_attention", right["scaled_dot_product_attention"]) == []


def test_an_answer_like_no_misconception_has_no_name() -> None:
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            weights = torch.softmax(torch.cdist(queries, keys), dim=-1)
            return weights @ values, weights
        """
    assert diagnosis("scaled_dot_product_attention", written("scaled_dot_product_attention", source)) == []


def test_two_mistakes_at_once_have_no_name() -> None:
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            weights = torch.softmax(queries @ keys.transpose(-2, -1) / keys.shape[-1] * 0.5, dim=-2)
            return weights @ values, weights
        """
    assert diagnosis("scaled_dot_product_attention", written("scaled_dot_product_attention", source)) == []


def test_an_answer_that_is_not_written_has_no_name() -> None:
    def not_written(*_: object) -> None:
        raise NotImplementedError

    assert diagnosis("project_qkv", not_written) == []


def test_a_name_that_does_not_exist_has_no_name() -> None:
    results = [(one, one.run(InProcessBackend(UNIT, {}))) for one in SUITES[UNIT].of("project_qkv")]
    assert {outcome.kind for _, outcome in results} == {"not defined"}
    assert diagnose(COURSE, "project_qkv", results, KNOWN) == []


def test_an_answer_like_several_misconceptions_has_no_name() -> None:
    mistake = SUITES[UNIT].mistake("values_first")
    twin = dataclasses.replace(mistake, name="twin")
    assert diagnose(COURSE, "project_qkv", graded("project_qkv", mistake.implementation), [mistake, twin]) == []


def test_only_misconceptions_of_the_same_exercise_are_compared() -> None:
    mistake = SUITES[UNIT].mistake("values_first")
    stranger = dataclasses.replace(mistake, exercise="transfer_weights")
    assert diagnose(COURSE, "project_qkv", graded("project_qkv", mistake.implementation), [stranger]) == []
