"""What the visible tests share: the worked examples, and failures that say in a sentence what is wrong."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

HERE = Path(__file__).resolve().parent
WORKED_EXAMPLES = json.loads((HERE / "worked_examples.json").read_text(encoding="utf-8"))


def worked_example(name: str) -> torch.Tensor:
    """The numbers of one worked example, printed to four decimals."""
    return torch.tensor(WORKED_EXAMPLES["examples"][name]["value"])


def call(function: Callable[..., Any], *arguments: Any, gives: tuple[str, ...] = ()) -> Any:
    """Call your function; with `gives`, hold it to a tuple of that many results."""
    result = _run(function, arguments)
    if gives and not (isinstance(result, tuple | list) and len(result) == len(gives)):
        name = getattr(function, "__name__", type(function).__name__)
        fail(f"{name} should return {', '.join(gives)}; yours returns {_described(result)}.")
    return result


def expect_values(name: str, yours: Any, expected: torch.Tensor, *, shape: str, idea: str) -> None:
    """Compare type, shape and values, and fail with the first difference and the idea behind the result."""
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is {_described(yours)}: {idea}.")
    if yours.shape != expected.shape:
        fail(f"{name} should have shape {shape} = {tuple(expected.shape)}, yours is {tuple(yours.shape)}: {idea}.")
    close = torch.isclose(yours.detach().to(expected.dtype), expected, rtol=0, atol=WORKED_EXAMPLES["tolerance"])
    if not close.all():
        place = tuple((~close).nonzero()[0].tolist())
        where = f"{name}[{', '.join(map(str, place))}]"
        fail(f"{where} should be {expected[place].item():.4f}, yours is {yours[place].item():.4f}: {idea}.")


def expect_error(function: Callable[..., Any], *arguments: Any, idea: str) -> None:
    """Fail unless your function refuses these arguments with a ValueError or an AssertionError."""
    try:
        _run(function, arguments, refusals=(ValueError, AssertionError))
    except (ValueError, AssertionError):
        return
    fail(f"{function.__name__} should raise a ValueError here, yours raises nothing: {idea}.")


def fail(sentence: str) -> NoReturn:
    """Fail the test with this sentence alone."""
    pytest.fail(sentence, pytrace=False)


def _run(function: Callable[..., Any], arguments: tuple[Any, ...], refusals: tuple[type[Exception], ...] = ()) -> Any:
    """Turn an error into one sentence that names the place in your file; let the refusals through."""
    try:
        return function(*arguments)
    except refusals:
        raise
    except Exception as error:
        sentence = _what_happened(error)
    fail(sentence)  # out here, where pytest does not tell of the first error again


def _what_happened(error: Exception) -> str:
    name, place = "The call", ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        # The last step that is yours: what lies below it is torch's.
        if file.parent == HERE and file != Path(__file__):
            name, place = frame.f_code.co_qualname, f" ({file.name}, line {line})"
    if isinstance(error, NotImplementedError):
        return f"{name} is not written yet{place}."
    return f"{name} raised {type(error).__name__}{place}: {error}"


def _described(result: Any) -> str:
    if isinstance(result, torch.Tensor):
        return f"one tensor of shape {tuple(result.shape)}"
    if isinstance(result, tuple | list):
        return f"a {type(result).__name__} of {len(result)}"
    return "None" if result is None else f"a {type(result).__name__}"
