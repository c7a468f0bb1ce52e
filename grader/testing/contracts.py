"""Checks that many exercises share: right results, right gradients, and unchanged arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from grader.testing.checks import expect_close, expect_gradients, expect_same, expect_values, oracle_gradients
from grader.testing.student import RemoteCallable, Student

if TYPE_CHECKING:
    from grader.testing.inputs import Fresh

# Tracebacks end at the line of the test.
__tracebackhide__ = True

# Returns what a student's function should compute: the right function, or one made of substitutes.
Right = Callable[[Student], Callable[..., Any]]


class Given(NamedTuple):
    """A call: the function, its arguments, and the check of the result."""

    call: RemoteCallable
    arguments: Sequence[Any]
    expect: Callable[[Any], Any]


# Draws such a call. Besides fresh inputs it may take sizes or a dtype.
Asking = Callable[..., Given]


def asking(exercise: str, draw: Callable[..., Sequence[Any]], expect: Callable[..., Any]) -> Asking:
    """Return a function that draws a call of an exercise, with the arguments that `draw` returns.

    expect: checks the result; it takes the student, the result and those arguments that are tensors.
    """

    def ask(student: Student, fresh: Fresh, *given: Any, **named: Any) -> Given:
        arguments = draw(fresh, *given, **named)
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
        return Given(getattr(student, exercise), arguments, lambda result: expect(student, result, *tensors))

    return ask


def against(right: Right, expect: Callable[[Any, Any], None] = expect_close) -> Callable[..., None]:
    """Return a check for `asking` that compares a result with the right one."""
    return lambda student, result, *arguments: expect(result, right(student)(*arguments))


def expect_right(given: Given) -> None:
    """Make the call, and check its result."""
    given.expect(given.call(*given.arguments))


def expect_left_alone(given: Given, *changed: str) -> None:
    """Make the call, check its result, and expect all tensors to be the same after it as before.

    changed: what the student reads if one differs: one text for all tensors, or one for each.
    """
    result, after = expect_values(given.call.with_arguments(*given.arguments), 2)
    given.expect(result)
    pairs = [(found, old) for found, old in zip(after, given.arguments, strict=True) if isinstance(old, torch.Tensor)]
    reasons = changed * len(pairs) if len(changed) == 1 else changed
    for (found, old), reason in zip(pairs, reasons, strict=True):
        expect_same(found, old, reason)


def expect_gradients_of(student: Student, exercise: str, right: Right, arguments: Sequence[Any]) -> None:
    """Expect the right gradients of the float arguments, which come first."""
    _, found = expect_values(getattr(student, exercise).gradients(*arguments), 2)
    floats = [one for one in arguments if isinstance(one, torch.Tensor) and one.is_floating_point()]
    function, others = right(student), arguments[len(floats) :]
    expect_gradients(found, oracle_gradients(lambda *leaves: function(*leaves, *others), floats, {}))
