"""The visible tests that are data: what a suite's contract becomes, and what an answer reads that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from grader.engine.criteria import Criterion, criteria_of
from grader.testing.behaviour import later_tokens_unseen, refusals, steady_results
from grader.testing.draws import numbers
from grader.testing.student import InProcessBackend
from grader.testing.suite import (
    IN_BOTH_DTYPES,
    Example,
    Part,
    asking,
    contract,
    kept_arguments,
    right_gradients,
    right_results,
)
from grader.testing.visible_contracts import FILENAME, contract_tests, data_of

SIZE: dict[str, Any] = {"shown": ({"size": 0}, {"size": -1}), "because": "there should be features"}
TIMES: dict[str, Any] = {"shown": ({"times": 0},), "because": "nothing would be left"}
PARTS = (
    right_results("either_dtype", "both dtypes work", "Both dtypes should work.", *IN_BOTH_DTYPES),
    right_results("any_view", "x may be a view", "A view should work.", visible="layout"),
    right_results("each_row", "rows are apart", "Each row should be apart.", visible="alone"),
    right_gradients("the_gradients", "gradients flow to x", "Gradients should flow to x."),
    kept_arguments("x_is_left_alone", "x is not changed", "x should stay.", "x was changed."),
    right_results("some_results", "it doubles", "It should double."),
    refusals("no_times", "times is positive", "0 should be refused.", {"times": 0}, **TIMES),
)
EXAMPLE = Example({"x": numbers(2, 3), "times": 2}, keeps_dtype=True)
OF_A_MODULE = (
    right_results("float64", "works in float64", "Float64 should work.", *IN_BOTH_DTYPES),
    right_gradients("the_slopes", "gradients flow", "Gradients should flow."),
    later_tokens_unseen("no_future", "no token sees a later one", "The future should be hidden."),
    steady_results("in_eval", "in eval mode nothing is dropped", "Nothing should be dropped.", {"dropout": 0.5}),
    steady_results("in_training", "without dropout too", "Nothing should be dropped.", {"is_training": True}),
    refusals("no_size", "size is positive", "0 should be refused.", {"size": 0}, **SIZE),
)
MODULE = Example(
    {"x": numbers(2, 4, 3)},
    keeps_dtype=True,
    made={"size": 3, "dropout": 0.0},
    parameters={"scale.weight": numbers(3, 3, seed=1)},
    also={"kept": "x is not changed"},
)


def suite_of(*parts: Part, example: Example | None) -> ModuleType:
    suite = ModuleType("scale")
    ask = asking("scale", lambda fresh, **dtype: [fresh(2, 3, **dtype), 2], lambda _: lambda x, times: x * times)
    suite.test_contract = contract(ask, *parts, example=example)  # type: ignore[attr-defined]
    return suite


@pytest.fixture
def checks(tmp_path: Path) -> dict[str, Criterion]:
    """The visible tests of a unit, from its data, by name."""
    drawing = ModuleType("draw")
    drawing.EXAMPLE = Example({"count": 9}, also={"generator": "draws from it"})  # type: ignore[attr-defined]
    suites = {"scale": suite_of(*PARTS, example=EXAMPLE), "Sums": suite_of(*OF_A_MODULE, example=MODULE)}
    data = data_of({**suites, "draw": drawing, "other": suite_of(*PARTS, example=None)})
    (tmp_path / FILENAME).write_text(json.dumps({"sums": data}), encoding="utf-8")
    visible = ModuleType("test_sums")
    visible.test_contract = contract_tests(str(tmp_path / "test_sums.py"))  # type: ignore[attr-defined]
    return {one.name: one for one in criteria_of(visible, "sums", "1").values()}


def test_criteria_with_an_example_have_a_visible_check_of_the_same_rule(checks: dict[str, Criterion]) -> None:
    assert {name: one.rules for name, one in checks.items()} == {
        "scale_in_float64": ("both dtypes work",),
        "scale_in_any_layout": ("x may be a view",),
        "scale_one_by_one": ("rows are apart",),
        "scale_has_gradients": ("gradients flow to x",),
        "scale_keeps_its_arguments": ("x is not changed",),
        "scale_refuses_1": ("times is positive",),
        "Sums_in_float64": ("works in float64",),
        "Sums_has_gradients": ("gradients flow",),
        "Sums_sees_no_later_token": ("no token sees a later one",),
        "Sums_in_eval_mode": ("in eval mode nothing is dropped",),
        "Sums_in_training": ("without dropout too",),
        "Sums_refuses_1": ("size is positive",),
        "Sums_keeps_its_arguments": ("x is not changed",),
        "draw_draws_from_the_generator": ("draws from it",),
    }
    assert {one.exercise for one in checks.values()} == {"scale", "Sums", "draw"}
    assert checks["Sums_refuses_1"].sentence == "`size = 0` and `size = -1` should raise ValueError or AssertionError."
    assert (
        checks["scale_keeps_its_arguments"].sentence == "After the call, `x` and `times` should be the same as before."
    )


def failed(checks: dict[str, Criterion], answer: Callable[[torch.Tensor, int], torch.Tensor]) -> set[str]:
    backend = InProcessBackend("sums", {"scale": answer})
    found = {name: one for name, one in checks.items() if name.startswith("scale_")}
    return {name.removeprefix("scale_") for name, one in found.items() if not one.run(backend).passed}


def scale(x: torch.Tensor, times: int) -> torch.Tensor:
    if times < 1:
        raise ValueError
    return times * x


class Sums(nn.Module):
    """The running sum of the tokens, after a layer and dropout."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        if size < 1:
            raise ValueError
        self.scale = nn.Linear(size, size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mixed(self.dropout(self.scale(x)))

    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(1)


class Means(Sums):
    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x + x.mean(1, keepdim=True)


class InFloat32(Sums):
    def mixed(self, x: torch.Tensor) -> torch.Tensor:
        return x.float().cumsum(1)


class WithoutGradients(Sums):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mixed(nn.functional.linear(x, self.scale.weight.detach()))


class AlwaysDropping(Sums):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mixed(nn.functional.dropout(self.scale(x), self.dropout.p))


class DroppingHalf(Sums):
    def __init__(self, size: int, dropout: float) -> None:
        super().__init__(size, dropout or 0.5)


class Tolerant(Sums):
    def __init__(self, size: int, dropout: float) -> None:
        super().__init__(max(size, 3), dropout)


class Renamed(Sums):
    def __init__(self, size: int, dropout: float) -> None:
        super().__init__(size, dropout)
        self.layer = self.scale
        del self.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.mixed(self.dropout(self.layer(x)))


@pytest.mark.parametrize(
    ("name", "answer", "reason"),
    [
        ("in_float64", InFloat32, "The result should keep the dtype"),
        ("has_gradients", WithoutGradients, "No gradient reaches `scale.weight`"),
        ("sees_no_later_token", Means, "A token should see itself and the tokens before it: hide the later ones."),
        ("in_eval_mode", AlwaysDropping, "Two calls with the same arguments have different results."),
        ("in_training", DroppingHalf, "Two calls with the same arguments have different results."),
        ("refuses_1", Tolerant, "`size = 0` should be refused with a ValueError or an AssertionError, because there "),
        (
            "has_gradients",
            Renamed,
            "There should be a parameter `scale.weight` of shape (3, 3); yours has none",
        ),
    ],
)
def test_a_wrong_module_fails_the_check_of_its_rule(
    checks: dict[str, Criterion], name: str, answer: type[Sums], reason: str
) -> None:
    found = checks[f"Sums_{name}"].run(InProcessBackend("sums", {"Sums": answer}))
    assert not found.passed
    assert reason in found.reason


def test_a_layer_may_be_registered_under_another_name(checks: dict[str, Criterion]) -> None:
    class Also(Sums):
        def __init__(self, size: int, dropout: float) -> None:
            super().__init__(size, dropout)
            layer = self.scale
            del self.scale
            self.layers = nn.ModuleDict({"scale": layer})
            self.scale = layer

    backend = InProcessBackend("sums", {"Sums": Also})
    assert [name for name, one in checks.items() if name.startswith("Sums_") and not one.run(backend).passed] == []


def test_draws_from_a_generator_are_checked(checks: dict[str, Criterion]) -> None:
    def drawn(count: int, generator: torch.Generator | None = None) -> torch.Tensor:
        return torch.rand(count, generator=generator)

    check = checks["draw_draws_from_the_generator"]
    assert check.run(InProcessBackend("sums", {"draw": drawn})).passed
    assert not check.run(InProcessBackend("sums", {"draw": lambda count, **_options: drawn(count)})).passed


def test_a_right_answer_passes_every_check(checks: dict[str, Criterion]) -> None:
    assert failed(checks, scale) == set()
    backend = InProcessBackend("sums", {"Sums": Sums})
    assert [name for name, one in checks.items() if name.startswith("Sums_") and not one.run(backend).passed] == []


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (lambda x, times: x.float() * times, "in_float64"),
        (lambda x, times: x.view(x.shape) * times if x.is_contiguous() else x.view(-1), "in_any_layout"),
        (lambda x, times: (x - x.mean(0)) * times, "one_by_one"),
        (lambda x, times: x.detach() * times, "has_gradients"),
        (lambda x, times: x.data.mul_(times), "keeps_its_arguments"),
        (lambda x, times: x * times, "refuses_1"),
    ],
)
def test_a_wrong_answer_fails_the_check_of_its_rule(
    checks: dict[str, Criterion], answer: Callable[[torch.Tensor, int], torch.Tensor], check: str
) -> None:
    assert check in failed(checks, answer)
