"""What a hidden suite is made of: tests with a rule, cases of a test, and the contract of an exercise.

A suite is the file of one exercise. Each of its tests, and each case, is a criterion: a rule of the stub, a sentence
that a student reads if it fails, and a check.

    @rule("the result is two times the number")
    def test_doubles(student: Student, fresh: Fresh) -> None:
        \"\"\"Each number should be multiplied by two.\"\"\"

Most exercises share some rules: right results for any size, dtype or layout, gradients, arguments that stay unchanged,
errors, draws from a generator, nothing dropped outside of training, later tokens without influence. A contract declares
these criteria. It needs a function that draws a call, which `asking` makes for a function and `asking_module` for a
module:

    test_contract = contract(
        asking("double", lambda fresh, **dtype: [fresh(3, 4, **dtype)], lambda _: lambda x: x + x),
        right_results("either_dtype", "float32 and float64 both work", "Both dtypes should work.", *IN_BOTH_DTYPES),
        right_gradients("gradients_of_doubling", "gradients flow to x", "Gradients should flow to x."),
        kept_arguments("x_is_left_alone", "x is not changed", "The call should not change x.", "x was changed."),
        example=Example({"x": numbers(2, 3)}),
    )

With an example, `grader build` writes the visible counterparts of these criteria as data, for students. From the draw,
the audit derives a probe (see `grader.testing.probes`), so an exercise with a contract needs no other one, unless a
probe should look at more than random numbers of any size. Parameters of a draw with an int as default are sizes: the
criteria use the default, and the probe tries others from 1 on. Write `max(count, 2)` in the draw if one is too few.
`*leading` is any number of leading dimensions:

    lambda fresh, *leading, count=T, width=D, **dtype: [fresh(*leading, count, width, **dtype)]
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import torch

from grader.testing.checks import (
    Weights,
    expect_close,
    expect_dtype,
    expect_gradients,
    expect_same,
    is_float,
    oracle_gradients,
)
from grader.testing.draws import Fresh
from grader.testing.student import RemoteCallable, RemoteObject, Student

# Tracebacks end at the line of the test.
__tracebackhide__ = True

IN_BOTH_DTYPES = ({"dtype": torch.float32}, {"dtype": torch.float64})
"""The draws of a call in either dtype."""

# Returns what a student's function should compute: the right function, or one made of substitutes.
Right = Callable[[Student], Callable[..., Any]]


def rule(words: str, sentence: str = "") -> pytest.MarkDecorator:
    """Mark a test as a criterion of its file's exercise.

    Args:
        words: The rule that it is about, in the stub's own words.
        sentence: What a student reads if it fails; by default the test's docstring.
    """
    return pytest.mark.rule(words, sentence=sentence, line=line_of_suite())


def case(name: str, words: str, sentence: str, *values: Any) -> Any:
    """Make one case of a parametrized test a criterion of its own.

    Args:
        name: The criterion's name.
        words: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        values: The arguments of the case, besides the student and fresh inputs.
    """
    return pytest.param(*values, id=name, marks=rule(words, sentence))


def placed(test: Callable[..., None]) -> Callable[..., None]:
    """Give a test that is written in one line the place of the statement that makes it, and return it.

    There pytest orders it among the other tests of the file, and errors and editors name it.
    """
    maker = sys._getframe(2)
    test.__name__ = "test"  # to pytest, a lambda is no test
    test.__code__ = test.__code__.replace(co_filename=maker.f_code.co_filename, co_firstlineno=maker.f_lineno)
    return test


def line_of_suite() -> int:
    """Return the line in the suite that calls a function of grader.testing, directly or not."""
    frame = sys._getframe(1)
    while frame.f_globals["__name__"].startswith("grader.testing.") and frame.f_back:
        frame = frame.f_back
    return frame.f_lineno


# -- calls -------------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """A call: the function or module, its arguments, and the check of the result.

    expect: the check; if the result is random, it returns the tensor that differs from draw to draw. right: what the
    call should compute. parameters: those of the module that `right` takes by name, with underscores for dots.
    """

    call: RemoteCallable
    arguments: Sequence[Any]
    expect: Callable[[Any], Any]
    right: Callable[..., Any] | None = None
    parameters: Mapping[str, torch.Tensor] = {}


# Draws such a call. Besides fresh inputs it may take sizes or a dtype.
Asking = Callable[..., Given]
OUTPUTS = functools.partial(expect_close, what="The outputs")


class Drawn(NamedTuple):
    """The name of a function, and what draws its arguments, for a derived probe."""

    exercise: str
    draw: Callable[..., Sequence[Any]]


def asking(
    exercise: str,
    draw: Callable[..., Sequence[Any]],
    oracle: Right,
    expect: Callable[[Any, Any], Any] = expect_close,
    is_unique: bool = True,
) -> Asking:
    """Return a function that draws a call of an exercise.

    Args:
        exercise: The name of the student's function.
        draw: Returns the arguments; it takes fresh inputs, and what a criterion gives, such as a size or a dtype.
        oracle: Returns what the function should compute.
        expect: Checks a result; it takes the result and the right one.
        is_unique: Whether all right answers give the same result. If not, no probe is derived that compares it.
    """

    def ask(student: Student, fresh: Fresh, *given: Any, **named: Any) -> Given:
        arguments, right = draw(fresh, *given, **named), oracle(student)
        return Given(getattr(student, exercise), arguments, lambda result: expect(result, right(*arguments)), right)

    if is_unique:
        ask.drawn = Drawn(exercise, draw)  # type: ignore[attr-defined]
    return ask


def asking_module(
    exercise: str,
    draw: Callable[..., tuple[Sequence[Any], Weights, Sequence[Any]]],
    oracle: Right,
    set_parameters: Callable[[RemoteObject, Weights], None] = RemoteObject.set,
    expect: Callable[[Any, Any], Any] = OUTPUTS,
) -> Asking:
    """Return a function that draws a call of a module, in eval mode unless it is given `is_training=True`.

    Args:
        exercise: The name of the student's class.
        draw: Returns the arguments of the class, the module's parameters by name and the arguments of the call; it
            takes fresh inputs, and what a criterion gives. The module gets the dtype of the parameters.
        oracle: Returns what the module should compute; it takes the arguments of the call, and the parameters by name.
        set_parameters: Sets the parameters.
        expect: Checks a result; it takes the result and the right one.
    """

    def ask(student: Student, fresh: Fresh, is_training: bool = False, **named: Any) -> Given:
        right = oracle(student)
        made, parameters, arguments = draw(fresh, **named)
        module = student.queue(exercise, *made)
        if any(value.dtype == torch.float64 for value in parameters.values()):
            module.to(torch.float64)
        set_parameters(module, parameters)
        (module.train if is_training else module.eval)()
        given = Given(module, arguments, lambda result: expect(result, right_result(given)), right, parameters)
        return given

    return ask


def right_result(given: Given, *arguments: Any) -> Any:
    """Return what a call should compute for its arguments, or for others."""
    assert given.right
    named = {name.replace(".", "_"): value for name, value in given.parameters.items()}
    return given.right(*(arguments or given.arguments), **named)


def expect_right(given: Given) -> Any:
    """Make a call, check its result, and return it."""
    result = given.call(*given.arguments)
    given.expect(result)
    return result


# -- contracts ---------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """Fixed arguments of a call, from which `grader build` makes the visible counterparts of a contract's criteria.

    A suite without a contract may have one too, as `EXAMPLE`.

    arguments: tensors, lists, text and numbers, by name, in the function's order. keeps_dtype: whether results have
    that of tensors. made: the arguments of a class, by name; None for a function. parameters: those of a module, with
    their values. also: by visible check, the rules of which the hidden tests are not declared.
    """

    arguments: Mapping[str, Any]
    keeps_dtype: bool = False
    made: Mapping[str, Any] | None = None
    parameters: Mapping[str, torch.Tensor] = {}
    also: Mapping[str, str] = {}


class Part(NamedTuple):
    """One criterion of a contract.

    visible: what its visible counterpart checks; see grader.testing.visible_contracts. line: where it is declared.
    keeps_dtype: whether results should have the dtype of the arguments.
    general: draws calls where each argument shows in the result, if that is not what the contract draws.
    shown: what the visible counterpart needs besides the example.
    """

    name: str
    words: str
    sentence: str
    check: Callable[[Asking, Student, Fresh], None]
    visible: str
    line: int
    keeps_dtype: bool = False
    general: Asking | None = None
    shown: Mapping[str, Any] = {}


class Contract(NamedTuple):
    """The criteria of an exercise that are declared, and the example for their visible counterparts.

    drawn: the calls of the derived probe, if any.
    """

    parts: Sequence[Part]
    example: Example | None
    drawn: Drawn | None = None


def contract(
    ask: Asking,
    *parts: Part,
    example: Example | None = None,
    probe: Callable[..., Sequence[Any]] | None = None,
) -> Callable[..., None]:
    """Return the test that has these criteria as its cases; `test_contract` is its name in a suite.

    Args:
        ask: Draws the calls of the criteria, except for those with calls of their own.
        parts: The criteria: `right_results`, `right_gradients`, `kept_arguments`, and those of
            grader.testing.behaviour.
        example: Makes the visible counterparts; without one there are none.
        probe: Draws the arguments for the derived probe; by default what draws them for gradients, or else the
            contract's. Write one if these are special numbers, for which most mistakes do not show.
    """
    test = placed(lambda student, fresh, check: check(ask, student, fresh))
    cases = [
        pytest.param(one.check, id=one.name, marks=pytest.mark.rule(one.words, sentence=one.sentence, line=one.line))
        for one in parts
    ]
    made: Callable[..., None] = pytest.mark.parametrize("check", cases)(test)
    # The numbers that gradients are tested with are general: every part of a call shows in the result.
    every = (getattr(one, "drawn", None) for one in (*(part.general for part in parts), ask))
    drawn: Drawn | None = next(filter(None, every), None)
    drawn = drawn._replace(draw=probe) if drawn and probe else drawn
    made.contract = Contract(parts, example, drawn)  # type: ignore[attr-defined]
    return made


def right_results(
    name: str,
    words: str,
    sentence: str,
    *draws: Mapping[str, Any],
    ask: Asking | None = None,
    keeps_dtype: bool = False,
    visible: str | None = None,
) -> Part:
    """Declare that results are right.

    Args:
        name: The criterion's name.
        words: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        draws: What the function that draws a call is given each time, such as a size or a dtype; by default nothing.
        ask: Draws the calls; by default that of the contract.
        keeps_dtype: Whether each result should have the dtype of its draw.
        visible: What the visible counterpart checks: "layout", "alone" or "" for nothing; by default "float64" if a
            draw has a dtype.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        for draw in draws or ({},):
            result = expect_right((ask or shared)(student, fresh, **draw))
            if keeps_dtype:
                for one in result if isinstance(result, tuple | list) else (result,):
                    expect_dtype(one, draw["dtype"])

    if visible is None:
        visible = "float64" if any("dtype" in draw for draw in draws) else ""
    return Part(name, words, sentence, check, visible, line_of_suite(), keeps_dtype)


def right_gradients(
    name: str, words: str, sentence: str, draw: Mapping[str, Any] | None = None, ask: Asking | None = None
) -> Part:
    """Declare that gradients flow to the float arguments, which come first, and to the parameters of a module.

    draw: what the function that draws the call is given.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        given = (ask or shared)(student, fresh, **(draw or {}))
        _, found = given.call.gradients(*given.arguments)
        floats = list(filter(is_float, given.arguments))
        assert given.right
        function, others = given.right, given.arguments[len(floats) :]
        oracle = lambda *leaves, **named: function(*leaves, *others, **named)  # noqa: E731
        expect_gradients(found, oracle_gradients(oracle, floats, dict(given.parameters)))

    return Part(name, words, sentence, check, "gradients", line_of_suite(), general=ask)


def kept_arguments(
    name: str,
    words: str,
    sentence: str,
    *changed: str,
    draw: Mapping[str, Any] | None = None,
    ask: Asking | None = None,
) -> Part:
    """Declare that results are right and all tensors are the same after the call as before.

    changed: what a student reads if one differs: one text for all tensors, or one for each. draw: what the function
    that draws the call is given.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        given = (ask or shared)(student, fresh, **(draw or {}))
        result, after = given.call.with_arguments(*given.arguments)
        given.expect(result)
        both = zip(after, given.arguments, strict=True)
        pairs = [(found, old) for found, old in both if isinstance(old, torch.Tensor)]
        for (found, old), reason in zip(pairs, changed * len(pairs) if len(changed) == 1 else changed, strict=True):
            expect_same(found, old, reason)

    return Part(name, words, sentence, check, "kept", line_of_suite())
