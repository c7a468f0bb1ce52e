"""Checks that many exercises share, and that need no right result to compare with.

They state properties of any right answer, such as that the arguments stay unchanged or that gradients are those of the
student's own function. Each makes calls with named arguments, in the order of the function's own. The names are for the
student.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from grader.sandbox.values import cotangent
from grader.testing.checks import (
    RAISED,
    REFUSALS,
    CheckFailed,
    dtype_name,
    equals,
    expect_same,
    expect_tensor,
    expect_true,
    failed,
    is_float,
)
from grader.testing.draws import (
    DrawFunction,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
)
from grader.testing.running_test import difference, note, number
from grader.testing.student import Raised, Refused, RemoteCallable, RemoteObject, Student

# Tracebacks end at the line of the test.
__tracebackhide__ = True

# A label of a source, from the student process: a file, or a cell of a notebook.
PLAIN_LABEL = re.compile(r"[\w .,()-]{1,100}")


def expect_arguments_kept(call: RemoteCallable, /, **arguments: Any) -> None:
    """Expect a call not to change its tensors and lists."""
    _, after = call.with_arguments(*arguments.values())
    for (name, before), found in zip(arguments.items(), after, strict=True):
        reason = f"`{name}` should be the same after the call as before; yours changes it. Make a new tensor instead."
        if isinstance(before, torch.Tensor):
            expect_same(found, before, reason)
        else:
            expect_true(equals(found, before), reason)


def expect_each_alone(call: RemoteCallable, /, batched: Sequence[str] = (), **arguments: Any) -> None:
    """Expect each element of a batch to have the same result alone as in the batch.

    batched: the arguments whose first dimension is the batch; by default all tensors.
    """
    chosen = batched or [name for name, value in arguments.items() if isinstance(value, torch.Tensor)]
    together = tensors_of(call(*arguments.values()))
    expect_true(all(one.dim() for one in together), "The result has no dimension for the elements of the batch.")
    for n in range(len(arguments[chosen[0]])):
        one = {name: value[n : n + 1] if name in chosen else value for name, value in arguments.items()}
        alone = tensors_of(call(*one.values()))
        here, there = f"for element {n} of the batch alone", "in the batch"
        expected = [each[n : n + 1] for each in together]
        _expect_alike(call, one.values(), alone, expected, here, there, "Do not mix the elements.")


def expect_any_layout(call: RemoteCallable, /, **arguments: Any) -> None:
    """Expect the same result if the tensors, of two or more dimensions, are transposed in memory."""
    plain = tensors_of(call(*arguments.values()))
    views = [
        value.mT.contiguous().mT if isinstance(value, torch.Tensor) and value.dim() > 1 else value
        for value in arguments.values()
    ]
    advice = "Non-contiguous tensors have the same numbers in another order in memory: use `reshape`, not `view`."
    found = tensors_of(_unless_raised(call, views, f"if {_listed(arguments)} non-contiguous. {advice}"))
    _expect_alike(call, views, found, plain, "for non-contiguous arguments", "for contiguous ones", advice)


def expect_float64(call: RemoteCallable, /, keeps: bool = True, **arguments: Any) -> None:
    """Expect the same numbers for float64 as for float32, not rounded.

    A module is converted to float64, and back. keeps: whether the result should have the same dtype too.
    """
    plain = tensors_of(call(*_converted(arguments, torch.float32)))
    if isinstance(call, RemoteObject):
        call.to(torch.float64)
    advice = "A new tensor needs the dtype of the argument, for example `dtype=x.dtype`."
    values = _converted(arguments, torch.float64)
    found = tensors_of(_unless_raised(call, values, f"if {_listed(arguments)} float64. {advice}"))
    _expect_alike(call, values, found, plain, "in float64", "in float32", advice)
    for one, dtype in [(one, torch.float32) for one in plain] + [(one, torch.float64) for one in found]:
        if keeps and one.is_floating_point():
            note(dtype_name(one.dtype))
            if one.dtype != dtype:
                given, yours = f"{_listed(arguments)} {dtype_name(dtype)}", dtype_name(one.dtype)
                raise CheckFailed(f"The result should keep the dtype: if {given}, yours is {yours}. {advice}")
    if any(map(is_float, values)):
        expect_digits(tensors_of(call(*with_digits(values))))
    if isinstance(call, RemoteObject):
        call.to(torch.float32)


NO_GRADIENT = "No gradient flows through it."
CUT_OFF = (
    "Do not cut it off with `.detach()`, `.item()`, `.data`, `.numpy()`, `float(…)`, `torch.tensor(…)` or "
    "`torch.no_grad()`."
)


def expect_gradients_fit(call: RemoteCallable, /, parameters: Sequence[str] = (), **arguments: Any) -> None:
    """Expect the gradients of the float arguments, and of parameters, to be the slopes of the student's own function.

    A slope is a central difference along a fixed direction. With a step of 1e-2, rounding in float32 and the curvature
    of smooth functions change it by less than the tolerance. parameters: their names in the module, which is `call`.
    """
    values = list(arguments.values())
    found = _gradients(call, values)
    initial = call.parameters() if isinstance(call, RemoteObject) else {}
    compared = [(name, str(n), one) for n, (name, one) in enumerate(arguments.items()) if is_float(one)]
    compared += [(name, name, initial[name].detach()) for name in parameters]
    for name, key, value in compared:
        direction, gradient = direction_of(value), found.get(key)
        if gradient is not None and gradient.shape != value.shape:
            raise CheckFailed(f"The gradient of `{name}` has another shape than `{name}`.")
        slope = slope_of(call, values, key, value, direction)
        note(torch.zeros_like(value) if gradient is None else gradient)
        what = f"No gradient reaches `{name}`" if gradient is None else f"The gradient of `{name}` is incomplete"
        along = 0.0 if gradient is None else (gradient.double() * direction).sum().item()
        if not abs(along - slope) <= 0.01 * abs(slope) + 0.002:
            _expect_repeatable(call, values)
            raise CheckFailed(f"{what}, although the result depends on it. {CUT_OFF}")


def _gradients(call: RemoteCallable, values: Sequence[Any]) -> dict[str, torch.Tensor | None]:
    try:
        return call.gradients(*values)[1]
    except Raised as error:
        if "in-place" not in error.detail:
            raise
        reason = f"It changes a tensor in place{_place(error)}, so it has no gradients. Make a new tensor instead."
        raise failed("changed in place", reason) from None
    except Refused as error:
        if error.reason != NO_GRADIENT:
            raise  # about a parameter, for example
        raise failed("no gradient", f"No gradient flows back from the result. {CUT_OFF}") from None


def expect_generator_used(student: Student, draw: DrawFunction) -> None:
    """Expect draws to come from the generator that is given, and else from torch's global one."""
    other = "Two generators with other states give the same draws: draw from `generator`."
    expect_draws_from_a_generator(student, draw, other)
    same = "The same state of the generator gives other draws: take every draw from `generator`."
    expect_draws_by_state(student, draw, same, other)
    expect_global_draws(
        student,
        draw,
        "Without a generator, `torch.manual_seed` should fix the draws: draw from torch's global generator.",
        "Without a generator, another `torch.manual_seed` gives the same draws: draw from torch's global generator, "
        "and set no seed yourself.",
        "Without a generator, a second call repeats the draws of the first: draw again in each call, and set no seed "
        "yourself.",
    )


def expect_later_tokens_unseen(call: RemoteCallable, /, **arguments: Any) -> None:
    """Expect the results of all tokens but the last to stay the same if the last token of the float tensors changes.

    The tokens are the last dimension but one, of the arguments and of the results.
    """
    plain = tensors_of(call(*arguments.values()))
    others = [one.clone() if is_float(one) else one for one in arguments.values()]
    for value in filter(is_float, others):
        value[..., -1, :] += direction_of(value[..., -1, :]).to(value.dtype) + 1
    found = tensors_of(call(*others))
    expect_true(all(one.dim() > 1 for one in (*plain, *found)), "The result has no dimension for the tokens.")
    earlier, before = ([one[..., :-1, :] for one in results] for results in (found, plain))
    advice = "A token should see itself and the tokens before it: hide the later ones."
    _expect_alike(call, others, earlier, before, "with another last token", "before the change", advice)
    changed = any(difference(one[..., -1, :], other[..., -1, :]) for one, other in zip(found, plain, strict=True))
    expect_true(changed, "If the last token changes, its own result should change too; yours is the same.")


def expect_nothing_dropped(plain: RemoteCallable, other: RemoteCallable, /, here: str, **arguments: Any) -> None:
    """Expect two modules with the same parameters to give the same. here: what is special about the other one."""
    expected = tensors_of(plain(*arguments.values()))
    advice = "Nothing should be dropped there: use `nn.Dropout(dropout)`, which drops in training only."
    found = tensors_of(other(*arguments.values()))
    _expect_alike(other, arguments.values(), found, expected, here, "in eval mode without dropout", advice)


def expect_refused(name: str, call: Callable[[], Any], idea: str) -> None:
    """Expect a call to be refused with a ValueError or an AssertionError.

    name: what it should refuse, such as "`p = 1.5`". idea: why.
    """
    try:
        result = call()
    except Raised as error:
        if error.types[0] == "NotImplementedError":
            raise
        if REFUSALS & set(error.types):
            note(f"{RAISED} an allowed error")
            return
        note(f"{RAISED} {error.types[0]}")
        found = f"raises {with_article(error.types[0])}"
    else:
        note(f"{RAISED} nothing")
        found = "raises no error" if result is None else f"returns {described(result)}"
    text = f"{name} should be refused with a ValueError or an AssertionError, because {idea}. Yours {found}."
    raise CheckFailed(text[0].upper() + text[1:])


def kept(module: RemoteObject, name: str) -> Any:
    """Return what a module has in an attribute, such as a layer; None if it does not exist."""
    try:
        return module.get(name)
    except Raised as error:
        if "AttributeError" not in error.types:
            raise
        return None


# -- words -------------------------------------------------------------------------------------------------------


def described(result: Any) -> str:
    """Describe a result in a few words."""
    if isinstance(result, torch.Tensor):
        return f"a tensor of shape {tuple(result.shape)}"
    if isinstance(result, tuple | list):
        kind, count = type(result).__name__, "one value" if len(result) == 1 else f"{len(result)} values"
        return f"a {kind} of {count}" if result else f"an empty {kind}"
    if isinstance(result, bool | int | float):
        return number(result)
    return "None" if result is None else with_article(type_name(result))


def with_article(name: str) -> str:
    """Return a name with its article."""
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def type_name(value: Any) -> str:
    """Return the name of the type, also for a module in your process."""
    return value.kinds[0].rpartition(".")[2] if isinstance(value, RemoteObject) else type(value).__name__


# -- checks of two calls ---------------------------------------------------------------------------------------


def _converted(arguments: dict[str, Any], dtype: torch.dtype) -> list[Any]:
    return [one.to(dtype) if is_float(one) else one for one in arguments.values()]


def _unless_raised(call: RemoteCallable, values: Sequence[Any], when: str) -> Any:
    """Make a call. when: what the student reads after "It raised an error" if it does."""
    try:
        return call(*values)
    except Raised as error:
        if error.types[0] == "NotImplementedError":
            raise
        reason = f"{error.reason.removesuffix('.')}{_place(error)} {when}"
        raise failed(f"raised {error.types[0]}", reason) from None


def _place(error: Raised) -> str:
    """Return the student's line that raised as the end of a clause; "" if it is not known."""
    is_plain = error.line is not None and PLAIN_LABEL.fullmatch(error.file or "")
    return f" (line {error.line} of {error.file})" if is_plain else ""


def _expect_alike(
    call: RemoteCallable,
    arguments: Iterable[Any],
    found: list[torch.Tensor],
    others: list[torch.Tensor],
    here: str,
    there: str,
    advice: str,
) -> None:
    """Expect the same tensors from two calls of the student's own function, the first one with these arguments."""
    expect_true(len(found) == len(others), f"It returns {len(found)} results {here}, and {len(others)} {there}.")
    for n, (one, other) in enumerate(zip(found, others, strict=True)):
        note(one)
        result = "The result" if len(found) == 1 else f"Result {n + 1} of {len(found)}"
        if one.shape != other.shape:
            shapes = f"{tuple(one.shape)} {here}, and {tuple(other.shape)} {there}"
            raise CheckFailed(f"{result} has shape {shapes}. {advice}")
        if apart := difference(one, other):
            _expect_repeatable(call, arguments)
            where = f" at {apart.place}" if apart.place else ""
            raise CheckFailed(f"{result}{where} is {apart.yours} {here}, and {apart.expected} {there}. {advice}")


def _expect_repeatable(call: RemoteCallable, arguments: Iterable[Any]) -> None:
    """Expect two equal calls to have the same result: else what differs between two others shows nothing about them."""
    given = list(arguments)
    for one, other in zip(tensors_of(call(*given)), tensors_of(call(*given)), strict=False):
        if one.shape != other.shape or difference(one, other):
            raise CheckFailed(
                "Two calls with the same arguments have different results. Is something random, or does a call change "
                "what the next one uses?"
            )


def _listed(names: Iterable[str]) -> str:
    """Return names with their verb, such as "`x` and `y` are"."""
    quoted = [f"`{name}`" for name in names]
    return f"{quoted[0]} is" if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]} are"


# -- slopes and decimals -----------------------------------------------------------------------------------------

STEP = 1e-2


def tensors_of(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result: itself, or those in a tuple or list."""
    return [expect_tensor(one) for one in (result if isinstance(result, tuple | list) else (result,))]


def direction_of(value: torch.Tensor) -> torch.Tensor:
    """Return a fixed direction of length one, in float64, along which every entry changes by another step."""
    steps = (torch.arange(value.numel(), dtype=torch.float64) + 0.5).cos().reshape(value.shape)
    direction: torch.Tensor = steps / steps.norm()
    return direction


def slope_of(
    call: RemoteCallable, values: Sequence[Any], key: str, value: torch.Tensor, direction: torch.Tensor
) -> float:
    """Return the change of the weighted sum of the result along a direction, divided by the step."""
    ends = []
    for step in (STEP, -STEP):
        moved = (value.double() + step * direction).to(value.dtype)
        if key.isdigit():
            result = call(*(moved if n == int(key) else one for n, one in enumerate(values)))
        else:
            assert isinstance(call, RemoteObject)
            call.set({key: moved})
            result = call(*values)
            call.set({key: value})
        outputs = [one.double() for one in tensors_of(result) if one.is_floating_point()]
        ends.append(sum((one * cotangent(one.shape, one.dtype)).sum().item() for one in outputs))
    return (ends[0] - ends[1]) / (2 * STEP)


def with_digits(values: Sequence[Any]) -> list[Any]:
    """Return arguments whose floats have many decimals: each times another irrational number near 1."""
    return [
        one * (1 + (torch.arange(one.numel(), dtype=one.dtype) + 2).sqrt().reshape(one.shape) / 100)
        if is_float(one)
        else one
        for one in values
    ]


def expect_digits(results: Iterable[torch.Tensor]) -> None:
    """Expect float64 results of such arguments to have more than six decimals, unless all numbers are whole."""
    for result in results:
        found = result.double()
        is_short = (found - found.round(decimals=6)).abs() < 1e-12
        if bool(is_short.all()) and not torch.equal(found, found.round()):
            reason = "The result is rounded: it should have all its decimals. Only what is shown is rounded."
            raise failed("rounded", reason)
