"""Probes that are derived from hidden tests: what they observe, and what they do not count as a difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from courses import COURSE

from grader.audit.equivalence import DRAWS, SearchResult, Solution, derived_probes
from grader.audit.run import probes_for
from grader.engine.criteria import Criterion
from grader.testing.checks import expect_close, expect_error
from grader.testing.draws import Fresh
from grader.testing.student import Student

Double = Callable[[Any], Any]


def doubles(student: Student, fresh: Fresh) -> None:
    """The numbers should be doubled."""
    x = fresh(3)
    expect_close(student.double(x), 2 * x)


def refuses(student: Student) -> None:
    """A text should be refused."""
    expect_error(lambda: student.double("a"))


def begins(student: Student) -> None:
    """A layer should have weights of any values."""
    student.make("Linear", 2, 3).parameters()
    student.double(1)


def double(x: Any) -> Any:
    if isinstance(x, str):
        raise ValueError(x)
    return 2 * x


def criterion(test: Callable[..., None], unit: str = "sums") -> Criterion:
    return Criterion(unit, "double", test.__name__, "A sentence.", (), test, "1")


def search(other: Double, *tests: Callable[..., None]) -> SearchResult:
    return Solution({"double": double}, derived_probes(map(criterion, tests))).search({"double": other})


def test_an_answer_that_does_the_same_shows_no_difference() -> None:
    assert search(lambda x: double(x), doubles, refuses, begins) == SearchResult(None, 3 * DRAWS)


def test_another_value_is_found_in_the_call_that_returns_it() -> None:
    found = search(lambda x: double(x) + 1, doubles).difference
    assert found == "answer 1, to call: draw 0 of doubles"


def test_a_difference_for_some_inputs_is_found_in_other_draws() -> None:
    found = search(lambda x: double(x) if x.sum() < 2 else x, doubles).difference
    assert found
    assert int(found.partition(": draw ")[2].split()[0]) > 0


def test_both_types_of_refusal_are_the_same() -> None:
    def asserting(x: Any) -> Any:
        assert not isinstance(x, str)
        return 2 * x

    def failing(x: Any) -> Any:
        if isinstance(x, str):
            raise KeyError(x)
        return 2 * x

    assert search(asserting, refuses).difference is None
    assert search(failing, refuses).difference is not None


def test_first_values_of_parameters_are_no_difference() -> None:
    def drawing(x: Any) -> Any:
        torch.rand(1)
        return double(x)

    assert search(drawing, begins).difference is None


def test_handwritten_probes_replace_derived_ones() -> None:
    of_hand = criterion(doubles, "simple_attention")
    assert {draws for _, draws in probes_for(COURSE, "dot_product", [of_hand])} != {DRAWS}
