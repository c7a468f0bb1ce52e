"""Misconceptions: named wrong answers, each with the sentence that helps whoever gave it.

Beside each suite lies `misconceptions.py`. The normal case there is a row: a change to the text of the solution.

    ROWS = [
        row("double", "halved", replace("2 * x", "x / 2"),
            "The number is divided by two. Doubling it multiplies it by two."),
    ]

What a changed answer calls of other exercises are right copies of its own, unless the unit's CALLS names them: those
have substitutes where a student's own answer to them is wrong, as a student's call has.

    CALLS = {"quadruple": ["double"]}

A changed answer may also call that of another row of its unit, by the row's name. Where a replacement will not do, a
misconception is a function or class marked with `@misconception`.

`build` applies the rows and writes what comes of them to build/misconceptions/; grading only reads what is there.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from grader.course.model import Course
from grader.course.modules import import_file
from grader.errors import GraderError
from grader.files import write_atomically

Implementation = TypeVar("Implementation", bound=Callable[..., Any])
RIGHT = "right_"  # in front of the name of a right answer that a changed one calls


class MisconceptionError(GraderError):
    """A row that cannot be applied, or was not; one sentence that names the row, its file and its line."""


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one exercise, and the sentence that helps whoever wrote it.

    place: the file and line where it is written.
    """

    exercise: str
    name: str
    sentence: str
    implementation: Callable[..., Any]
    place: str


class Mark(NamedTuple):
    """What `@misconception` says of the function or class below it."""

    exercise: str
    sentence: str


def misconception(exercise: str, sentence: str) -> Callable[[Implementation], Implementation]:
    """Mark a function or class as a known wrong answer to `exercise`, under its own name."""

    def mark(implementation: Implementation) -> Implementation:
        implementation.misconception = Mark(exercise, sentence)  # type: ignore[attr-defined]
        return implementation

    return mark


@dataclass(frozen=True)
class Change:
    """Replacements in the text of a solution, applied one after the other: (old, new, how often old occurs)."""

    replacements: tuple[tuple[str, str, int], ...]

    def replace(self, old: str, new: str, times: int = 1) -> Change:
        """The same change, and one replacement more."""
        return Change((*self.replacements, (old, new, times)))

    def applied(self, text: str) -> str:
        """The changed text. Raises ValueError where `old` does not occur as often as the change says."""
        for old, new, times in self.replacements:
            if text.count(old) != times:
                raise ValueError(f"{old!r} occurs {text.count(old)} times, not {times}")
            text = text.replace(old, new)
        return text


def replace(old: str, new: str, times: int = 1) -> Change:
    """Replace `old`, which occurs `times` times in the definition, its docstrings left out, by `new`."""
    return Change(()).replace(old, new, times)


@dataclass(frozen=True)
class Row:
    """A misconception written as a change to the solution of each of its exercises."""

    exercises: tuple[str, ...]
    name: str
    change: Change
    sentence: str
    line: int


def row(exercise: str | Sequence[str], name: str, change: Change, sentence: str) -> Row:
    """A row of a unit's ROWS.

    Args:
        exercise: The exercise, or several that have the same mistake under the same name.
        name: What was done, as reports say it.
        change: What makes the solution wrong.
        sentence: What helps a student who made the mistake.
    """
    exercises = (exercise,) if isinstance(exercise, str) else tuple(exercise)
    return Row(exercises, name, change, sentence, sys._getframe(1).f_lineno)


def misconceptions_of(course: Course, unit: str) -> list[Misconception]:
    """Every misconception of a unit: the rows first, then the functions and classes, each in their order.

    Raises MisconceptionError where the rows have changed since `build`.
    """
    module = _module_of(course, unit)
    file = course.shown(course.misconceptions(unit))
    found = []
    if rows := _rows(module):
        made = _made(course, unit)
        for one in rows:
            place = f"{file}:{one.line}"
            found += [
                Misconception(exercise, one.name, one.sentence, getattr(made, _attribute(one, exercise)), place)
                for exercise in one.exercises
            ]
    for value in vars(module).values():
        mark = getattr(value, "__dict__", {}).get("misconception")
        if isinstance(mark, Mark):
            place = f"{file}:{_line_of(value)}"
            found.append(Misconception(mark.exercise, value.__name__, mark.sentence, value, place))
    return found


def build(course: Course, units: Iterable[str]) -> list[Path]:
    """Apply the rows of these units to their solutions, and write the definitions that come of it.

    Returns the files that were out of date. Raises MisconceptionError for a row that does not apply, and OSError.
    """
    written = []
    for unit in units:
        path, source = made_file(course, unit), course.misconceptions(unit)
        if not source.is_file():
            raise MisconceptionError(f"{course.shown(source)} is missing: write the unit's misconceptions there.")
        # Looked at as texts, for the modules import torch.
        if "ROWS" in source.read_text(encoding="utf-8") and not _is_current(course, unit):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, f"# {_digest(course, unit)}\n{_made_text(course, unit)}")
            written.append(path)
    return written


def made_file(course: Course, unit: str) -> Path:
    """Where `build` writes a unit's changed definitions."""
    return course.caches / "misconceptions" / f"{unit}.py"


# -- what rows come to -------------------------------------------------------------------------------------------


def _made_text(course: Course, unit: str) -> str:
    """A module with the changed definitions, under their rows' names, and with all that they need."""
    imports, definitions = _parts_of(course.solutions, unit)
    exercises = [name for name, node in definitions.items() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    calls = _calls(course, unit, exercises)
    right = {name: f"{RIGHT}{name}" for name in exercises}
    changed = []
    for one in _rows(_module_of(course, unit)):
        for exercise in one.exercises:
            # Under its own name, what a changed answer calls would be taken for the student's, and have a substitute.
            private = {name: new for name, new in right.items() if name not in calls.get(exercise, ())}
            changed.append(
                _renamed(_changed(course, unit, one, exercise), {**private, exercise: _attribute(one, exercise)})
            )
    needed = _needed_by(changed, definitions)
    kept = [_renamed(node, right) for name, node in definitions.items() if name in needed]
    public = sorted(needed.intersection(name for names in calls.values() for name in names))
    return "\n".join(
        ['"""Made by `grader build` from the rows in misconceptions.py: edit those."""', ""]
        + [ast.unparse(node) for node in (*imports, *kept)]
        + [f"{name} = {RIGHT}{name}" for name in public]
        + [ast.unparse(node) for node in changed]
        + [""]
    )


def _calls(course: Course, unit: str, exercises: Sequence[str]) -> dict[str, Sequence[str]]:
    """What the changed answers to an exercise call under its public name, by exercise. Raises MisconceptionError."""
    calls: dict[str, Sequence[str]] = getattr(_module_of(course, unit), "CALLS", {})
    for name in (*calls, *(name for names in calls.values() for name in names)):
        if name not in exercises:
            raise MisconceptionError(
                f"{course.shown(course.misconceptions(unit))}: CALLS names {name}, which solutions/{unit}.py does not "
                "define: correct it."
            )
    return calls


def _changed(course: Course, unit: str, one: Row, exercise: str) -> ast.stmt:
    """The definition of an exercise as a row changes it. Raises MisconceptionError."""
    try:
        text = one.change.applied(_undocumented(course.solutions, unit, exercise))
        [definition] = ast.parse(text).body
    except ValueError as error:
        problem = f"does not apply: {error}"
    except SyntaxError as error:
        problem = f"is not Python: {error.msg}"
    else:
        return definition
    raise MisconceptionError(
        f"{course.shown(course.misconceptions(unit))}:{one.line}: the row {one.name} {problem}. "
        f"Compare it with {exercise} in solutions/{unit}.py."
    )


def _parts_of(solutions: Path, unit: str) -> tuple[list[ast.stmt], dict[str, ast.stmt]]:
    """The imports of a unit's solution, and what it defines at its top level, after what it imports of other units."""
    imports: list[ast.stmt] = [ast.parse("from __future__ import annotations").body[0]]
    definitions: dict[str, ast.stmt] = {}
    for node in ast.parse((solutions / f"{unit}.py").read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(other)) if (solutions / f"{other}.py").is_file():
                more, theirs = _parts_of(solutions, other)
                imports += more[1:]
                definitions |= theirs
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                definitions[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                definitions[name] = node
    return imports, definitions


def _undocumented(solutions: Path, unit: str, exercise: str) -> str:
    """The text of a definition without its docstrings, whose words no replacement is meant for. Raises ValueError."""
    text = (solutions / f"{unit}.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    found = [node for node in ast.parse(text).body if getattr(node, "name", None) == exercise]
    if not found:
        raise ValueError(f"solutions/{unit}.py does not define {exercise}")
    left_out: set[int] = set()
    for node in ast.walk(found[0]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            left_out.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    kept = range(found[0].lineno, (found[0].end_lineno or 0) + 1)
    return "".join(lines[number - 1] for number in kept if number not in left_out)


def _renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """The same definition, and all that it mentions, under other names."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node.name = names.get(node.name, node.name)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return node


def _needed_by(changed: Sequence[ast.stmt], definitions: dict[str, ast.stmt]) -> set[str]:
    """The right definitions that these need, directly or not."""
    needed: set[str] = set()
    waiting = [name.removeprefix(RIGHT) for name in _names_in(*changed)]
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in needed:
            needed.add(name)
            waiting += _names_in(definitions[name])
    return needed


def _names_in(*nodes: ast.stmt) -> Iterator[str]:
    return (inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name))


# -- files and modules -------------------------------------------------------------------------------------------


def _attribute(one: Row, exercise: str) -> str:
    """The name of a changed definition: the row's, unless the row is of several exercises."""
    return one.name if len(one.exercises) == 1 else f"{one.name}_in_{exercise}"


def _module_of(course: Course, unit: str) -> ModuleType:
    path = course.misconceptions(unit)
    try:
        return import_file(path)
    except SyntaxError as error:
        raise MisconceptionError(f"{course.shown(path)}:{error.lineno} is not Python: {error.msg}.") from None


def _rows(module: ModuleType) -> list[Row]:
    return list(getattr(module, "ROWS", []))


@functools.cache
def _made(course: Course, unit: str) -> ModuleType:
    path = made_file(course, unit)
    if not _is_current(course, unit):
        raise MisconceptionError(f"{course.shown(path)} is missing or out of date: run `grader build`.")
    name = f"misconceptions_of_{unit}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_current(course: Course, unit: str) -> bool:
    try:
        return made_file(course, unit).read_text(encoding="utf-8").startswith(f"# {_digest(course, unit)}\n")
    except OSError:
        return False


def _digest(course: Course, unit: str) -> str:
    """Of the rows, the solutions and this module."""
    total = hashlib.sha256()
    for path in (Path(__file__), course.misconceptions(unit), *sorted(course.solutions.glob("*.py"))):
        total.update(path.read_bytes())
    return total.hexdigest()


def _line_of(value: Any) -> int:
    """The line on which a function, or the first method of a class, begins."""
    functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
    lines = [one.__code__.co_firstlineno for one in functions if hasattr(one, "__code__")]
    return min(lines, default=1)
