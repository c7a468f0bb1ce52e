"""Every figure in the quizzes and the practice items that no formula gives is computed again, in another way."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import yaml
from course_quizzes import ITEMS, QUIZZES
from courses import COURSE
from oracles.figures import FIGURES, ORDERS, PRINTED

from grader.quizzes.items import BugItem, OrderItem
from grader.quizzes.questions import PRACTICE_SUFFIX, QUIZ_SUFFIX


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


BY_NAME = {name: item for items in ITEMS.values() for name, item in items.items()}
SOURCES = {
    name: item
    for unit in ITEMS
    for suffix in (QUIZ_SUFFIX, PRACTICE_SUFFIX)
    if suffix == PRACTICE_SUFFIX or unit in QUIZZES
    for name, item in yaml.safe_load((COURSE.solutions / f"{unit}{suffix}").read_text("utf-8"))["items"].items()
}


# The slips that are written out in each variant: formulas know no text and no cases, and round as their item says.
SLIPS: dict[str, dict[str, Callable[[dict[str, Any]], Any]]] = {
    "mix_of_three": {"largest": lambda row: max((row[f"w{i}"], row[f"x{i}"]) for i in (1, 2, 3))[1]},
    "kept_on_average": {"scaled": lambda row: round(row["n"] / (1 - row["p"]), 2)},
    "size_of_a_vocabulary": {
        "length": lambda row: len(row["text"]),
        "without_space": lambda row: len(set(row["text"]) - {" "}),
    },
    "id_of_a_letter": {
        "as_it_appears": lambda row: list(dict.fromkeys(row["text"])).index(row["letter"]),
        "from_one": lambda row: sorted(set(row["text"])).index(row["letter"]) + 1,
    },
}


def test_every_slip_that_is_written_out_has_its_value() -> None:
    for name, item in SOURCES.items():
        for row in item.get("variants", []):
            written = {column: row[column] for column in item.get("slips", {}) if column in row}
            assert written == {column: slip(row) for column, slip in SLIPS.get(name, {}).items()}, name


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


@pytest.mark.parametrize("name", [name for name, item in BY_NAME.items() if item.kind == "bug"])
def test_a_program_prints_what_the_question_says(name: str) -> None:
    item = BY_NAME[name]
    assert isinstance(item, BugItem)
    for is_fixed, pattern in enumerate(PRINTED[name]):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(item.program(fixed=bool(is_fixed)), {"__name__": "__main__"})
        assert re.fullmatch(pattern, output.getvalue().strip())


@pytest.mark.parametrize("name", ORDERS)
def test_steps_are_ordered_by_their_values(name: str) -> None:
    item = BY_NAME[name]
    assert isinstance(item, OrderItem)
    values = [value for step in item.steps for words, value in ORDERS[name].items() if words in step]
    assert len(values) == len(item.steps)
    assert [values["abcdefgh".index(letter)] for letter in item.answer.split()] == sorted(values)
