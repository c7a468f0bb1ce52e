"""The contract of an exercise: each criterion passes a right answer, and fails a wrong one with its sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from grader.engine.criteria import Criterion, criteria_of
from grader.testing.checks import expect_close
from grader.testing.draws import Fresh
from grader.testing.student import InProcessBackend, Student
from grader.testing.suite import IN_BOTH_DTYPES, Given, asking, contract, kept_arguments, right_gradients, right_results

SHAPES = ({"shape": (3,)}, {"shape": (2, 1)})


def ask_scale(student: Student, fresh: Fresh) -> Given:
    """Ask for a module's output, whose parameters the right function takes by name."""
    scale, x = student.queue("Scale", 3.0), fresh(4)
    return Given(scale, [x], lambda y: expect_close(y, 3 * x), lambda x, factor: factor * x, scale.parameters())


def criteria() -> dict[str, Criterion]:
    """The criteria of a suite with a contract, by name. Each begins on the line with its name."""
    suite = ModuleType("weigh")
    suite.__file__ = __file__
    suite.test_contract = contract(  # type: ignore[attr-defined]
        asking(
            "weigh",
            lambda fresh, shape=(3,), **dtype: [fresh(*shape, **dtype), fresh(*shape, **dtype)],
            lambda _: torch.mul,
        ),
        right_results("once", "weights times numbers", "The numbers should be weighed."),
        right_results("any_shape", "any shape works", "Any shape should work.", *SHAPES),
        right_results("either_dtype", "float32 and float64 work", "Both dtypes should work.", *IN_BOTH_DTYPES),
        right_gradients("gradients_of_both", "gradients flow to both", "Gradients should flow to both."),
        kept_arguments("both_are_kept", "both stay the same", "Both should stay.", "a was changed.", "b was changed."),
        kept_arguments("x_is_kept", "x stays the same", "x should stay.", "x was changed.", ask=ask_scale),
        right_gradients("gradients_of_the_factor", "gradients flow to it", "It should learn.", ask=ask_scale),
    )
    return {one.name: one for one in criteria_of(suite, "answers", "1").values()}


class Scale(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x


class ScaleInPlace(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mul_(self.factor.detach())


class FrozenScale(Scale):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor.detach() * x


def changing_the_second(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    product = a * b
    b.zero_()
    return product


@pytest.mark.parametrize("name", criteria())
def test_a_right_answer_passes(name: str) -> None:
    found = criteria()[name].run(InProcessBackend("answers", {"weigh": lambda a, b: b * a, "Scale": Scale}))
    assert found.passed, found


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("once", lambda a, b: a + b, "The values are not the expected ones"),
        ("any_shape", lambda a, b: (a * b).flatten(), "shape"),
        ("either_dtype", lambda a, b: a * b if a.dtype == torch.float32 else a, "The values are not"),
        ("gradients_of_both", lambda a, b: a.detach() * b, "No gradient reaches argument 1."),
        ("both_are_kept", changing_the_second, "b was changed."),
        ("both_are_kept", lambda a, b: a.mul_(b), "a was changed."),
        ("x_is_kept", ScaleInPlace, "x was changed."),
        ("gradients_of_the_factor", FrozenScale, "No gradient"),
    ],
)
def test_a_wrong_answer_fails_with_its_reason(name: str, answer: Callable[..., Any], reason: str) -> None:
    found = criteria()[name].run(InProcessBackend("answers", {"weigh": answer, "Scale": answer}))
    assert not found.passed
    assert reason in found.reason, found


def test_a_criterion_has_the_words_and_the_line_of_its_declaration() -> None:
    lines, first = inspect.getsourcelines(criteria)
    for name, criterion in criteria().items():
        [declared] = [number for number, line in enumerate(lines, first) if f'"{name}"' in line]
        assert (criterion.file.name, criterion.line) == ("test_suite.py", declared)
        assert criterion.exercise == "weigh"
        assert f'"{name}", "{criterion.rules[0]}", "{criterion.sentence}"' in lines[declared - first]
