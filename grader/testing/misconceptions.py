"""Misconceptions: named wrong answers, each with a sentence that helps the student.

They are in `misconceptions.py` beside a unit's hidden tests, or in the files of those tests. Most are rows: changes to
the text of the solution.

    ROWS = [
        row("double", "halved", replace("2 * x", "x / 2"),
            "The number is divided by two. Doubling it multiplies it by two."),
    ]

A changed answer calls right copies of the other exercises, except for those in the unit's CALLS. These are replaced by
substitutes if the student's answer to them is wrong, like the calls in a student's answer.

    CALLS = {"quadruple": ["double"]}

A changed answer may also call the answer of another row of its unit, by the row's name. A misconception that a
replacement cannot express is a function or class marked with `@misconception`.

`build` applies the rows and writes the changed answers to build/misconceptions/; grading only reads those files.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from grader.course.model import Course
from grader.course.modules import described, import_file, shown
from grader.files import write_atomically
from grader.testing.rows import RIGHT, Row, changed_by_both, changed_definitions
from grader.testing.rows import Change as Change  # imported by suites
from grader.testing.rows import MisconceptionError as MisconceptionError
from grader.testing.rows import replace as replace
from grader.testing.rows import row as row

_HAS_ROWS = re.compile(r"\bROWS\b|\brow\(")
_IS_SOURCE = re.compile(r"^(ROWS\b|@misconception\b)", re.MULTILINE)
Implementation = TypeVar("Implementation", bound=Callable[..., Any])


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one exercise, and a sentence that helps the student.

    place: its file and line.
    """

    exercise: str
    name: str
    sentence: str
    implementation: Callable[..., Any]
    place: str


def misconception(exercise: str, sentence: str) -> Callable[[Implementation], Implementation]:
    """Mark a function or class as a known wrong answer to `exercise`, under its own name."""

    def mark(implementation: Implementation) -> Implementation:
        implementation.misconception = exercise, sentence  # type: ignore[attr-defined]
        return implementation

    return mark


def misconceptions_of(course: Course, unit: str) -> list[Misconception]:
    """Return every misconception of a unit: the rows first, then the functions and classes, in their order.

    Raises MisconceptionError if the rows have changed since `build`.
    """
    found = []
    modules = _modules_of(course, unit)
    if written := _rows(modules):
        made = _made(course, unit)
        found += [
            Misconception(exercise, one.name, one.sentence, getattr(made, one.named_in(exercise)), one.place)
            for one in written
            for exercise in one.exercises
        ]
    for module in modules:
        for value in vars(module).values():
            mark = getattr(value, "__dict__", {}).get("misconception")
            if isinstance(mark, tuple):
                exercise, sentence = mark
                place = f"{shown(Path(module.__file__ or ''))}:{_line_of(value)}"
                found.append(Misconception(exercise, value.__name__, sentence, value, place))
    return found


def with_both(
    course: Course, unit: str, exercise: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Callable[..., Any]]]:
    """Yield the solution of an exercise with two mistakes, for each pair that a solution can have.

    It cannot if one of them is no row, or if their changes do not apply to the same text.

    Args:
        course: The course. Its misconceptions are built already.
        unit: The unit of the exercise.
        exercise: The exercise.
        pairs: The names of the two misconceptions of each pair.
    """
    modules = _modules_of(course, unit)
    known = {one.name: one for one in _rows(modules) if exercise in one.exercises}
    pairs = [pair for pair in pairs if known.keys() >= set(pair)]
    if not pairs:  # a unit without rows has no changed answers
        return
    made = vars(_made(course, unit))
    called = _calls(modules).get(exercise, ())
    right = {name.removeprefix(RIGHT): name for name in made if name.startswith(RIGHT)}
    renamed = {name: new for name, new in right.items() if name not in called} | {exercise: exercise}
    for pair in pairs:
        changes = [known[name] for name in pair]
        if definition := changed_by_both(course.solutions / f"{unit}.py", changes, exercise, renamed):
            scope = dict(made)
            exec(definition, scope)
            yield pair, scope[exercise]


def build(course: Course, units: Iterable[str]) -> list[Path]:
    """Apply the rows of these units to their solutions, and write the changed definitions.

    Returns the files that were outdated. Raises MisconceptionError for a row that does not apply, and OSError.
    """
    written = []
    for unit in units:
        path, sources = made_file(course, unit), source_files(course, unit)
        if not sources:
            folder = shown(course.suites / unit)
            raise MisconceptionError(f"{folder}/misconceptions.py is missing: write the unit's misconceptions there.")
        has_rows = any(_HAS_ROWS.search(path.read_text(encoding="utf-8")) for path in sources)
        if has_rows and not _is_current(course, unit):
            path.parent.mkdir(parents=True, exist_ok=True)
            modules = _modules_of(course, unit)
            text = changed_definitions(course, unit, _rows(modules), _calls(modules))
            write_atomically(path, f"# {_digest(course, unit)}\n{text}")
            written.append(path)
    return written


def made_file(course: Course, unit: str) -> Path:
    """Return the file to which `build` writes a unit's changed definitions."""
    return course.caches / "misconceptions" / f"{unit}.py"


# -- files and modules -------------------------------------------------------------------------------------------


def source_files(course: Course, unit: str) -> list[Path]:
    """Return the files with misconceptions of a unit. Searches their texts, because importing them imports torch."""
    return [
        path
        for path in course.misconceptions(unit)
        if path.name == "misconceptions.py" or _IS_SOURCE.search(path.read_text(encoding="utf-8"))
    ]


def _modules_of(course: Course, unit: str) -> list[ModuleType]:
    return [import_file(path) for path in source_files(course, unit)]


def _rows(modules: Sequence[ModuleType]) -> list[Row]:
    """Return the rows of all ROWS. Raises MisconceptionError if it has something else, or a row is elsewhere only."""
    found: list[Row] = []
    for module in modules:
        own = getattr(module, "ROWS", [])
        found += own if isinstance(own, list) else [own]
        if not all(isinstance(one, Row) for one in found):
            file = shown(Path(module.__file__ or ""))
            raise MisconceptionError(f"{file}: ROWS has something else than rows: write `ROWS = [row(…), …]`.")
    for name, value in [pair for module in modules for pair in vars(module).items()]:
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, Row) and one not in found:
                raise MisconceptionError(
                    f"{one.place}: the row {one.name!r} is in {name} and not in ROWS: add it there."
                )
    return found


def _calls(modules: Iterable[ModuleType]) -> dict[str, Sequence[str]]:
    return {name: called for module in modules for name, called in getattr(module, "CALLS", {}).items()}


@functools.cache
def _made(course: Course, unit: str) -> ModuleType:
    path = made_file(course, unit)
    if not _is_current(course, unit):
        raise MisconceptionError(f"{shown(path)} is missing or out of date: run `grader build`.")
    name = f"misconceptions_of_{unit}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        advice = f"It is made from the misconceptions of {unit} and its solution: correct those."
        raise MisconceptionError(f"{described(error, path)} {advice}") from error
    return module


def _is_current(course: Course, unit: str) -> bool:
    try:
        return made_file(course, unit).read_text(encoding="utf-8").startswith(f"# {_digest(course, unit)}\n")
    except OSError:
        return False


def _digest(course: Course, unit: str) -> str:
    """Return the digest of the rows, the solutions, and this module, which applies the rows."""
    total = hashlib.sha256()
    for path in (Path(__file__), *source_files(course, unit), *sorted(course.solutions.glob("*.py"))):
        total.update(path.read_bytes())
    return total.hexdigest()


def _line_of(value: Any) -> int:
    """Return the line on which a function, or the first method of a class, begins."""
    functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
    lines = [one.__code__.co_firstlineno for one in functions if hasattr(one, "__code__")]
    return min(lines, default=1)
