"""The audit puts odd values in the place of right answers: a test that raises then is named with its line."""

from __future__ import annotations

import pytest
import torch
from courses import COURSE

from grader.audit.odd_values import problems
from grader.engine.criteria import Criterion
from grader.testing.checks import equals, expect_one_number, expect_tensor, expect_true
from grader.testing.student import Student
from grader.testing.substitutes import hidden_substitutes


def dot_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def square(x: torch.Tensor) -> torch.Tensor:
    return dot_product(x, x)


ANSWERS = {
    "total": lambda numbers: float(sum(numbers)),
    "double": lambda x: 2 * x,
    "square": square,
    "Layer": torch.nn.Linear,
}


def compares_at_once(student: Student) -> None:
    expect_true(student.total([1, 2]) > 0, "The total should be positive.")


def compares_the_second(student: Student) -> None:
    first = expect_one_number(student.total([1, 2]))
    expect_true(student.total([1, 2, 3]) > first, "The total should grow.")


def compares_draws(student: Student) -> None:
    expect_true(sum(student.total.repeated(5, [1, 2])) == 15, "The totals should be the same.")


def subtracts(student: Student) -> None:
    x = torch.ones(2, 3)
    expect_true(bool((expect_tensor(student.double(x), (2, 3)) - x == x).all()), "The double is another.")


def looks_at_a_width(student: Student) -> None:
    parameters = student.queue("Layer", 2, 3).parameters()
    expect_true(parameters["weight"].shape[1] == 2, "The layer has another width.")


def compares_with_a_substitute(student: Student) -> None:
    right = student.substitute("dot_product", None)
    found = student.square(torch.ones(2))
    expect_true(right is None or found == right(torch.ones(2), torch.ones(2)), "The square is another.")


def checks_first(student: Student) -> None:
    expect_true(expect_one_number(student.total([1, 2])) > 0, "The total should be positive.")
    expect_true(equals(student.total([1]), 1.0), "The total of one number is that number.")
    expect_tensor(student.double(torch.ones(2, 3)), (2, 3))


@pytest.mark.parametrize(
    ("test", "line", "error"),
    [
        (compares_at_once, 1, "TypeError: '>' not supported between instances of 'NoneType' and 'int'."),
        (compares_the_second, 2, "TypeError: '>' not supported"),
        (compares_draws, 1, "TypeError: unsupported operand type(s) for +"),
        (subtracts, 2, "RuntimeError: Subtraction, the `-` operator, with a bool tensor is not supported."),
        (looks_at_a_width, 2, "IndexError: tuple index out of range."),
    ],
)
def test_a_line_that_raises_is_named_with_the_value(test: object, line: int, error: str) -> None:
    criterion = Criterion("answers", "total", "it", "", (), test, COURSE.version)  # type: ignore[arg-type]
    [sentence] = problems([criterion], ANSWERS)
    assert f"test_odd_values.py:{criterion.line + line}: {error}" in sentence
    assert "it raises this if an answer is " in sentence


def test_a_line_that_raises_with_substitutes_alone_is_named_too() -> None:
    criterion = Criterion(
        "answers", "square", "it", "", (), compares_with_a_substitute, COURSE.version, hidden_substitutes(COURSE)
    )
    assert problems([criterion], ANSWERS) == []
    [sentence] = problems([criterion], ANSWERS, ["dot_product"])
    assert f"test_odd_values.py:{criterion.line + 3}: RuntimeError: Boolean value of Tensor" in sentence


def test_a_test_that_checks_its_values_first_has_no_problem() -> None:
    assert problems([Criterion("answers", "total", "it", "", (), checks_first, COURSE.version)], ANSWERS) == []
