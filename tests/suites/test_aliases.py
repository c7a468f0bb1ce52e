"""Aliases are exercises that a call of another one answers: each solution is graded as an answer to later exercises."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import courses
import pytest
from courses import COURSE, REPOSITORY
from torch import nn
from units import SUBSTITUTES, SUITES, UNITS, defined_in

from grader.engine.engine_client import Engine
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

EXERCISES = list(UNITS)


def solutions() -> dict[str, Any]:
    defined = {unit: defined_in(REPOSITORY / "solutions" / f"{unit}.py", unit) for unit in COURSE.units}
    return {exercise: defined[unit][exercise] for exercise, unit in UNITS.items()}


def required(function: Callable[..., Any]) -> int:
    return sum(one.default is one.empty for one in inspect.signature(function).parameters.values())


def renamed(wanted: type[nn.Module], given: type[nn.Module]) -> type[nn.Module]:
    """A module that calls the other one, with its layers under the names of the wanted one."""

    class Renamed(nn.Module):
        def __init__(self, *sizes: Any, **options: Any) -> None:
            super().__init__()
            self.given = given(*sizes, **options)
            for name, _ in wanted(*sizes, **options).named_children():
                for other, layer in self.given.named_children():
                    if other.endswith(name):
                        setattr(self, name, layer)

        def forward(self, *inputs: Any) -> Any:
            return self.given(*inputs)

    return Renamed


def calling(wanted: Any, given: Any) -> Any:
    """Return what a student could write in one line: a call of the other exercise with the same arguments."""
    if not isinstance(wanted, type) and not isinstance(given, type):
        return lambda *arguments, **options: given(*arguments, **options)
    if isinstance(wanted, type) and isinstance(given, type) and required(wanted) == required(given):
        return renamed(wanted, given)
    return None


def test_the_aliases_are_the_exercises_that_earn_most_points_of_a_later_one() -> None:
    """The earlier of two exercises has the substitute; within a unit it may be either."""
    right = solutions()
    found = []
    for place, exercise in enumerate(EXERCISES):
        suite = SUITES[UNITS[exercise]]
        for earlier in EXERCISES[:place]:
            answer = calling(right[exercise], right[earlier])
            passed = suite.passed({exercise: answer}, exercise) if answer else set()
            if len(passed) > len(suite.of(exercise)) / 2:
                found.append({earlier, exercise})
    # The substitute of dot_product takes only vectors, so that answers that sum feature by feature may call it.
    aliases = [*SUBSTITUTES.aliases, {"dot_product", "context_vector"}]
    assert sorted(map(sorted, found)) == sorted(map(sorted, aliases))


HEAD = """
from causal_attention import CausalAttention

class Head(torch.nn.Module):
    def __init__(self, n_embd, head_size, block_size, dropout):
        super().__init__()
        self.attention = CausalAttention(n_embd, head_size, block_size, dropout)
        self.key, self.query, self.value = self.attention.W_key, self.attention.W_query, self.attention.W_value

    def forward(self, x):
        return self.attention(x)
"""
WEIGHTS = """
from causal_attention import mask_then_softmax

def head_weights(scores, head_dim):
    return mask_then_softmax(scores, head_dim)
"""


CONTEXT = """
def context_vector(weights, inputs):
    return dot_product(weights, inputs)
"""
MEANS = """
def running_mean_softmax(x):
    return running_mean_loop(x)
"""


@pytest.mark.parametrize(
    ("exercise", "answer", "sibling"),
    [
        ("Head", HEAD, "CausalAttention"),
        ("head_weights", WEIGHTS, "mask_then_softmax"),
        ("context_vector", CONTEXT, "dot_product"),
        ("running_mean_softmax", MEANS, "running_mean_loop"),
    ],
)
@pytest.mark.parametrize("state", ["right", "missing", "wrong"])
def test_an_alias_waits_unless_the_sibling_is_right(
    engine: Engine, exercise: str, answer: str, sibling: str, state: str
) -> None:
    unit, earlier = UNITS[exercise], UNITS[sibling]
    texts = {one: (REPOSITORY / "solutions" / f"{one}.py").read_text(encoding="utf-8") for one in (earlier, unit)}
    texts[unit] += answer
    if state == "missing":
        for kind in ("def", "class"):
            texts[earlier] = texts[earlier].replace(f"{kind} {sibling}(", f"{kind} other_{sibling}(")
    elif state == "wrong":
        texts[earlier] += f"\ndef {sibling}(*arguments, **options): return arguments[0]\n"
    units = {one: UnitSubmission(UnitSource(f"{one}.py", (text,))) for one, text in texts.items()}
    result = courses.graded(engine, Submission("ada", None, units))
    outcomes = [outcome for outcome in result.outcomes if outcome.exercise == exercise]
    assert outcomes
    if state == "right":
        assert all(outcome.passed for outcome in outcomes)
    else:
        assert not any(outcome.passed for outcome in outcomes)
        assert any(outcome.waiting for outcome in outcomes)
