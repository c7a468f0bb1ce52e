"""One example of each check function, and the page with all of them, made from these and their docstrings.

The audit feeds odd values to the examples too.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from grader import testing
from grader.audit.odd_values import problems
from grader.engine.criteria import Criterion
from grader.testing.checks import (
    expect_any_error,
    expect_close,
    expect_dtype,
    expect_equal,
    expect_error,
    expect_gradients,
    expect_layer,
    expect_no_bias,
    expect_number,
    expect_one_number,
    expect_same,
    expect_shape,
    expect_tensor,
    expect_true,
    expect_values,
    oracle_gradients,
    remark_ready_made,
)
from grader.testing.contracts import (
    against,
    asking,
    expect_any_layout,
    expect_arguments_kept,
    expect_digits,
    expect_each_alone,
    expect_float64,
    expect_generator_used,
    expect_gradients_fit,
    expect_gradients_of,
    expect_left_alone,
    expect_right,
)
from grader.testing.draws import (
    Fresh,
    expect_count,
    expect_draws_by_state,
    expect_draws_from_a_generator,
    expect_global_draws,
    expect_own_draws,
    expect_used,
)
from grader.testing.student import Student

# ruff: noqa: D101, D102, D103 - each example is named after the function that it shows


# -- the answers that the examples test ---------------------------------------------------------------------------


def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[: len(x) // 2], x[len(x) // 2 :]


def mean(numbers: list[float]) -> float:
    if not numbers:
        raise ValueError("no numbers")
    return sum(numbers) / len(numbers)


def words(text: str) -> list[str]:
    return text.split()


def drop(x: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    return x * (torch.rand(x.shape, generator=generator) < 0.5)


class Layer(nn.Module):
    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: torch.Tensor) -> Any:
        return self.linear(x)


ANSWERS = {one.__name__: one for one in (double, halves, mean, words, drop, Layer)}

# -- the examples: the right result comes from another way than the answer's -----------------------------------------


def example_of_expect_tensor(student: Student, fresh: Fresh) -> None:
    doubles = expect_tensor(student.double(fresh(2, 3)), shape=(2, 3))
    expect_true(bool(doubles.any()), "All doubles are zero.")


def example_of_expect_close(student: Student, fresh: Fresh) -> None:
    x = fresh(2, 3)
    expect_close(student.double(x), x + x, "The doubles")


def example_of_expect_dtype(student: Student, fresh: Fresh) -> None:
    expect_dtype(student.double(fresh(3, dtype=torch.float64)), torch.float64)


def example_of_expect_values(student: Student, fresh: Fresh) -> None:
    x = fresh(4)
    first, second = expect_values(student.halves(x), 2)
    expect_close(first, x.narrow(0, 0, 2), "The first half's numbers")
    expect_close(second, x.narrow(0, 2, 2), "The second half's numbers")


def example_of_expect_number(student: Student, fresh: Fresh) -> None:
    numbers = fresh(5)
    expect_number(student.mean(numbers.tolist()), numbers.mean().item(), within=1e-6)


def example_of_expect_one_number(student: Student) -> None:
    first = expect_one_number(student.mean([1.0, 2.0]))
    second = expect_one_number(student.mean([1.0, 3.0]))
    expect_true(first < second, "The mean should grow with each number.")


def example_of_expect_same(student: Student, fresh: Fresh) -> None:
    x = fresh(4)
    first, _ = expect_values(student.halves(x), 2)
    expect_same(first, x[:2], "The first half should be the first numbers, unchanged.")


def example_of_expect_equal(student: Student) -> None:
    expect_equal(student.words("the cat"), ["the", "cat"], "The words should be those of the text, in their order.")


def example_of_expect_true(student: Student, fresh: Fresh) -> None:
    doubles = expect_tensor(student.double(fresh(5).abs()), (5,))
    expect_true(bool((doubles >= 0).all()), "The double of a positive number should be positive.")


def example_of_expect_error(student: Student) -> None:
    expect_error(lambda: student.mean([]), where="an empty list")


def example_of_expect_any_error(student: Student, fresh: Fresh) -> None:
    layer = student.queue("Layer", 3, 2)
    expect_any_error(lambda: layer(fresh(4)), where="4 numbers where the layer takes 3")


def example_of_expect_gradients(student: Student, fresh: Fresh) -> None:
    x = fresh(2, 3)
    _, found = expect_values(student.double.gradients(x), 2)
    expect_gradients(found, oracle_gradients(lambda x: x + x, [x], {}))


def example_of_remark_ready_made(student: Student, fresh: Fresh) -> None:
    remark_ready_made({"add", "softmax"}, student.double, fresh(3))


def example_of_expect_right(student: Student, fresh: Fresh) -> None:
    ask = asking("double", lambda fresh: (fresh(2, 3),), against(lambda _: lambda x: x + x))
    expect_right(ask(student, fresh))


def example_of_expect_left_alone(student: Student, fresh: Fresh) -> None:
    ask = asking("double", lambda fresh: (fresh(2, 3),), against(lambda _: lambda x: x + x))
    expect_left_alone(ask(student, fresh), "The argument was changed.")


def example_of_expect_gradients_of(student: Student, fresh: Fresh) -> None:
    expect_gradients_of(student, "double", lambda _: lambda x: x + x, [fresh(2, 3)])


def example_of_expect_arguments_kept(student: Student, fresh: Fresh) -> None:
    expect_arguments_kept(student.double, x=fresh(2, 3))


def example_of_expect_each_alone(student: Student, fresh: Fresh) -> None:
    expect_each_alone(student.double, x=fresh(3, 2))


def example_of_expect_any_layout(student: Student, fresh: Fresh) -> None:
    expect_any_layout(student.double, x=fresh(2, 3))


def example_of_expect_float64(student: Student, fresh: Fresh) -> None:
    expect_float64(student.double, x=fresh(2, 3))


def example_of_expect_gradients_fit(student: Student, fresh: Fresh) -> None:
    expect_gradients_fit(student.queue("Layer", 3, 2), parameters=["linear.weight"], x=fresh(4, 3))


def example_of_expect_generator_used(student: Student) -> None:
    expect_generator_used(student, lambda **options: expect_tensor(student.drop(torch.ones(200), **options)))


def example_of_expect_digits(student: Student, fresh: Fresh) -> None:
    expect_digits([expect_tensor(student.double(fresh(3, dtype=torch.float64)))])


def example_of_expect_count(student: Student) -> None:
    kept = expect_tensor(student.drop(torch.ones(1000)), (1000,)) != 0
    expect_count(kept, 0.5, "About half of the numbers should be kept.")


def example_of_expect_own_draws(student: Student) -> None:
    kept = expect_tensor(student.drop(torch.ones(500, 2)), (500, 2)) != 0
    expect_own_draws(kept, {"Both numbers of a row are kept, or none.": kept[:, 0] == kept[:, 1]})


def example_of_expect_draws_from_a_generator(student: Student) -> None:
    def draw(**options: Any) -> torch.Tensor:
        return expect_tensor(student.drop(torch.ones(200), **options))

    expect_draws_from_a_generator(student, draw, other="Two generators give the same draws.")


def example_of_expect_used(student: Student) -> None:
    generator = student.generator(1)
    expect_tensor(student.drop(torch.ones(9), generator=generator))
    expect_used(generator, 1)


def example_of_expect_draws_by_state(student: Student) -> None:
    def draw(**options: Any) -> torch.Tensor:
        return expect_tensor(student.drop(torch.ones(200), **options))

    expect_draws_by_state(student, draw, same="One state gives two draws.", other="Two states give one draw.")


def example_of_expect_global_draws(student: Student) -> None:
    def draw(**options: Any) -> torch.Tensor:
        return expect_tensor(student.drop(torch.ones(200), **options))

    reasons = (
        "`torch.manual_seed` fixes nothing.",
        "Another seed changes nothing.",
        "A second call repeats the first.",
    )
    expect_global_draws(student, draw, *reasons)


def example_of_expect_layer(student: Student) -> None:
    expect_layer(student.queue("Layer", 3, 2).parameters(), "linear", d_in=3, d_out=2)


def example_of_expect_shape(student: Student) -> None:
    weights = student.queue("Layer", 3, 2).parameters()
    expect_true("linear.weight" in weights, "There is no linear.weight.")
    expect_shape(weights["linear.weight"], (2, 3))


def example_of_expect_no_bias(student: Student) -> None:
    expect_no_bias(student.queue("Layer", 3, 2).parameters(), ["linear"])


# -- the page ----------------------------------------------------------------------------------------------------

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
