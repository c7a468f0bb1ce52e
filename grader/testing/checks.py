"""What the suites assert, in words: each check says why it failed in a sentence that gives nothing away.

Every check also notes what it looked at, so that a diagnosis can compare a submission with the misconceptions.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any

import torch

from grader.sandbox import protocol
from grader.sandbox.failures import Failure, Raised
from grader.testing.recorder import note, remark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from grader.testing.student import RemoteCallable

# Tracebacks end at the line of the test: the way from there helps nobody.
__tracebackhide__ = True

# Sums of some ten products of standard normals in float32 err by about 1e-6; the slips that learners make move
# values by 1e-2 and more. A factor of ten above the one leaves a factor of a hundred below the other.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
KEPT_NUMBERS = 10_000
# What of a student's values a sentence shows.
PLAIN_NAME, LARGEST_SHOWN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}"), 10**12
# Of whose lists a note can be kept: others may hold tensors of any size.
PLAIN = {str, int, float, bool, type(None)}
# The errors that are right where one is asked for.
REFUSALS = {"ValueError", "AssertionError"}
NO_ERROR = "It raised no error where one was expected"
NUMBER_WORDS = ("none", "one value", "two values", "three values", "four values")


class CheckFailed(AssertionError):
    """A check that failed; `reason` is the sentence for the student."""

    def __init__(self, reason: str) -> None:
        """Keep the sentence."""
        super().__init__(reason)
        self.reason = reason


def remark_ready_made(names: Collection[str], call: RemoteCallable, *arguments: Any) -> None:
    """Remark on it, at no cost, where a call makes use of torch functions of these names."""
    with contextlib.suppress(Failure):
        used = sorted(set(names).intersection(call.torch_functions(*arguments)))
        if used:
            remark(f"It makes use of torch's {used[0]}, which it was to do without. That costs nothing.")


def expect_tensor(value: Any, shape: Sequence[int] | None = None) -> torch.Tensor:
    """Return `value`, if it is a tensor (of that shape)."""
    if not isinstance(value, torch.Tensor):
        note(f"no tensor but {_kind(value)}")
        raise CheckFailed(f"A tensor was expected; yours gave {_kind(value)}.")
    if shape is not None and value.shape != torch.Size(shape):
        # What is noted is kept until the diagnosis, and a wrong shape may be as large as the protocol allows.
        note(value if value.numel() <= KEPT_NUMBERS else f"a tensor of shape {tuple(value.shape)}")
        raise CheckFailed(f"The result has the wrong shape: {tuple(value.shape)}.")
    return value


def expect_close(value: Any, expected: torch.Tensor, what: str = "The values", within: float = ABSOLUTE) -> None:
    """Expect a tensor of the expected shape and, within what float32 allows, values. The dtype may differ."""
    tensor = expect_tensor(value, expected.shape)
    note(tensor)
    if not torch.isfinite(tensor.double()).all() and torch.isfinite(expected.double()).all():
        raise CheckFailed(f"{what} are not all finite numbers.")
    if not torch.allclose(tensor.double(), expected.double(), rtol=RELATIVE, atol=within):
        raise CheckFailed(f"{what} are not the expected ones, although the shape is correct.")


def expect_dtype(value: Any, dtype: torch.dtype) -> None:
    """Expect a tensor of that dtype."""
    tensor = expect_tensor(value)
    note(_family(tensor.dtype, dtype))
    if tensor.dtype != dtype:
        raise CheckFailed(f"The result is {_dtype_name(tensor.dtype)} where the arguments were {_dtype_name(dtype)}.")


def expect_values(result: Any, count: int) -> tuple[Any, ...]:
    """Return the parts of a result that should be a tuple (or a list) of that many values."""
    if not isinstance(result, tuple | list) or len(result) != count:
        is_number = isinstance(result, int | float) or (isinstance(result, torch.Tensor) and result.numel() == 1)
        note(f"not {count} values but {'a number' if is_number else _kind(result)}")
        raise CheckFailed(f"{NUMBER_WORDS[count].capitalize()} were expected; yours gave {_kind(result)}.")
    return tuple(result)


def expect_number(value: Any, expected: float, within: float) -> None:
    """Expect a number, or a tensor of one element, no further than `within` from the expected one."""
    if isinstance(value, torch.Tensor) and value.shape.numel() == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        note(f"no number but {_kind(value)}")
        raise CheckFailed(f"A number was expected; yours gave {_kind(value)}.")
    # An estimate that is ten times as large errs ten times as much.
    note(float(value), within * abs(value / expected) if expected and math.isfinite(value) else within)
    if not math.isfinite(value) or abs(value - expected) > within:
        raise CheckFailed("The number is not near the expected one.")


def expect_same(value: Any, expected: torch.Tensor, reason: str) -> None:
    """Expect a tensor equal to the expected one, element by element; `reason` says what a difference means."""
    same = isinstance(value, torch.Tensor) and torch.equal(value, expected)
    note("same" if same else reason)
    if not same:
        raise CheckFailed(reason)


def expect_equal(value: Any, expected: Any, reason: str) -> None:
    """Expect text, or a list of texts or numbers, equal to the expected one and of its type; `reason` as above."""
    same = type(value) is type(expected) and value == expected
    is_plain = isinstance(value, str) or (isinstance(value, list) and all(type(one) in PLAIN for one in value))
    note("same" if same else repr(value)[:KEPT_NUMBERS] if is_plain else _kind(value))
    if not same:
        raise CheckFailed(reason)


def expect_true(condition: bool, reason: str) -> None:
    """Expect a condition to hold; `reason` is what the student reads where it does not."""
    note("holds" if condition else reason)
    if not condition:
        raise CheckFailed(reason)


def expect_error(call: Callable[[], Any], where: str = "") -> None:
    """Expect a ValueError or an AssertionError. where: for which arguments, for the student."""
    try:
        call()
    except Raised as raised:
        if raised.types[0] == "NotImplementedError":
            raise  # an exercise that is not written yet says so by itself
        is_allowed = bool(REFUSALS & set(raised.types))
        note("raised an allowed error" if is_allowed else f"raised {raised.types[0]}")
        if not is_allowed:
            raise CheckFailed(f"It raised {raised.types[0]}; ValueError or AssertionError was expected.") from None
    else:
        note("raised nothing")
        raise CheckFailed(f"{NO_ERROR}{where and ': for '}{where}.")


def expect_any_error(call: Callable[[], Any], where: str = "") -> None:
    """Expect an error of whatever kind, where torch itself may be the one to refuse. where: as above."""
    refused = False
    try:
        call()
    except Raised as raised:
        if raised.types[0] == "NotImplementedError":
            raise  # an exercise that is not written yet says so by itself
        refused = "Exception" in raised.types
    expect_true(refused, f"{NO_ERROR}{where and ': for '}{where}.")


def oracle_gradients(
    function: Callable[..., Any], arguments: Sequence[torch.Tensor], parameters: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Return the gradients of the weighted sum of function(*arguments, **parameters), as a right answer has them.

    In float64. function gives a tensor or a tuple of them, as the student's does. The names of parameters are
    handed on as keywords with dots made underscores.
    """
    leaves = {str(n): argument.detach().double().requires_grad_() for n, argument in enumerate(arguments)}
    weights = {name: value.detach().double().requires_grad_() for name, value in parameters.items()}
    named = {name.replace(".", "_"): value for name, value in weights.items()}
    result = function(*leaves.values(), **named)
    outputs = result if isinstance(result, tuple) else (result,)
    total = torch.stack([(output * protocol.cotangent(output.shape, output.dtype)).sum() for output in outputs]).sum()
    wanted = {**leaves, **weights}
    return dict(zip(wanted, torch.autograd.grad(total, list(wanted.values())), strict=True))


def expect_gradients(found: dict[str, torch.Tensor | None], expected: dict[str, torch.Tensor]) -> None:
    """Expect every gradient, by its key, with its values."""
    for name, gradient in expected.items():
        value = found.get(name)
        if value is None:
            note(torch.zeros_like(gradient))  # as where it is multiplied by zero: nothing is learnt
            what = f"argument {int(name) + 1}" if name.isdigit() else shown(name)
            raise CheckFailed(f"No gradient reaches {what}.")
        expect_close(value, gradient, "The gradients")


def shown(value: Any) -> str:
    """Return a student's value as a sentence may have it: a whole number or a plain name, and else what kind it is.

    Anything may come from a student's process, and sentences reach terminals, logs and pages.
    """
    is_number = type(value) is int and abs(value) < LARGEST_SHOWN
    is_name = type(value) is str and PLAIN_NAME.fullmatch(value) is not None
    return str(value) if is_number or is_name else _kind(value)


def _kind(value: Any) -> str:
    """Return what a value is, in a few words and without the value."""
    match value:
        case None:
            return "None"
        case torch.Tensor():
            return f"a tensor of shape {tuple(value.shape)}"
        case tuple() | list() if len(value) < len(NUMBER_WORDS):
            return (
                f"a {type(value).__name__} of {NUMBER_WORDS[len(value)]}"
                if value
                else f"an empty {type(value).__name__}"
            )
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)} values"
        case bool():
            return "a bool"
        case int() | float() | str() | dict():
            return f"{'an' if isinstance(value, int) else 'a'} {type(value).__name__}"
    return "an object"


def _family(found: torch.dtype, expected: torch.dtype) -> str:
    """Return what a dtype says of the idea behind it: its bits count only where floats were asked for."""
    if not found.is_floating_point:
        return "bools" if found == torch.bool else "whole numbers"
    return str(found) if expected.is_floating_point else "floats"


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
