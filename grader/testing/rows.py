"""Rows: misconceptions written as changes to the text of a solution, and the changed definitions."""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from grader.course.model import Course
from grader.course.modules import definitions_in, names_in, needed_names, shown
from grader.errors import GraderError

RIGHT = "right_"  # the prefix of a right answer that a changed one calls


class MisconceptionError(GraderError):
    """A row cannot be applied, or was not. The message names the row, its file and its line."""


@dataclass(frozen=True)
class Change:
    """Replacements in the text of a solution, applied one after the other: (old, new, how often old occurs)."""

    replacements: tuple[tuple[str, str, int], ...]

    def replace(self, old: str, new: str, times: int = 1) -> Change:
        """Return the same change with one more replacement."""
        return Change((*self.replacements, (old, new, times)))

    def applied(self, text: str) -> str:
        """Return the changed text. Raises ValueError if `old` does not occur `times` times."""
        for old, new, times in self.replacements:
            if text.count(old) != times:
                raise ValueError(f"{old!r} occurs {text.count(old)} times, not {times}")
            text = text.replace(old, new)
        return text


def replace(old: str, new: str, times: int = 1) -> Change:
    """Replace `old`, which occurs `times` times in the definition without its docstrings, by `new`."""
    return Change(()).replace(old, new, times)


@dataclass(frozen=True)
class Row:
    """A misconception written as a change to the solution of each of its exercises."""

    exercises: tuple[str, ...]
    name: str
    change: Change
    sentence: str
    file: Path
    line: int

    @property
    def place(self) -> str:
        """Its file and line."""
        return f"{shown(self.file)}:{self.line}"

    def named_in(self, exercise: str) -> str:
        """Return the name of a changed definition: the row's name, with the exercise if the row has several."""
        return self.name if len(self.exercises) == 1 else f"{self.name}_in_{exercise}"


def row(exercise: str | Sequence[str], name: str, change: Change, sentence: str) -> Row:
    """Make a row of a unit's ROWS.

    Args:
        exercise: The exercise, or several exercises with the same mistake.
        name: The name of the mistake in reports.
        change: The change that makes the solution wrong.
        sentence: Helps a student who made the mistake.
    """
    exercises = (exercise,) if isinstance(exercise, str) else tuple(exercise)
    caller = sys._getframe(1)
    return Row(exercises, name, change, sentence, Path(caller.f_code.co_filename), caller.f_lineno)


def changed_definitions(course: Course, unit: str, rows: Sequence[Row], calls: Mapping[str, Sequence[str]]) -> str:
    """Return the source of a module with the changed definitions, under their rows' names, and all that they need.

    Args:
        course: The course.
        unit: The unit whose solutions are changed.
        rows: The changes.
        calls: The exercises that the changed answers to an exercise call by their public names, by exercise.

    Raises:
        MisconceptionError: A row does not apply, two have one name, or the solution lacks an exercise in `calls`.
    """
    source = course.solutions / f"{unit}.py"
    imports, definitions = _parts_of(source)
    exercises = [name for name, node in definitions.items() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for name in (*calls, *(name for names in calls.values() for name in names)):
        if name not in exercises:
            problem = f"CALLS names {name}, which solutions/{source.name} does not define: correct it."
            raise MisconceptionError(f"{shown(course.suites / unit)}: {problem}")
    right = {name: f"{RIGHT}{name}" for name in exercises}
    changed = []
    taken: dict[str, Row] = {}
    for one in rows:
        for exercise in one.exercises:
            if (first := taken.setdefault(one.named_in(exercise), one)) is not one:
                twice = f"line {first.line} has a row {one.name} too: give one of the two another name."
                raise MisconceptionError(f"{one.place}: {twice}")
            # An exercise that is called by its own name counts as the student's, and can be substituted.
            private = {name: new for name, new in right.items() if name not in calls.get(exercise, ())}
            names = {**private, exercise: one.named_in(exercise)}
            changed.append(_renamed(_changed(source, one, exercise), names))
    used = {name.removeprefix(RIGHT) for name in names_in(*changed)}
    needed = needed_names(used, definitions) & definitions.keys()
    kept = [_renamed(node, right) for name, node in definitions.items() if name in needed]
    public = sorted(needed.intersection(name for names in calls.values() for name in names))
    return "\n".join(
        ['"""Made by `grader build` from the rows of the misconceptions: edit those."""', ""]
        + [ast.unparse(node) for node in (*imports, *kept)]
        + [f"{name} = {RIGHT}{name}" for name in public]
        + [ast.unparse(node) for node in changed]
        + [""]
    )


def changed_by_both(source: Path, pair: Sequence[Row], exercise: str, names: dict[str, str]) -> CodeType | None:
    """Return the compiled definition of an exercise with the changes of two rows, or None if they do not go together.

    Args:
        source: The file of the solution.
        pair: The two rows.
        exercise: The exercise.
        names: The new names of the definitions that it calls, by their names in the solution.
    """
    for one, other in (pair, pair[::-1]):
        # The two together may be no Python, or odd Python.
        with contextlib.suppress(ValueError, SyntaxError), warnings.catch_warnings(action="ignore"):
            [definition] = ast.parse(other.change.applied(one.change.applied(_undocumented(source, exercise)))).body
            return compile(ast.Module([_renamed(definition, names)], []), "two mistakes", "exec")
    return None


def _changed(source: Path, one: Row, exercise: str) -> ast.stmt:
    """Return the definition of an exercise as a row changes it. Raises MisconceptionError."""
    try:
        text = one.change.applied(_undocumented(source, exercise))
        [definition] = ast.parse(text).body
    except ValueError as error:
        problem = f"does not apply: {error}"
    except SyntaxError as error:
        problem = f"is not Python: {error.msg}"
    else:
        return definition
    advice = f"Compare it with {exercise} in solutions/{source.name}."
    raise MisconceptionError(f"{one.place}: the row {one.name} {problem}. {advice}")


def _parts_of(source: Path) -> tuple[list[ast.stmt], dict[str, ast.stmt]]:
    """Return the imports and top-level definitions of a unit's solution, after those of the units that it imports."""
    imports: list[ast.stmt] = [ast.parse("from __future__ import annotations").body[0]]
    definitions: dict[str, ast.stmt] = {}
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom(module=str(other)) if source.with_name(f"{other}.py").is_file():
                more, theirs = _parts_of(source.with_name(f"{other}.py"))
                imports += more[1:]
                definitions |= theirs
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
            case _:
                definitions |= definitions_in([node])
    return imports, definitions


@functools.cache
def _undocumented(source: Path, exercise: str) -> str:
    """Return a definition's text without its docstrings, which no replacement should change. Raises ValueError."""
    text = source.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    found = [node for node in ast.parse(text).body if getattr(node, "name", None) == exercise]
    if not found:
        raise ValueError(f"solutions/{source.name} does not define {exercise}")
    left_out: set[int] = set()
    for node in ast.walk(found[0]):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            left_out.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    kept = range(found[0].lineno, (found[0].end_lineno or 0) + 1)
    return "".join(lines[number - 1] for number in kept if number not in left_out)


def _renamed(node: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """Rename a definition and the names in it, and return it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node.name = names.get(node.name, node.name)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return node
