"""What a hidden suite is made of: tests with a rule, cases of a test, and the contract of an exercise.

A suite is the file of one exercise. Each of its tests, and each case, is a criterion: a rule of the stub, a sentence
that a student reads if it fails, and a check.

    @rule("the result is two times the number")
    def test_doubles(student: Student, fresh: Fresh) -> None:
        \"\"\"Each number should be multiplied by two.\"\"\"

Most exercises share some rules: right results for any size, dtype or layout, gradients, arguments that stay unchanged.
A contract declares these criteria. It needs a function that draws a call, which `asking` makes for a function, and a
suite writes by hand for a module:

    test_contract = contract(
        asking("double", lambda fresh, **dtype: [fresh(3, 4, **dtype)], lambda _: lambda x: x + x),
        right_results("either_dtype", "float32 and float64 both work", "Both dtypes should work.", *DTYPES),
        right_gradients("gradients_of_doubling", "gradients flow to x", "Gradients should flow to x."),
        kept_arguments("x_is_left_alone", "x is not changed", "The call should not change x.", "x was changed."),
    )
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import torch

from grader.testing.checks import expect_close, expect_gradients, expect_same, is_float, oracle_gradients
from grader.testing.draws import Fresh
from grader.testing.student import RemoteCallable, Student

# Tracebacks end at the line of the test.
__tracebackhide__ = True

DTYPES = ({"dtype": torch.float32}, {"dtype": torch.float64})
"""The draws of a call in either dtype."""

# Returns what a student's function should compute: the right function, or one made of substitutes.
Right = Callable[[Student], Callable[..., Any]]


def rule(words: str, sentence: str = "") -> pytest.MarkDecorator:
    """Mark a test as a criterion of its file's exercise.

    Args:
        words: The rule that it is about, in the stub's own words.
        sentence: What a student reads if it fails; by default the test's docstring.
    """
    return pytest.mark.rule(words, sentence=sentence, line=_line())


def case(name: str, words: str, sentence: str, *values: Any) -> Any:
    """Make one case of a parametrized test a criterion of its own.

    Args:
        name: The criterion's name.
        words: The rule, in the stub's own words.
        sentence: What a student reads if it fails.
        values: The arguments of the case, besides the student and fresh inputs.
    """
    return pytest.param(*values, id=name, marks=rule(words, sentence))


def _line() -> int:
    """Return the line in the suite that calls a function of this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back:
        frame = frame.f_back
    return frame.f_lineno


# -- calls -------------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """A call: the function or module, its arguments, and the check of the result.

    right: what it should compute, for its gradients. parameters: those of the module that it takes by name.
    """

    call: RemoteCallable
    arguments: Sequence[Any]
    expect: Callable[[Any], Any]
    right: Callable[..., Any] | None = None
    parameters: Mapping[str, torch.Tensor] = {}


# Draws such a call. Besides fresh inputs it may take sizes or a dtype.
Asking = Callable[..., Given]


def asking(
    exercise: str, draw: Callable[..., Sequence[Any]], oracle: Right, expect: Callable[[Any, Any], Any] = expect_close
) -> Asking:
    """Return a function that draws a call of an exercise.

    Args:
        exercise: The name of the student's function.
        draw: Returns the arguments; it takes fresh inputs, and what a criterion gives, such as a dtype.
        oracle: Returns what the function should compute.
        expect: Checks a result; it takes the result and the right one.
    """

    def ask(student: Student, fresh: Fresh, *given: Any, **named: Any) -> Given:
        arguments, right = draw(fresh, *given, **named), oracle(student)
        return Given(getattr(student, exercise), arguments, lambda result: expect(result, right(*arguments)), right)

    return ask


# -- contracts ---------------------------------------------------------------------------------------------------


def contract(ask: Asking, *criteria: Any) -> Callable[..., None]:
    """Return the test that has these criteria as its cases; `test_contract` is its name in a suite.

    ask: draws the calls of the criteria, except for those with calls of their own.
    """

    def test(student: Student, fresh: Fresh, check: Callable[..., None]) -> None:
        check(ask, student, fresh)

    cases: Callable[..., None] = pytest.mark.parametrize("check", criteria)(test)
    return cases


def right_results(name: str, words: str, sentence: str, *draws: Mapping[str, Any], ask: Asking | None = None) -> Any:
    """Declare that results are right for each of these draws.

    draws: what the function that draws a call is given each time, such as a size or a dtype; by default nothing.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        for draw in draws or ((),):
            given = (
                (ask or shared)(student, fresh, **draw)
                if isinstance(draw, dict)
                else (ask or shared)(student, fresh, *draw)
            )
            given.expect(given.call(*given.arguments))

    return case(name, words, sentence, check)


def right_gradients(name: str, words: str, sentence: str, ask: Asking | None = None) -> Any:
    """Declare that gradients flow to the float arguments, which come first, and to the parameters of a module."""

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        given = (ask or shared)(student, fresh)
        _, found = given.call.gradients(*given.arguments)
        floats = list(filter(is_float, given.arguments))
        assert given.right
        function, others = given.right, given.arguments[len(floats) :]
        oracle = lambda *leaves, **named: function(*leaves, *others, **named)  # noqa: E731
        expect_gradients(found, oracle_gradients(oracle, floats, dict(given.parameters)))

    return case(name, words, sentence, check)


def kept_arguments(name: str, words: str, sentence: str, *changed: str, ask: Asking | None = None) -> Any:
    """Declare that results are right and all tensors are the same after the call as before.

    changed: what a student reads if one differs: one text for all tensors, or one for each.
    """

    def check(shared: Asking, student: Student, fresh: Fresh) -> None:
        given = (ask or shared)(student, fresh)
        result, after = given.call.with_arguments(*given.arguments)
        given.expect(result)
        pairs = [
            (found, old) for found, old in zip(after, given.arguments, strict=True) if isinstance(old, torch.Tensor)
        ]
        for (found, old), reason in zip(pairs, changed * len(pairs) if len(changed) == 1 else changed, strict=True):
            expect_same(found, old, reason)

    return case(name, words, sentence, check)
