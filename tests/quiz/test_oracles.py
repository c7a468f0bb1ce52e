"""Every number and shape in the quizzes is worked out once more, in another way than its author did."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from math import isfinite
from typing import Any

import pytest
import torch
from oracles.slips import SLIPS

from grader.course import ROOT, load_course
from grader.quiz.source import NumberItem, Quiz, ShapeItem, exact, load_quizzes

COURSE = load_course()
QUIZZES = load_quizzes(ROOT / "solutions", [name for name, unit in COURSE.units.items() if unit.quiz])


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def oracles(unit: str) -> dict[str, Callable[..., Any]]:
    module = import_module(f"oracles.{unit}")
    functions = inspect.getmembers(module, inspect.isfunction)
    return {name: function for name, function in functions if function.__module__ == module.__name__}


def worked_out(quiz: Quiz) -> dict[str, NumberItem | ShapeItem]:
    return {name: item for name, item in quiz.items.items() if isinstance(item, NumberItem | ShapeItem)}


ITEMS = [(unit, name) for unit, quiz in QUIZZES.items() for name in worked_out(quiz)]


@pytest.mark.parametrize("unit", QUIZZES)
def test_every_number_and_shape_of_a_quiz_has_its_oracle(unit: str) -> None:
    public = {name for name in oracles(unit) if not name.startswith("_")}
    assert public == set(worked_out(QUIZZES[unit]))


@pytest.mark.parametrize(("unit", "name"), ITEMS)
def test_the_oracle_gives_the_answer_of_every_variant(unit: str, name: str) -> None:
    item = worked_out(QUIZZES[unit])[name]
    oracle = oracles(unit)[name]
    for parameters, row in zip(item.parameters(), item.variants, strict=True):
        found = oracle(**parameters)
        if isinstance(item, ShapeItem):
            assert list(found) == row["answer"], parameters
        else:
            assert isfinite(found)
            # Whoever rounds the true result as asked has to be right, and with room to spare.
            assert abs(Fraction(found) - exact(row["answer"])) <= item.tolerance / 2 + Fraction(1, 10**9), parameters


@pytest.mark.parametrize(("unit", "name"), ITEMS)
def test_every_other_number_of_a_row_is_what_its_slip_comes_to(unit: str, name: str) -> None:
    item = worked_out(QUIZZES[unit])[name]
    for parameters, row in zip(item.parameters(), item.variants, strict=True):
        assert row.keys() - parameters.keys() - {"answer"} == SLIPS[name].keys()
        for column, slip in SLIPS[name].items():
            found, written = slip(row), row[column]
            if isinstance(item, ShapeItem):
                assert found == written, (column, row)
            else:
                assert abs(found - written) <= float(item.tolerance) / 2 + 1e-9, (column, found, row)
