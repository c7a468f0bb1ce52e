"""The visible tests that `grader build` writes as data: properties of an answer that need no right result.

A suite gives the contract of an exercise an example: fixed arguments. From it and the criteria come the checks of an
exercise. `test_contract = contract_tests(__file__)` in a file of visible tests runs those of its unit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.testing.contracts import (
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_gradients_fit,
)
from grader.testing.student import Student
from grader.testing.suite import Contract, placed
from grader.text import in_words

# Tracebacks end at the line of the test.
__tracebackhide__ = True

FILENAME = "contracts.json"
# By check: the end of its name, and what a student reads, with the arguments' names.
CHECKS = {
    "float64": ("in_float64", "Float64 arguments give the same results as float32 ones."),
    "gradients": ("has_gradients", "The results depend on {}, and so do their gradients."),
    "kept": ("keeps_its_arguments", "After the call, {} should be the same as before."),
    "layout": (
        "in_any_layout",
        "Transposed tensors have the same numbers in another order, and give the same results.",
    ),
    "alone": ("one_by_one", "Each element of a batch has the same results alone as in the batch."),
}


def data_of(suites: Mapping[str, ModuleType]) -> dict[str, Any]:
    """Return the data of the checks of each exercise whose contract has an example. suites: by exercise."""
    contracts = {
        name: getattr(getattr(suite, "test_contract", None), "contract", None) for name, suite in suites.items()
    }
    return {name: _data(one) for name, one in contracts.items() if isinstance(one, Contract) and one.example}


def _data(contract: Contract) -> dict[str, Any]:
    assert contract.example
    arguments = contract.example.arguments.items()
    checks = {one.visible: one.words for one in contract.parts if one.visible}
    return {
        "arguments": {name: _plain(value) for name, value in arguments},
        "keeps_dtype": contract.example.keeps_dtype,
        "checks": checks,
    }


def _plain(value: Any) -> Any:
    """Return a number, or a tensor as nested lists, with six decimals."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.double().round(decimals=6).tolist() if value.is_floating_point() else value.tolist()


def contract_tests(file: str) -> Callable[..., None]:
    """Return the test that has the checks of a unit as its cases. file: the unit's visible tests, beside the data."""
    path = Path(file)
    units = json.loads(path.with_name(FILENAME).read_text(encoding="utf-8"))
    line, cases = sys._getframe(1).f_lineno, []
    for exercise, example in units.get(path.stem.removeprefix("test_"), {}).items():
        names = in_words([f"`{name}`" for name in example["arguments"]])
        for check, rule in example["checks"].items():
            end, sentence = CHECKS[check]
            mark = pytest.mark.example(exercise, rule=rule, sentence=sentence.format(names), line=line)
            cases.append(pytest.param(exercise, check, example, id=f"{exercise}_{end}", marks=mark))

    test = placed(lambda student, exercise, check, example: run_check(student, exercise, check, example))
    made: Callable[..., None] = pytest.mark.parametrize(("exercise", "check", "example"), cases)(test)
    return made


def run_check(student: Student, exercise: str, check: str, example: Mapping[str, Any]) -> None:
    """Run one check of an exercise on a student's answer. Raises CheckFailed or Failure if it fails."""
    call = getattr(student, exercise)
    given = example["arguments"].items()
    arguments = {name: torch.tensor(value) if isinstance(value, list) else value for name, value in given}
    match check:
        case "float64":
            expect_float64(call, keeps=example["keeps_dtype"], **arguments)
        case "gradients":
            expect_gradients_fit(call, (), **arguments)
        case "kept":
            expect_arguments_kept(call, **arguments)
        case "layout":
            expect_any_layout(call, **arguments)
        case "alone":
            expect_each_alone(call, (), **arguments)
