"""The page of the check functions, made from their docstrings and examples, and the odd values that the audit tries."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from grader import testing
from grader.audit.check_examples import ANSWERS
from grader.audit.odd_values import problems
from grader.engine.criteria import Criterion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OF = "example_of_"

INTRODUCTION = """\
# Check functions

You write a test, and want to know what it may call. A test calls the student's code through `student`, and checks what
comes back with these functions. Each raises `CheckFailed` with a sentence for the student if the check fails. Import
them from the module in the heading.

The examples test `double(x)`, `halves(x)`, `mean(numbers)`, `words(text)`, `drop(x, generator=None)`, which keeps about
half of the numbers, and the module `Layer(d_in, d_out)`. `fresh(2, 3)` draws an input. The tests of the grader run
each example, and compare this page with the functions. [Write an exercise](write-an-exercise.md) shows a whole test.

A check function takes whatever an answer gives: `None`, text, another shape. Your own code between the call and the
check may not: `student.mean([1]) > 0` raises a TypeError if the answer gives text. Check the value first, for example
with `expect_tensor` or `expect_number`. If a test itself raises, the solution tells whose fault it is: with the
solution's values too, the submission is not graded; with the answer's alone, its point is lost, and `grader grade`
prints the line. `grader audit` feeds odd values to every test, and fails if one raises.
"""


def public_checks() -> dict[str, Callable[..., Any]]:
    """Return the check functions that suites may call, by name, module by module."""
    found = {}
    for module in sorted(pkgutil.iter_modules(testing.__path__), key=lambda one: one.name):
        functions = vars(importlib.import_module(f"{testing.__name__}.{module.name}"))
        for name, function in functions.items():
            is_own = getattr(function, "__module__", "") == f"{testing.__name__}.{module.name}"
            if is_own and name.startswith(("expect_", "remark_")):
                found[name] = function
    return found


def criteria() -> list[Criterion]:
    """Return the examples as tests of the answers."""
    examples = {name: one for name, one in globals().items() if name.startswith(OF)}
    return [Criterion("answers", "example", name.removeprefix(OF), "", (), one, "1") for name, one in examples.items()]


def check_problems() -> list[str]:
    """Return a sentence on each check function that raises with an odd value."""
    return problems(criteria(), ANSWERS)


def page() -> str:
    """Return docs/check-functions.md."""
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    module = ""
    for name, function in public_checks().items():
        if function.__module__ != module:
            module = function.__module__
            yield f"## {module}\n\n{(sys.modules[module].__doc__ or '').splitlines()[0]}\n"
        example = globals()[f"{OF}{name}"]
        lines = inspect.getsource(example).split("\n", 1)[1]
        text = inspect.getdoc(function) or ""
        yield f"### {name}\n\n{text}\n\n```python\n{textwrap.dedent(lines).rstrip()}\n```\n"
