"""What the visible tests share: the worked examples, and checks that say in a sentence what is wrong.

Checks of properties, such as unchanged arguments or gradients, are in grader.testing.contracts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import torch

from grader.testing import checks, draws
from grader.testing.checks import WITH_COMMAS, CheckFailed, dtype_name, in_order, keep_results
from grader.testing.contracts import described as described
from grader.testing.contracts import expect_refused
from grader.testing.contracts import kept as kept
from grader.testing.contracts import type_name as type_name
from grader.testing.contracts import with_article as with_article
from grader.testing.draws import numbers as numbers
from grader.testing.properties import Comparison
from grader.testing.running_test import (
    ABSOLUTE,
    FILENAME,
    difference,
    expected_here,
    note,
    number,
    read_values,
    solution_value,
)
from grader.testing.student import Raised, RemoteObject

WORKED_EXAMPLES = json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))
# A name of the code at the beginning of a sentence, such as `weights` or `heads[0].W_query`: "weights should be …".
FIRST_NAME = re.compile(r"^([a-z]\w*(?:\.\w+)*(?:\[[^\]]*\])*)(?= should )|^([a-z]\w*[._\[]\S*)(?= )")
# What the solution gives in each test that calls expect_solution. `grader build` writes the file.
SOLUTION_VALUES = read_values(Path(__file__).with_name(FILENAME))


def worked_example(name: str) -> torch.Tensor:
    """Return the numbers of one worked example, rounded to four decimals."""
    return torch.tensor(WORKED_EXAMPLES["examples"][name]["value"])


def expect_results(name: str, yours: Any, wanted: tuple[str, ...], shapes: Sequence[tuple[int, ...]] = ()) -> Any:
    """Expect a tuple or list with one result for each wanted name.

    shapes: those of the results. If yours have them in reverse order, that is what is wrong.
    """
    if not (isinstance(yours, tuple | list) and len(yours) == len(wanted)):
        how = "" if isinstance(yours, tuple | list) else WITH_COMMAS
        fail(f"{name} should return {', '.join(wanted)}; yours returns {described(yours)}.{how}")
    ordered = f"{name} should return {', '.join(wanted)} in this order"
    found = [tuple(one.shape) for one in yours if isinstance(one, torch.Tensor)]
    if found != list(shapes) and found[::-1] == list(shapes):
        fail(f"{ordered}; yours returns them in the reverse order.")
    keep_results(yours, sentence(ordered))
    return yours


def expect_solution(name: str, yours: Any, *, shape: str, idea: str) -> None:
    """Compare a tensor or number with that of the solution. Each name occurs once in a test."""
    expected = solution_value(SOLUTION_VALUES, name, yours)
    with in_order(yours, expected, ABSOLUTE):
        _compare(name, yours, expected, shape, idea)


def expect_values(name: str, yours: Any, expected: torch.Tensor, *, shape: str, idea: str) -> None:
    """Compare type, shape and values, and fail with the first row or column that differs and the idea behind it."""
    expected = expected_here(yours, expected)
    with in_order(yours, expected, ABSOLUTE):
        _compare(name, yours, expected, shape, idea)


def _compare(name: str, yours: Any, expected: torch.Tensor, shape: str, idea: str) -> None:
    if expected.dim() == 0:
        yours = as_number(name, yours, idea)
    if not isinstance(yours, torch.Tensor):
        fail(f"{name} should be a tensor, yours is {described(yours)}: {idea}.")
    if yours.shape != expected.shape:
        fail(f"{name} should have shape {shape} = {tuple(expected.shape)}, yours is {tuple(yours.shape)}: {idea}.")
    note(yours.detach())
    if expected.dtype == torch.bool and yours.dtype != torch.bool:
        text = f"{name} should be a tensor of True and False (torch.bool), yours is {dtype_name(yours.dtype)}: {idea}."
        raise CheckFailed(sentence(text))
    if apart := difference(yours, expected):
        is_short = name.replace(".", "").isidentifier()  # such as `weights`, so that `weights[0]` reads as code
        what, where = (f"{name}{apart.place}", "") if is_short or not apart.place else (name, f" at {apart.place}")
        comparison = Comparison("The values", yours.detach(), expected)
        text = f"{what} should be {apart.expected}{where}, yours is {apart.yours}: {idea}."
        raise CheckFailed(sentence(text), comparison)


def as_number(name: str, yours: Any, idea: str) -> torch.Tensor:
    """Return one number, plain or in a tensor of one element, as a tensor without dimensions."""
    if isinstance(yours, torch.Tensor) and yours.numel() == 1:
        return yours.reshape(())
    if isinstance(yours, bool) or not isinstance(yours, int | float):
        fail(f"{name} should be one number, yours is {described(yours)}: {idea}.")
    return torch.tensor(float(yours))


def expect_number(name: str, yours: Any, expected: float, *, within: float, idea: str) -> None:
    """Expect a number, plain or in a tensor of one element, that differs by at most `within`."""
    with in_order(yours, torch.tensor(expected), within):
        found = as_number(name, yours, idea).item()
        note(float(found), within)
        if not abs(found - expected) <= within:
            near = "near " if within > 1e-3 else ""
            raise CheckFailed(sentence(f"{name} should be {near}{number(expected)}, yours is {number(found)}: {idea}."))


def expect_unchanged(name: str, after: Any, before: torch.Tensor) -> None:
    """Fail if a call has changed this argument."""
    text = f"{name} should be the same after the call as before, yours is changed: make a new tensor instead."
    expect_true(torch.equal(after, before), text)


def expect_error(name: str, function: Callable[..., Any], *arguments: Any, idea: str) -> None:
    """Fail unless the function refuses these arguments with a ValueError or an AssertionError.

    name: what it should refuse, such as "`p = 1.5`". idea: why.
    """
    expect_refused(name, lambda: function(*arguments), idea)


def expect_module(name: str, yours: Any) -> RemoteObject:
    """Expect a module, which can have layers and parameters."""
    if not isinstance(yours, RemoteObject):
        fail(f"{name} should be a module, yours is {described(yours)}.")
    return yours


def expect_linear(module: RemoteObject, name: str) -> RemoteObject:
    """Expect a linear layer in this attribute of a module, and return it."""
    layer = kept(module, name)
    if not (isinstance(layer, RemoteObject) and "torch.nn.modules.linear.Linear" in layer.kinds):
        fail(f"{name} should be an nn.Linear, yours is {described_part(layer)}.")
    return layer


def set_training(module: RemoteObject, is_training: bool) -> None:
    """Call train() or eval() of a module."""
    (module.train if is_training else module.eval)()


def expect_true(condition: bool, text: str) -> None:
    """Fail with this text, as a sentence, if a condition does not hold."""
    checks.expect_true(condition, sentence(text))


def expect_count(marks: torch.Tensor, probability: float, text: str) -> None:
    """Fail with this text, as a sentence, unless about this share of the marks is true."""
    draws.expect_count(marks, probability, sentence(text))


def many_kinds() -> torch.Tensor:
    """Return a table (128, 128). After each token, 0 has the probability 0.5. The larger the others, the rarer."""
    others = torch.linspace(0.5, -0.5, 127)
    return torch.cat([others.logsumexp(0, keepdim=True), others]).repeat(128, 1)


def expect_many_kinds(new: torch.Tensor) -> None:
    """Expect 4000 tokens to be drawn with these probabilities: a sharper softmax gives more zeros."""
    expect_true(
        bool((new > 115).any()),
        "the 12 least likely of 128 tokens have a probability of 0.028 together, and yours draws none of them 4000 "
        "times: draw with the softmax of all logits, and leave none out.",
    )
    share = f"{(new == 0).double().mean():.2f}"
    reason = (
        f"a token with the probability 0.5 should be about half of all new tokens, in yours it is {share}: draw with "
        "the softmax of the unchanged logits."
    )
    expect_count(new == 0, 0.5, reason)


def fail(text: str) -> NoReturn:
    """Fail the test with this text, as a sentence. It is all that is recorded of the result."""
    note(sentence(text))
    raise CheckFailed(sentence(text))


def sentence(text: str) -> str:
    """Begin a text with a capital letter, or with a name of the code in backticks."""
    quoted = FIRST_NAME.sub(r"`\g<0>`", text)
    return quoted[0].upper() + quoted[1:]


def described_part(value: Any) -> str:
    """Describe what a module has in an attribute, as `kept` returns it."""
    return "missing" if value is None else described(value)
