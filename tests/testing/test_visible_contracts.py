"""The visible tests that are data: what a suite's contract becomes, and what an answer reads that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grader.engine.criteria import Criterion, criteria_of
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

PARTS = (
    right_results("either_dtype", "both dtypes work", "Both dtypes should work.", *IN_BOTH_DTYPES),
    right_results("any_view", "x may be a view", "A view should work.", visible="layout"),
    right_results("each_row", "rows are apart", "Each row should be apart.", visible="alone"),
    right_gradients("the_gradients", "gradients flow to x", "Gradients should flow to x."),
    kept_arguments("x_is_left_alone", "x is not changed", "x should stay.", "x was changed."),
    right_results("some_results", "it doubles", "It should double."),
)
EXAMPLE = Example({"x": numbers(2, 3), "times": 2}, keeps_dtype=True)


def suite_of(*parts: Part, example: Example | None) -> ModuleType:
    suite = ModuleType("scale")
    ask = asking("scale", lambda fresh, **dtype: [fresh(2, 3, **dtype), 2], lambda _: lambda x, times: x * times)
    suite.test_contract = contract(ask, *parts, example=example)  # type: ignore[attr-defined]
    return suite


@pytest.fixture
def checks(tmp_path: Path) -> dict[str, Criterion]:
    """The visible tests of a unit, from its data, by name."""
    data = data_of({"scale": suite_of(*PARTS, example=EXAMPLE), "other": suite_of(*PARTS, example=None)})
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
    }
    assert {one.exercise for one in checks.values()} == {"scale"}
    assert (
        checks["scale_keeps_its_arguments"].sentence == "After the call, `x` and `times` should be the same as before."
    )


def failed(checks: dict[str, Criterion], answer: Callable[[torch.Tensor, int], torch.Tensor]) -> set[str]:
    backend = InProcessBackend("sums", {"scale": answer})
    return {name.removeprefix("scale_") for name, one in checks.items() if not one.run(backend).passed}


def test_a_right_answer_passes_every_check(checks: dict[str, Criterion]) -> None:
    assert failed(checks, lambda x, times: times * x) == set()


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (lambda x, times: x.float() * times, "in_float64"),
        (lambda x, times: x.view(x.shape) * times if x.is_contiguous() else x.view(-1), "in_any_layout"),
        (lambda x, times: (x - x.mean(0)) * times, "one_by_one"),
        (lambda x, times: x.detach() * times, "has_gradients"),
        (lambda x, times: x.data.mul_(times), "keeps_its_arguments"),
    ],
)
def test_a_wrong_answer_fails_the_check_of_its_rule(
    checks: dict[str, Criterion], answer: Callable[[torch.Tensor, int], torch.Tensor], check: str
) -> None:
    assert check in failed(checks, answer)
