"""What the visible tests say about answers that the stubs warn of."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from courses import COURSE

from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.failure_matrix import solution_names
from grader.testing.student import InProcessBackend


def dot(a: Any, b: Any) -> Any:
    if len(a) != len(b):
        raise ValueError("the lengths differ")
    return torch.dot(torch.as_tensor(a, dtype=torch.float64), torch.as_tensor(b, dtype=torch.float64))


@pytest.mark.parametrize(
    ("unit", "exercise", "ready_made", "used"),
    [
        ("simple_attention", "dot_product", dot, "dot"),
        ("simple_attention", "softmax_stable", lambda x, dim=-1: torch.softmax(x, dim), "softmax"),
        (
            "bigram_language_model",
            "cross_entropy",
            lambda logits, targets: torch.nn.functional.cross_entropy(logits, targets.long()),
            "cross_entropy",
        ),
    ],
)
def test_a_ready_made_function_earns_the_comment_that_the_stub_promises_once_and_costs_nothing(
    unit: str, exercise: str, ready_made: Any, used: str
) -> None:
    answers = {**solution_names(COURSE, unit), exercise: ready_made}
    tests = [one for one in visible_criteria_of_unit(COURSE, unit) if one.exercise == exercise]
    found = [one.run(InProcessBackend(unit, answers)) for one in tests]
    assert [outcome.reason for outcome in found if not outcome.passed] == []
    [remark] = [remark for outcome in found for remark in outcome.remarks]
    assert remark == f"It makes use of torch's {used}, which it was to do without. That costs nothing."


@pytest.mark.parametrize("exercise", ["FeedForward", "Residual"])
def test_a_dropout_inside_a_module_fails_only_the_test_that_is_about_it(exercise: str) -> None:
    answers = solution_names(COURSE, "transformer_block")
    right = answers[exercise]

    def dropping(*given: Any) -> torch.nn.Module:
        return torch.nn.Sequential(right(*given), torch.nn.Dropout(0.2))

    tests = [one for one in visible_criteria_of_unit(COURSE, "transformer_block") if one.exercise == exercise]
    backend = InProcessBackend("transformer_block", {**answers, exercise: dropping})
    [reason] = [outcome.reason for outcome in (one.run(backend) for one in tests) if not outcome.passed]
    assert reason.startswith("In training two calls give different outputs for the same x")
