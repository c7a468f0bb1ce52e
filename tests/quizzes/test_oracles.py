"""Every number and shape in the quizzes is computed again, in another way."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from math import isfinite
from typing import Any

import pytest
import torch
import yaml
from courses import COURSE, REPOSITORY
from oracles.figures import FIGURES, ORDERS, PRINTED
from oracles.slips import SLIPS

from grader.quizzes.items import BugItem, NumberItem, OrderItem, ShapeItem, exact
from grader.quizzes.source import Quiz, load_quizzes

QUIZZES = load_quizzes(REPOSITORY / "solutions", [name for name, unit in COURSE.units.items() if unit.quiz])


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


def recomputed(quiz: Quiz) -> dict[str, NumberItem | ShapeItem]:
    return {name: item for name, item in quiz.items.items() if isinstance(item, NumberItem | ShapeItem)}


ITEMS = [(unit, name) for unit, quiz in QUIZZES.items() for name in recomputed(quiz)]


@pytest.mark.parametrize("unit", QUIZZES)
def test_every_number_and_shape_of_a_quiz_has_its_oracle(unit: str) -> None:
    public = {name for name in oracles(unit) if not name.startswith("_")}
    assert public == set(recomputed(QUIZZES[unit]))


@pytest.mark.parametrize(("unit", "name"), ITEMS)
def test_the_oracle_gives_the_answer_of_every_variant(unit: str, name: str) -> None:
    item = recomputed(QUIZZES[unit])[name]
    oracle = oracles(unit)[name]
    for parameters, row in zip(item.parameters(), item.variants, strict=True):
        found = oracle(**parameters)
        if isinstance(item, ShapeItem):
            assert list(found) == row["answer"], parameters
        else:
            assert isfinite(found)
            # The true result, rounded as asked, must be right with a margin.
            assert abs(Fraction(found) - exact(row["answer"])) <= item.tolerance / 2 + Fraction(1, 10**9), parameters


@pytest.mark.parametrize(("unit", "name"), ITEMS)
def test_every_slip_has_the_value_of_its_formula(unit: str, name: str) -> None:
    item = recomputed(QUIZZES[unit])[name]
    for parameters, row in zip(item.parameters(), item.variants, strict=True):
        assert row.keys() - parameters.keys() - {"answer"} == SLIPS[name].keys()
        for column, slip in SLIPS[name].items():
            found, written = slip(row), row[column]
            if isinstance(item, ShapeItem):
                assert found == written, (column, row)
            else:
                assert abs(found - written) <= float(item.tolerance) / 2 + 1e-9, (column, found, row)


SOURCES = {
    name: item
    for unit in QUIZZES
    for name, item in yaml.safe_load((REPOSITORY / "solutions" / f"{unit}_quiz.yml").read_text("utf-8"))[
        "items"
    ].items()
}


def text(item: dict[str, Any], *keys: str) -> str:
    """The texts in an item, its choices and its lines under these keys."""
    parts = [item, *item.get("choices", []), *item.get("lines", {}).values()]
    return " ".join(str(part[key]) for part in parts for key in keys if key in part)


@pytest.mark.parametrize("name", SOURCES)
def test_every_other_decimal_of_an_item_is_recomputed(name: str) -> None:
    given = text(SOURCES[name], "question", "text", "steps", "code", "fix")
    later = text(SOURCES[name], "explanation", "sentence", "slips")
    figures = FIGURES.get(name, {})
    decimals = re.compile(r"(?<![\w.*])\d+\.\d+")  # not the exponent in a program
    assert set(decimals.findall(later)) <= {*decimals.findall(given), *figures}
    for written, value in figures.items():
        assert re.search(rf"(?<![\w.,]){re.escape(written)}(?![.,]?\d)", f"{given} {later}"), written
        number = written.replace(",", "").replace("−", "-")
        assert abs(value - float(number)) <= 10.0 ** -len(number.partition(".")[2]) / 2 + 1e-9, written


@pytest.mark.parametrize(
    "name", [name for quiz in QUIZZES.values() for name, i in quiz.items.items() if i.kind == "bug"]
)
def test_a_program_prints_what_the_question_says(name: str) -> None:
    [item] = [quiz.items[name] for quiz in QUIZZES.values() if name in quiz.items]
    assert isinstance(item, BugItem)
    for is_fixed, pattern in enumerate(PRINTED[name]):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(item.program(fixed=bool(is_fixed)), {"__name__": "__main__"})
        assert re.fullmatch(pattern, output.getvalue().strip())


@pytest.mark.parametrize("name", ORDERS)
def test_steps_are_ordered_by_their_values(name: str) -> None:
    [item] = [quiz.items[name] for quiz in QUIZZES.values() if name in quiz.items]
    assert isinstance(item, OrderItem)
    values = [value for step in item.steps for words, value in ORDERS[name].items() if words in step]
    assert len(values) == len(item.steps)
    assert [values["abcdefgh".index(letter)] for letter in item.answer.split()] == sorted(values)
