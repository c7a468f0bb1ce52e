"""A wrong answer that behaves like one misconception, or like two together, gets their names; any other gets none."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import pytest
from courses import COURSE, REPOSITORY
from units import SUITES, Suite, defined_in

from grader.engine.criteria import Criterion
from grader.engine.diagnosis import diagnose
from grader.engine.outcomes import Outcome
from grader.testing.student import InProcessBackend

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
        rows = suite.recorded(mistake.exercise)
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


def test_two_mistakes_in_different_criteria_are_both_named() -> None:
    """Not scaled, and always in float32: each shows in a criterion that the other one passes."""
    source = """
        def scaled_dot_product_attention(queries, keys, values):
            weights = torch.softmax(queries @ keys.transpose(-2, -1), dim=-1)
            return weights.float() @ values.float(), weights
        """
    answer = written("scaled_dot_product_attention", source)
    assert diagnosis("scaled_dot_product_attention", answer) == ["scaling_forgotten", "always_float32"]


def test_two_mistakes_in_the_same_criteria_are_named_if_the_solution_with_both_behaves_alike() -> None:
    """Not scaled, and without a mask: both change the weights in nearly every test."""
    source = """
        def head_weights(scores, head_dim):
            return scores.softmax(dim=-1)
        """
    answer = written("head_weights", source)
    assert diagnosis("head_weights", answer, "multi_head_attention") == ["scaling_forgotten", "future_visible"]


def test_a_misconception_keeps_its_name_if_bad_arguments_are_not_refused_either() -> None:
    """No misconception about different lengths sums anything else than zip."""
    source = """
        def dot_product(a, b):
            return sum(a[i] * b[i] for i in range(len(a) - 1))
        """
    assert diagnosis("dot_product", written("dot_product", source), "simple_attention") == ["last_place_left_out"]


def test_a_sentence_that_other_mistakes_share_is_no_evidence_for_a_pair() -> None:
    """Targets that are turned round are no stretch of the data either, but neither tokens from anywhere."""
    source = """
        def sample_batch(data, block_size, batch_size, generator=None):
            starts = torch.randint(0, len(data) - block_size, (batch_size,), generator=generator)
            rows = torch.stack([data[start : start + block_size + 1] for start in starts])
            return rows[:, :-1].flip(1), rows[:, 1:].flip(1)
        """
    assert diagnosis("sample_batch", written("sample_batch", source), "bigram_language_model") == []


@pytest.mark.parametrize(
    ("init", "forward", "names"),
    [
        ("self, sublayer, width", "self, x", ["other_arguments_in_residual"]),
        ("self, sublayer", "x", []),
    ],
)
def test_wrong_arguments_of_a_class_are_told_from_a_forgotten_self(init: str, forward: str, names: list[str]) -> None:
    source = f"""
        class Residual(nn.Module):
            def __init__({init}):
                super().__init__()
                self.sublayer = sublayer

            def forward({forward}):
                return x + self.sublayer(x)
        """
    assert diagnosis("Residual", written("Residual", source), "transformer_block") == names


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
