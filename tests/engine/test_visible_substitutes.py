"""The visible tests use substitutes too: a mistake in one exercise fails no test of those that build on it."""

from __future__ import annotations

import json

import pytest
from courses import COURSE

from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.failure_matrix import names_in, with_imports
from grader.engine.outcomes import Outcome
from grader.integrations.release.secrets import SHORTEST_PART, Secrets, signs
from grader.testing.student import InProcessBackend
from grader.testing.substitutes import PUBLISHED, visible_substitutes

UNITS = {exercise: unit for unit, one in COURSE.units.items() for exercise in one.exercises}
WRONG = """

def wrong(value):
    if isinstance(value, tuple):
        return tuple(map(wrong, value))
    return ~value if value.dtype == torch.bool else 1.5 * value + 0.1


def broken(right):
    if isinstance(right, type):
        return type(right.__name__, (right,), {"forward": lambda self, *given: wrong(right.forward(self, *given))})
    return lambda *given, **named: wrong(right(*given, **named))
"""


def outcomes(building: str, *exercises: str) -> list[Outcome]:
    """The outcomes of the visible tests of an exercise if these exercises are wrong, with substitutes for one at most.

    The first of them is the one that the exercise builds on.
    """
    unit = UNITS[building]
    sources = with_imports(unit, (COURSE.solutions / f"{unit}.py").read_text(encoding="utf-8"), COURSE.solutions)
    for exercise in exercises:
        sources[UNITS[exercise]] += f"{WRONG}\n\n{exercise} = broken({exercise})\n"
    backend = InProcessBackend(unit, names_in(unit, sources))
    found = []
    for criterion in visible_criteria_of_unit(COURSE, unit):
        if criterion.exercise == building:
            first = criterion.run(backend)
            found.append(first if first.passed else criterion.run_again(backend, first, exercises[:1]))
    return found


@pytest.mark.parametrize(
    ("exercise", "building"),
    [
        ("softmax_stable", "simple_self_attention"),
        ("project_qkv", "SelfAttention_v1"),
        ("scaled_dot_product_attention", "SelfAttention_v2"),
        ("causal_mask", "mask_then_softmax"),
        ("CausalAttention", "MultiHeadAttentionWrapper"),
        ("unroll_heads", "split_heads"),
        ("sinusoidal_encoding", "add_positions"),
        ("LayerNorm", "TransformerBlock"),
        ("FeedForward", "SmallGPT"),
        ("additive_scores", "bahdanau_context"),
    ],
)
def test_an_exercise_that_builds_on_a_wrong_one_passes_all_its_tests(exercise: str, building: str) -> None:
    found = outcomes(building, exercise)
    assert all(outcome.passed for outcome in found), [outcome.reason for outcome in found if not outcome.passed]
    assert {exercise} == {name for outcome in found for name in outcome.substitutes}


@pytest.mark.parametrize(
    ("exercise", "building"), [("CausalAttention", "MultiHeadAttentionWrapper"), ("LayerNorm", "TransformerBlock")]
)
def test_an_exercise_that_is_wrong_itself_fails_and_does_not_wait(exercise: str, building: str) -> None:
    found = outcomes(building, exercise, building)
    assert "wrong" in {outcome.kind for outcome in found}
    assert "waiting" not in {outcome.kind for outcome in found}


def test_what_students_receive_of_the_substitutes_holds_no_line_of_a_solution() -> None:
    text = (COURSE.checks / PUBLISHED).read_text(encoding="utf-8")
    assert not [name for name in UNITS if f"def {name}" in text or f"class {name}" in text]
    assert json.loads(text).keys() == {"sources", "values"}
    sources = signs(visible_substitutes(COURSE).source_up_to(list(UNITS)))
    assert "classCausalAttention" in sources
    secrets = {secret: place for secret, place in Secrets(COURSE).solutions.items() if len(secret) >= SHORTEST_PART}
    assert not [place for secret, place in secrets.items() if secret in sources]
