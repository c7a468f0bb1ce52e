"""The checks of the suites: each explains a failure in a sentence that gives no expected value away.

Every check also records what it observed, so that the diagnosis can compare a submission with the misconceptions.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import torch

from grader.sandbox.failures import Failure, Raised
from grader.sandbox.values import cotangent
from grader.testing.properties import ABSOLUTE as ABSOLUTE  # imported by suites
from grader.testing.properties import GRADIENTS, Comparison
from grader.testing.properties import RELATIVE as RELATIVE
from grader.testing.running_test import current_recorder, note
from grader.testing.student import RemoteCallable, RemoteObject

# Tracebacks end at the line of the test.
__tracebackhide__ = True

KEPT_NUMBERS = 10_000
# The values of a student that a sentence may show.
PLAIN_NAME, LARGEST_SHOWN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}"), 10**12
# Lists of these types are recorded as text. Others may contain tensors of any size.
PLAIN = {str, int, float, bool, type(None)}
# The errors with which an answer may refuse its arguments.
REFUSALS = {"ValueError", "AssertionError"}
# The first word of an observation of what a call raised.
RAISED = "raised"
NO_ERROR = "It raised no error where one was expected"
WITH_COMMAS = " Write them after `return`, with commas between them."
NUMBER_WORDS = ("none", "one value", "two values", "three values", "four values")


class CheckFailed(AssertionError):
    """A check that failed. reason: the sentence for the student. comparison: the tensors that it compared, if any."""

    def __init__(self, reason: str, comparison: Comparison | None = None) -> None:
        """Take the sentence and the tensors."""
        super().__init__(reason)
        self.reason = reason
        self.comparison = comparison


def failed(observed: torch.Tensor | str, reason: str, comparison: Comparison | None = None) -> CheckFailed:
    """Record an observation, and return the failure to raise."""
    note(observed)
    return CheckFailed(reason, comparison)


def remark_ready_made(names: Collection[str], call: RemoteCallable, *arguments: Any) -> None:
    """Add a remark, which costs no points, if a call uses torch functions of these names."""
    with contextlib.suppress(Failure):
        used = sorted(set(names).intersection(call.torch_functions(*arguments)))
        if used:
            sentence = f"It makes use of torch's {used[0]}, which it was to do without. That costs nothing."
            current_recorder().remarks.append(sentence)


def expect_tensor(value: Any, shape: Sequence[int] | None = None) -> torch.Tensor:
    """Expect a tensor, of this shape if one is given, and return it."""
    if not isinstance(value, torch.Tensor):
        raise failed(f"no tensor but {_kind(value)}", f"A tensor was expected; yours gave {_kind(value)}.")
    if shape is not None:
        _expect_shape(value, shape)
    return value


def _expect_shape(value: torch.Tensor, shape: Sequence[int], comparison: Comparison | None = None) -> None:
    if value.shape != torch.Size(shape):
        found, reason = tuple(value.shape), f"The result has the wrong shape: {tuple(value.shape)}."
        # Observations are kept until the diagnosis, and a wrong shape may be as large as the protocol allows.
        if value.numel() > KEPT_NUMBERS:
            raise failed(f"a tensor of shape {found}", reason)
        raise failed(value, reason, comparison)


@contextlib.contextmanager
def in_order(value: Any, expected: torch.Tensor, within: float = ABSOLUTE) -> Iterator[None]:
    """Say of a value that fails in this block if another result of the same call is the expected one."""
    try:
        yield
    except CheckFailed as failure:
        if sentence := misplaced(value, expected, within):
            raise CheckFailed(sentence, failure.comparison) from None
        raise


def expect_close(value: Any, expected: torch.Tensor, what: str = "The values", within: float = ABSOLUTE) -> None:
    """Expect a tensor of the expected shape and, up to rounding in float32, values. The dtype may differ."""
    with in_order(value, expected):
        tensor = expect_tensor(value)
        comparison = Comparison(what, tensor, expected)
        _expect_shape(tensor, expected.shape, comparison)
        note(tensor)
        if not torch.isfinite(tensor.double()).all() and torch.isfinite(expected.double()).all():
            raise CheckFailed(f"{what} are not all finite numbers.", comparison)
        if not torch.allclose(tensor.double(), expected.double(), rtol=RELATIVE, atol=within):
            raise CheckFailed(f"{what} are not the expected ones, although the shape is correct.", comparison)


def expect_dtype(value: Any, dtype: torch.dtype) -> None:
    """Expect a tensor of this dtype."""
    tensor = expect_tensor(value)
    note(_family(tensor.dtype, dtype))
    if tensor.dtype != dtype:
        raise CheckFailed(f"The result is {dtype_name(tensor.dtype)} where the arguments were {dtype_name(dtype)}.")


def expect_values(result: Any, count: int) -> tuple[Any, ...]:
    """Expect a tuple or list of this many values, and return them."""
    if not isinstance(result, tuple | list) or len(result) != count:
        is_number = isinstance(result, int | float) or (isinstance(result, torch.Tensor) and result.numel() == 1)
        how = "" if isinstance(result, tuple | list) else WITH_COMMAS
        reason = f"{NUMBER_WORDS[count].capitalize()} were expected; yours gave {_kind(result)}.{how}"
        raise failed(f"not {count} values but {'a number' if is_number else _kind(result)}", reason)
    keep_results(result)
    return tuple(result)


def expect_one_number(value: Any) -> float:
    """Expect a number, or a tensor of one element, and return it."""
    number = value.item() if isinstance(value, torch.Tensor) and value.shape.numel() == 1 else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise failed(f"no number but {_kind(number)}", f"A number was expected; yours gave {_kind(number)}.")
    return number


def expect_number(value: Any, expected: float, within: float) -> None:
    """Expect a number, or a tensor of one element, that differs by at most `within` from the expected one."""
    with in_order(value, torch.tensor(expected), within):
        value = expect_one_number(value)
        # The error of an estimate is proportional to it.
        note(float(value), within * abs(value / expected) if expected and math.isfinite(value) else within)
        if not math.isfinite(value) or abs(value - expected) > within:
            raise CheckFailed("The number is not near the expected one.")


def expect_same(value: Any, expected: torch.Tensor, reason: str) -> None:
    """Expect a tensor with exactly these elements. reason: what the student reads otherwise."""
    if not (isinstance(value, torch.Tensor) and torch.equal(value, expected)):
        raise failed(reason, reason)
    note("same")


def expect_equal(value: Any, expected: Any, reason: str) -> None:
    """Expect text, or a list of texts or numbers, of the same type and value. reason: as above."""
    if not equals(value, expected):
        is_plain = isinstance(value, str) or (isinstance(value, list) and all(type(one) in PLAIN for one in value))
        raise failed(repr(value)[:KEPT_NUMBERS] if is_plain else _kind(value), reason)
    note("same")


def equals(value: Any, expected: Any) -> bool:
    """Return whether a value has the type and the value of another, where a list may have tensors instead."""
    try:
        return type(value) is type(expected) and bool(value == expected)
    except RuntimeError:  # torch's, about the truth of a tensor
        return False


def expect_true(condition: bool, reason: str) -> None:
    """Expect a condition to hold. reason: as above."""
    if not condition:
        raise failed(reason, reason)
    note("holds")


def expect_error(call: Callable[[], Any], where: str = "") -> None:
    """Expect a ValueError or an AssertionError. where: the arguments that are refused, for the student."""
    types = _error_types(call)
    if not types:
        raise failed(f"{RAISED} nothing", f"{NO_ERROR}{where and ': for '}{where}.")
    if not REFUSALS & set(types):
        raise failed(f"{RAISED} {types[0]}", f"It raised {types[0]}; ValueError or AssertionError was expected.")
    note(f"{RAISED} an allowed error")


def expect_any_error(call: Callable[[], Any], where: str = "") -> None:
    """Expect an error of any type, because torch itself may raise it. where: as above."""
    if "Exception" not in _error_types(call):
        raise failed(f"{RAISED} nothing", f"{NO_ERROR}{where and ': for '}{where}.")
    note(f"{RAISED} an allowed error")


def _error_types(call: Callable[[], Any]) -> Sequence[str]:
    """Return the types of the error that a call raises. Raises that of an exercise that is not written yet."""
    try:
        call()
    except Raised as raised:
        if raised.types[0] == "NotImplementedError":
            raise
        return raised.types
    return ()


def oracle_gradients(
    function: Callable[..., Any], arguments: Sequence[torch.Tensor], parameters: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Return the right gradients of the weighted sum of function(*arguments, **parameters), in float64.

    `function` returns a tensor or a tuple of tensors, like the student's. Parameters are passed as keywords, with
    underscores in place of the dots in their names.
    """
    leaves = {str(n): argument.detach().double().requires_grad_() for n, argument in enumerate(arguments)}
    weights = {name: value.detach().double().requires_grad_() for name, value in parameters.items()}
    named = {name.replace(".", "_"): value for name, value in weights.items()}
    result = function(*leaves.values(), **named)
    outputs = result if isinstance(result, tuple) else (result,)
    total = torch.stack([(output * cotangent(output.shape, output.dtype)).sum() for output in outputs]).sum()
    wanted = {**leaves, **weights}
    return dict(zip(wanted, torch.autograd.grad(total, list(wanted.values())), strict=True))


def expect_gradients(found: dict[str, torch.Tensor | None], expected: dict[str, torch.Tensor]) -> None:
    """Expect a gradient with these values under each key."""
    for name, gradient in expected.items():
        value = found.get(name)
        if value is None:
            none = torch.zeros_like(gradient)  # as if it were multiplied by zero: nothing is learnt
            what = f"argument {int(name) + 1}" if name.isdigit() else shown(name)
            raise failed(none, f"No gradient reaches {what}.", Comparison(GRADIENTS, none, gradient))
        expect_close(value, gradient, GRADIENTS)


def is_float(value: Any) -> TypeGuard[torch.Tensor]:
    """Return whether a value is a tensor of floats, which may have a gradient."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def shown(value: Any) -> str:
    """Return a student's value for a sentence: a whole number or a plain name, or else only its kind.

    A student process may send anything, and sentences reach terminals, logs and pages.
    """
    is_number = type(value) is int and abs(value) < LARGEST_SHOWN
    is_name = type(value) is str and PLAIN_NAME.fullmatch(value) is not None
    return str(value) if is_number or is_name else _kind(value)


def _kind(value: Any) -> str:
    """Describe a value in a few words, without the value itself."""
    match value:
        case None:
            return "None"
        case torch.Tensor():
            return f"a tensor of shape {tuple(value.shape)}"
        case tuple() | list() if len(value) < len(NUMBER_WORDS):
            kind = type(value).__name__
            return f"a {kind} of {NUMBER_WORDS[len(value)]}" if value else f"an empty {kind}"
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)} values"
        case bool():
            return "a bool"
        case int() | float() | str() | dict():
            return f"{'an' if isinstance(value, int) else 'a'} {type(value).__name__}"
    return "an object"


def _family(found: torch.dtype, expected: torch.dtype) -> str:
    """Describe a dtype for the diagnosis. Its size counts only if floats were expected."""
    if not found.is_floating_point:
        return "bools" if found == torch.bool else "whole numbers"
    return str(found) if expected.is_floating_point else "floats"


def dtype_name(dtype: torch.dtype) -> str:
    """Return the name of a dtype, without torch's."""
    return str(dtype).removeprefix("torch.")


# -- results in another order ------------------------------------------------------------------------------------

# How a sentence on results in another order ends, also that of a check which sees it by the shapes.
ANOTHER_ORDER = re.compile(
    r"; (?:your \w+ result is what the \w+ should be|yours returns them in the reverse order)\.$"
)
ORDINALS = ("first", "second", "third", "fourth")


def keep_results(results: Sequence[Any], sentence: str = "The order of the results is wrong") -> None:
    """Keep the results of a call, and how a sentence on their order begins."""
    current_recorder().results = sentence, results


def misplaced(value: Any, expected: torch.Tensor, within: float) -> str:
    """Return a sentence if this is one of the results that were kept, and another one is what is expected, or ""."""
    sentence, results = current_recorder().results
    for mine in [place for place, one in enumerate(results) if one is value][:1]:
        for found, other in enumerate(results):
            if found != mine and _is_close(other, expected, within):
                return f"{sentence}; your {ORDINALS[found]} result is what the {ORDINALS[mine]} should be."
    return ""


def _is_close(value: Any, expected: torch.Tensor, within: float) -> bool:
    value = torch.tensor(value) if isinstance(value, float) else value
    is_alike = isinstance(value, torch.Tensor) and value.shape == expected.shape
    return is_alike and torch.allclose(value.double(), expected.double(), RELATIVE, within)


# -- linear layers -----------------------------------------------------------------------------------------------

# By the names of a module's parameters.
Weights = dict[str, "torch.Tensor"]


def no_parameter(name: str) -> str:
    """Return what a student reads if a layer's parameter is missing."""
    return f"There is no parameter {name} of its own, which nn.Linear would have under this name."


def expect_layer(parameters: Weights, name: str, d_in: int, d_out: int) -> None:
    """Expect a linear layer of this name from d_in to d_out."""
    expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
    expect_shape(parameters[f"{name}.weight"], (d_out, d_in))


def expect_shape(parameter: torch.Tensor, shape: tuple[int, ...]) -> None:
    """Expect a parameter of this shape. Its initial values are random and not checked."""
    found = tuple(parameter.shape)
    expect_true(found == shape, f"A layer's parameter has the wrong shape: {found}.")


def expect_no_bias(parameters: Weights, names: Iterable[str]) -> None:
    """Expect layers of these names, and none with a bias."""
    for name in names:
        expect_true(f"{name}.weight" in parameters, no_parameter(f"{name}.weight"))
        expect_true(f"{name}.bias" not in parameters, f"{name} has a bias.")


def set_layers(module: RemoteObject, weights: Weights, optional: Weights | None = None) -> None:
    """Set the weights and biases of layers, and those of optional ones that the module has.

    An unwanted bias fails a criterion of its own. It is set to zero here, so that it fails no other.
    """
    biases = [name.removesuffix("weight") + "bias" for name in weights if name.endswith("weight")]
    module.set(weights, optional={**dict.fromkeys(biases, 0.0), **(optional or {})})


def as_layers(matrices: Weights) -> Weights:
    """Return the weights (d_out, d_in) of layers whose matrices (d_in, d_out) are given by the layers' names."""
    return {f"{name}.weight": matrix.mT for name, matrix in matrices.items()}
