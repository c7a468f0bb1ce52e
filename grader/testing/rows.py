"""Rows: misconceptions written as changes to the text of a solution, and the definitions that these come to."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grader.course.model import Course

RIGHT = "right_"  # in front of the name of a right answer that a changed one calls


class MisconceptionError(GraderError):
    """A row that cannot be applied, or was not; one sentence that names the row, its file and its line."""


@dataclass(frozen=True)
class Change:
    """Replacements in the text of a solution, applied one after the other: (old, new, how often old occurs)."""

    replacements: tuple[tuple[str, str, int], ...]

    def replace(self, old: str, new: str, times: int = 1) -> Change:
        """Return the same change, and one replacement more."""
        return Change((*self.replacements, (old, new, times)))

    def applied(self, text: str) -> str:
        """Return the changed text. Raises ValueError where `old` does not occur as often as the change says."""
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
    file: Path
    line: int


def row(exercise: str | Sequence[str], name: str, change: Change, sentence: str) -> Row:
    """Make a row of a unit's ROWS.

    Args:
        exercise: The exercise, or several that have the same mistake under the same name.
        name: What was done, as reports say it.
        change: What makes the solution wrong.
        sentence: What helps a student who made the mistake.
    """
    exercises = (exercise,) if isinstance(exercise, str) else tuple(exercise)
    caller = sys._getframe(1)
    return Row(exercises, name, change, sentence, Path(caller.f_code.co_filename), caller.f_lineno)


def changed_definitions(course: Course, unit: str, rows: Sequence[Row], calls: Mapping[str, Sequence[str]]) -> str:
    """Return a module with the changed definitions, under their rows' names, and with all that they need.

    Args:
        course: The course.
        unit: The unit whose solutions are changed.
        rows: The changes.
        calls: What the changed answers to an exercise call under its public name, by exercise.

    Raises:
        MisconceptionError: A row does not apply, or a call is of nothing that the solution defines.
    """
    source = course.solutions / f"{unit}.py"
    imports, definitions = _parts_of(source)
    exercises = [name for name, node in definitions.items() if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for name in (*calls, *(name for names in calls.values() for name in names)):
        if name not in exercises:
            raise MisconceptionError(
                f"{course.shown(course.suites / unit)}: CALLS names {name}, which solutions/{source.name} does not "
                "define: correct it."
            )
    right = {name: f"{RIGHT}{name}" for name in exercises}
    changed = []
    for one in rows:
        for exercise in one.exercises:
            # Under its own name, what a changed answer calls would be taken for the student's, and have a substitute.
            private = {name: new for name, new in right.items() if name not in calls.get(exercise, ())}
            changed.append(
                _renamed(_changed(course, source, one, exercise), {**private, exercise: attribute(one, exercise)})
            )
    needed = _needed_by(changed, definitions)
    kept = [_renamed(node, right) for name, node in definitions.items() if name in needed]
    public = sorted(needed.intersection(name for names in calls.values() for name in names))
    return "\n".join(
        ['"""Made by `grader build` from the rows of the misconceptions: edit those."""', ""]
        + [ast.unparse(node) for node in (*imports, *kept)]
        + [f"{name} = {RIGHT}{name}" for name in public]
        + [ast.unparse(node) for node in changed]
        + [""]
    )


def _changed(course: Course, source: Path, one: Row, exercise: str) -> ast.stmt:
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
    raise MisconceptionError(
        f"{course.shown(one.file)}:{one.line}: the row {one.name} {problem}. "
        f"Compare it with {exercise} in solutions/{source.name}."
    )


def _parts_of(source: Path) -> tuple[list[ast.stmt], dict[str, ast.stmt]]:
    """Return the imports of a unit's solution, and what it defines at top level, after what it imports of others."""
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
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                definitions[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                definitions[name] = node
    return imports, definitions


def _undocumented(source: Path, exercise: str) -> str:
    """Return a definition's text without its docstrings, whose words no replacement is meant for. Raises ValueError."""
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
    """Return the same definition, and all that it mentions, under other names."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        node.name = names.get(node.name, node.name)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = names.get(inner.id, inner.id)
    return node


def _needed_by(changed: Sequence[ast.stmt], definitions: dict[str, ast.stmt]) -> set[str]:
    """Return the right definitions that these need, directly or not."""
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


def attribute(one: Row, exercise: str) -> str:
    """Return the name of a changed definition: the row's, unless the row is of several exercises."""
    return one.name if len(one.exercises) == 1 else f"{one.name}_in_{exercise}"
