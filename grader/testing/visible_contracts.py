"""The visible tests that `grader build` writes as data: properties of an answer that need no right result.

A suite gives the contract of an exercise an example: fixed arguments, and for a module those of its class and the
values of its parameters. From it and the criteria come the checks of an exercise. In a file of visible tests,
`test_contract = contract_tests(__file__)` runs those of its unit.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.testing.checks import expect_true
from grader.testing.contracts import (
    described,
    expect_any_layout,
    expect_arguments_kept,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
    expect_later_tokens_unseen,
    expect_nothing_dropped,
    expect_refused,
    kept,
    tensors_of,
)
from grader.testing.student import RemoteCallable, RemoteObject, Student
from grader.testing.suite import Contract, Example, placed
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
    "later": ("sees_no_later_token", "If the last token changes, the results of the tokens before it stay the same."),
    "eval": ("in_eval_mode", "In eval mode the results are exact, whatever `dropout` is."),
    "training": ("in_training", "In training without dropout, the results are those of eval mode."),
    "generator": (
        "draws_from_the_generator",
        "The state of the generator decides what is drawn, and without one that of torch's global generator.",
    ),
    "refused": ("refuses", "{} should raise ValueError or AssertionError."),
}
# The checks that need only the call and its arguments.
PLAIN: dict[str, Callable[..., None]] = {
    "kept": expect_arguments_kept,
    "layout": expect_any_layout,
    "alone": expect_each_alone,
    "later": expect_later_tokens_unseen,
}


def data_of(suites: Mapping[str, ModuleType]) -> dict[str, Any]:
    """Return the data of the checks of each exercise whose suite has an example. suites: by exercise."""
    found = {}
    for name, suite in suites.items():
        contract = getattr(getattr(suite, "test_contract", None), "contract", None) or Contract((), None)
        if example := contract.example or getattr(suite, "EXAMPLE", None):
            found[name] = _data(contract, example)
    return found


def _data(contract: Contract, example: Example) -> dict[str, Any]:
    checks: list[dict[str, Any]] = []
    declared = [(one.visible, one.words, one.shown) for one in contract.parts if one.visible]
    for check, rule, shown in [*declared, *((*one, {}) for one in example.also.items())]:
        same = [one for one in checks if one["check"] == check and not shown]
        if same:
            same[0]["rules"].append(rule)
        else:
            more = (
                {"changed": [_by_name(one) for one in shown["changed"]], "because": shown["because"]} if shown else {}
            )
            checks.append({"check": check, "rules": [rule], **more})
    module = {"made": example.made, "parameters": _by_name(example.parameters)} if example.made is not None else {}
    return {
        "arguments": _by_name(example.arguments),
        "keeps_dtype": example.keeps_dtype,
        **module,
        "checks": checks,
    }


def _by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """Return a number, text or list as it is, and a tensor as nested lists, with six decimals."""
    if not isinstance(value, torch.Tensor):
        return value
    return {"tensor": value.double().round(decimals=6).tolist() if value.is_floating_point() else value.tolist()}


def _values(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: torch.tensor(one["tensor"]) if isinstance(one, dict) else one for name, one in data.items()}


def contract_tests(file: str) -> Callable[..., None]:
    """Return the test that has the checks of a unit as its cases. file: the unit's visible tests, beside the data."""
    path = Path(file)
    units = json.loads(path.with_name(FILENAME).read_text(encoding="utf-8"))
    line, cases = sys._getframe(1).f_lineno, []
    for exercise, example in units.get(path.stem.removeprefix("test_"), {}).items():
        refused = 0
        for check in example["checks"]:
            end, sentence = CHECKS[check["check"]]
            names = [f"`{name}`" for name in example["arguments"]]
            if check["check"] == "refused":
                refused += 1
                end, names = f"{end}_{refused}", [f"`{_named(changed)}`" for changed in check["changed"]]
            text = sentence.format(in_words(names))
            mark = pytest.mark.example(exercise, rule=check["rules"], sentence=text, line=line)
            cases.append(pytest.param(exercise, check, example, id=f"{exercise}_{end}", marks=mark))

    test = placed(lambda student, exercise, check, example: run_check(student, exercise, check, example))
    made: Callable[..., None] = pytest.mark.parametrize(("exercise", "check", "example"), cases)(test)
    return made


def run_check(student: Student, exercise: str, check: Mapping[str, Any], example: Mapping[str, Any]) -> None:
    """Run one check of an exercise on a student's answer. Raises CheckFailed or Failure if it fails."""
    arguments, parameters = _values(example["arguments"]), _values(example.get("parameters", {}))

    def make(**others: Any) -> RemoteCallable:
        """Return the function, or a module in eval mode. others: arguments of the class."""
        answer = getattr(student, exercise)
        return module_with(answer, {**example["made"], **others}, parameters) if "made" in example else answer

    kind = check["check"]
    if kind in PLAIN:
        PLAIN[kind](make(), **arguments)
    elif kind == "float64":
        expect_float64(make(), keeps=example["keeps_dtype"], **arguments)
    elif kind == "gradients":
        call = make()
        names = names_of(call, parameters) if isinstance(call, RemoteObject) else ()
        expect_gradients_fit(call, names, **arguments)
    elif kind == "eval":
        expect_nothing_dropped(make(), make(dropout=0.5), "in eval mode with `dropout=0.5`", **arguments)
    elif kind == "training":
        trained = make()
        assert isinstance(trained, RemoteObject)
        trained.train()
        expect_nothing_dropped(make(), trained, "in training", **arguments)
    elif kind == "generator":
        draw = make()
        expect_generator_used(student, lambda **options: _joined(draw(*arguments.values(), **options)))
    else:
        for changed in map(_values, check["changed"]):
            given = {name: changed.get(name, value) for name, value in arguments.items()}
            made = {name: value for name, value in changed.items() if name not in arguments}
            refused = functools.partial(_made_and_called, make, made, given)
            expect_refused(f"`{_named(changed)}`", refused, idea=check["because"])


def _made_and_called(make: Callable[..., RemoteCallable], made: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    return make(**made)(*given.values())


def _named(values: Mapping[str, Any]) -> str:
    """Return values in the code of a call, such as "p = 1.5"."""
    plain = {name: value["tensor"] if isinstance(value, dict) else value for name, value in values.items()}
    plain = {name: value.tolist() if isinstance(value, torch.Tensor) else value for name, value in plain.items()}
    return ", ".join(f"{name} = {value!r}" for name, value in plain.items())


def _joined(result: Any) -> torch.Tensor:
    """Return all numbers of a result in one tensor, also if they are not in tensors."""
    parts = result if isinstance(result, tuple | list) else (result,)
    found = tensors_of([torch.tensor(one) if isinstance(one, int | float) else one for one in parts])
    expect_true(bool(found), "The result is empty.")
    return torch.cat([one.flatten().double() for one in found])


# -- modules -----------------------------------------------------------------------------------------------------


def module_with(cls: RemoteCallable, made: Mapping[str, Any], parameters: Mapping[str, torch.Tensor]) -> RemoteObject:
    """Return a module in eval mode whose parameters have these values.

    A layer may also be registered under another name, as a part of another module.
    """
    module = cls(*made.values())
    expect_true(isinstance(module, RemoteObject), f"The class should give a module; yours gives {described(module)}.")
    assert isinstance(module, RemoteObject)
    found = module.parameters()
    for name, value in parameters.items():
        owner, _, last = ("", "", name) if name in found else name.rpartition(".")
        layer = kept(module, owner) if owner else module
        own = found if layer is module else layer.parameters() if isinstance(layer, RemoteObject) else {}
        shape = tuple(value.shape)
        expect_true(last in own, f"There should be a parameter `{name}` of shape {shape}; yours has none of this name.")
        yours = tuple(own[last].shape)
        expect_true(yours == shape, f"`{name}` should have the shape {shape}; yours has {yours}.")
        layer.set({last: value})
    module.eval()
    return module


def names_of(module: RemoteObject, values: Mapping[str, torch.Tensor]) -> list[str]:
    """Return the names under which a module has parameters with these values."""
    return [
        name
        for name, found in module.parameters().items()
        if any(found.shape == value.shape and torch.equal(found, value) for value in values.values())
    ]
