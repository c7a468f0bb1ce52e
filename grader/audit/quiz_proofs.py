"""Proves the answers of quizzes and practice items: computes each in another way, and runs each program both ways."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.course.model import Course
from grader.course.modules import described, import_file, shown
from grader.quizzes.items import BugItem, Item, NumberItem, ShapeItem, exact
from grader.quizzes.questions import QUIZ_SUFFIX
from grader.quizzes.quiz_source import load_practice, load_quizzes
from grader.text import ended

FILENAME = "quiz_oracles.py"
"""In the folder of a unit's suite: a function for each number and shape, which computes the answer."""
MARGIN = Fraction(1, 10**9)


def problems(course: Course, unit: str, needs_all: bool = False) -> list[str]:
    """Return a sentence on each answer of a unit's quiz and practice items that differs from its proof.

    needs_all: Whether a number or shape without an oracle is a problem too.

    Raises:
        GraderError: The file of the oracles cannot be used.
    """
    items, path = _items(course, unit), course.suites / unit / FILENAME
    found = [f"{place}: {name} {problem}" for name, (place, item) in items.items() for problem in _of_program(item)]
    module = import_file(path) if path.is_file() else None
    oracles = _oracles(module)
    for name, oracle in oracles.items():
        place, item = items.get(name, ("", None))
        if isinstance(item, NumberItem | ShapeItem):
            found += [f"{place}: {name} {problem}" for problem in _of_item(item, oracle, path)]
        else:
            line = inspect.unwrap(oracle).__code__.co_firstlineno
            found.append(f"{shown(path)}:{line}: no number or shape of {unit} is named {name}: correct it.")
    for name, (place, item) in items.items() if needs_all else ():
        if isinstance(item, NumberItem | ShapeItem) and name not in oracles:
            wanted = f"write a function {name} in {shown(path)} that computes the answer."
            found.append(f"{place}: {name} has no oracle: {wanted}")
    return found


def _items(course: Course, unit: str) -> dict[str, tuple[str, Item]]:
    """Return the items of a unit's quiz and its practice items by name, each with its file and line."""
    # Also of a quiz that the course leaves out.
    quizzes = load_quizzes(course.solutions, [unit] if (course.solutions / f"{unit}{QUIZ_SUFFIX}").is_file() else [])
    sources = [*quizzes.values(), *load_practice(course.solutions, [unit], quizzes.values()).values()]
    return {name: (quiz.places[name], item) for quiz in sources for name, item in quiz.items.items()}


def _oracles(module: ModuleType | None) -> dict[str, Callable[..., Any]]:
    """Return the functions that a file defines, without its private helpers."""
    return {
        name: one
        for name, one in (vars(module) if module else {}).items()
        if inspect.isfunction(one) and one.__module__ == getattr(module, "__name__", "") and not name.startswith("_")
    }


def _of_item(item: NumberItem | ShapeItem, oracle: Callable[..., Any], path: Path) -> Iterator[str]:
    """Yield what is wrong with the answers of an item."""
    parameters = item.parameters() or [{}] * len(item.variants)
    for number, (asked, row) in enumerate(zip(parameters, item.variants, strict=True)):
        try:
            computed = oracle(**asked)
            is_right = _is_close(item, computed, row["answer"])
        except Exception as error:  # noqa: BLE001 - the author's code can raise anything
            problem = described(error, path, inspect.unwrap(oracle).__code__.co_firstlineno)
            yield f"has an oracle that raises: {problem}"
            return
        if not is_right:
            yield f"has the answer {row['answer']} in variant {number}; {path.name} computes {computed}: correct one."


def _is_close(item: NumberItem | ShapeItem, found: Any, written: Any) -> bool:
    """Return whether an oracle gives what is written: rounded as asked, it must be right with a margin."""
    if isinstance(item, ShapeItem):
        return list(found) == list(written)
    return bool(abs(Fraction(found) - exact(written)) <= item.tolerance / 2 + MARGIN)


def _of_program(item: Item) -> Iterator[str]:
    """Run the program of a bug both ways: it runs, and prints something else with the fix."""
    if not isinstance(item, BugItem):
        return
    outputs = []
    for is_fixed in (False, True):
        which = "with its fix" if is_fixed else "as students see it"
        output = io.StringIO()
        torch.manual_seed(0)
        try:
            with contextlib.redirect_stdout(output):
                exec(compile(item.program(fixed=is_fixed), "program", "exec"), {"__name__": "__main__"})
        except Exception as error:  # noqa: BLE001 - the author's code can raise anything
            yield f"has a program that raises {which}: {ended(f'{type(error).__name__}: {error}')} It should print."
            return
        outputs.append(output.getvalue())
    if not all(outputs):
        yield "has a program that prints nothing: print what shows the mistake."
    elif outputs[0] == outputs[1]:
        yield "has a program that prints the same with its fix: print what shows the mistake."
