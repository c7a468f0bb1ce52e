"""What the visible tests share: the worked examples, and checks that say in a sentence what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

from grader.testing.checks import CheckFailed
from grader.testing.student import Raised, RemoteObject

WORKED_EXAMPLES = json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))


def worked_example(name: str) -> torch.Tensor:
    """Return the numbers of one worked example, rounded to four decimals."""
    return torch.tensor(WORKED_EXAMPLES["examples"][name]["value"])


def expect_results(name: str, yours: Any, wanted: tuple[str, ...]) -> Any:
    """Expect a tuple or list with one result for each wanted name."""
    if not (isinstance(yours, tuple | list) and len(yours) == len(wanted)):
        fail(f"{name} should return {', '.join(wanted)}; yours returns {described(yours)}.")
    return yours


def expect_values(name: str, yours: Any, expected: torch.Tensor, *, shape: str, idea: str) -> None:
    """Compare type, shape and values, and fail with the first difference and the idea behind the result."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is {described(yours)}: {idea}.")
    if yours.shape != expected.shape:
        fail(f"{name} should have shape {shape} = {tuple(expected.shape)}, yours is {tuple(yours.shape)}: {idea}.")
    close = torch.isclose(yours.detach().to(expected.dtype), expected, rtol=0, atol=WORKED_EXAMPLES["tolerance"])
    if not close.all():
        place = tuple((~close).nonzero()[0].tolist())
        where = f"{name}[{', '.join(map(str, place))}]"
        fail(f"{where} should be {expected[place].item():.4f}, yours is {yours[place].item():.4f}: {idea}.")


def expect_unchanged(name: str, after: Any, before: torch.Tensor) -> None:
    """Fail if a call has changed this argument."""
    if not torch.equal(after, before):
        fail(f"{name} should be the same after the call as before, yours is changed: make a new tensor instead.")


def expect_error(name: str, function: Callable[..., Any], *arguments: Any, idea: str) -> None:
    """Fail unless the function refuses these arguments with a ValueError or an AssertionError."""
    try:
        function(*arguments)
    except Raised as error:
        if {"ValueError", "AssertionError"}.isdisjoint(error.types):
            raise
        return
    fail(f"{name} should raise a ValueError here, yours raises nothing: {idea}.")


def expect_module(name: str, yours: Any) -> RemoteObject:
    """Expect a module, which can have layers and parameters."""
    if not isinstance(yours, RemoteObject):
        fail(f"{name} should be a module, yours is {described(yours)}.")
    return yours


def expect_linear(module: RemoteObject, name: str) -> RemoteObject:
    """Expect a linear layer in this attribute of a module, and return it."""
    layer = kept(module, name)
    if not (isinstance(layer, RemoteObject) and "torch.nn.modules.linear.Linear" in layer.kinds):
        fail(f"{name} should be an nn.Linear, yours is of type {type_name(layer)}.")
    return layer


def kept(module: RemoteObject, name: str) -> Any:
    """Return this attribute of a module, or None if it does not exist."""
    try:
        return module.get(name)
    except Raised as error:
        if "AttributeError" not in error.types:
            raise
        return None


def fail(sentence: str) -> NoReturn:
    """Fail the test with this sentence."""
    raise CheckFailed(sentence)


def described(result: Any) -> str:
    """Describe a result in a few words."""
    if isinstance(result, torch.Tensor):
        return f"one tensor of shape {tuple(result.shape)}"
    if isinstance(result, tuple | list):
        return f"a {type(result).__name__} of {len(result)}"
    return "None" if result is None else one(type_name(result))


def one(name: str) -> str:
    """Return a name with its article."""
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def type_name(value: Any) -> str:
    """Return the name of the type, also for a module in your process."""
    return value.kinds[0].rpartition(".")[2] if isinstance(value, RemoteObject) else type(value).__name__
