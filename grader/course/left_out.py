"""Find what autograder.yml leaves out: units and exercises, their tests and pictures, and the cells that need them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection
from typing import TYPE_CHECKING

from grader.course.model import Course, definitions
from grader.course.modules import names_in
from grader.course.root import FILENAME
from grader.sandbox.statements import first_line
from grader.submissions.notebook import marks_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from nbformat import NotebookNode


def left_out(course: Course) -> dict[str, list[str]]:
    """Return what the solutions define and autograder.yml does not list, by unit.

    A unit that is not listed is included with all its definitions. Without solutions the result is empty: students
    receive nothing that is left out.
    """
    missing = {}
    for path in sorted(course.solutions.glob("*.py")):
        unit = course.units.get(path.stem)
        try:
            names = [name for name in definitions(path) if unit is None or name not in unit.exercises]
        except (SyntaxError, ValueError):
            names = []  # only in a unit that is not listed: load_course has read the others
        if names or unit is None:
            missing[path.stem] = names
    return missing


def describe_left_out(course: Course) -> list[str]:
    """Return a sentence on each unit and exercise that autograder.yml leaves out, and on what depends on it."""
    sentences = []
    users = {
        name: names_in(definition)
        for unit, described in course.units.items()
        if course.solutions.is_dir()
        for name, definition in definitions(course.solutions / f"{unit}.py").items()
        if name in described.exercises
    }
    for unit, names in left_out(course).items():
        what = [f"{unit}/{name}" for name in names] if unit in course.units else [f"the unit {unit}"]
        sentences.append(f"{FILENAME} leaves out {', '.join(what)}.")
        for name in names:
            if others := [user for user, used in users.items() if name in used]:
                sentences.append(
                    f"{', '.join(others)} builds on {name}: students write what they need of it themselves. "
                    "To ask for it without points, give it the weight 0."
                )
    return sentences


def deselect(items: list[pytest.Item], course: Course) -> None:
    """Remove the tests of exercises that autograder.yml leaves out. Misspelt names stay, and are refused later."""
    missing = left_out(course)

    @functools.cache
    def removed(path: Path) -> Collection[str]:
        return tests_left_out(path.read_text(encoding="utf-8"), missing.get(path.stem.removeprefix("test_"), []))

    def is_left_out(item: pytest.Item) -> bool:
        if item.path.stem.removeprefix("test_") in missing.keys() - course.units.keys():
            return True  # all visible tests of a unit
        if item.get_closest_marker("rule"):  # a hidden test, in a file that is named after its exercise
            return item.path.stem in missing.get(item.path.parent.name, [])
        return item.location[2].partition("[")[0] in removed(item.path)

    if missing:
        items[:] = [item for item in items if not is_left_out(item)]


def tests_left_out(text: str, names: Collection[str]) -> dict[str, ast.FunctionDef]:
    """Return the visible tests or pictures, and their helpers, that are about these exercises or call them."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    found: dict[str, ast.FunctionDef] = {}
    while more := {
        name: node
        for name, node in functions.items()
        if name not in found and any(_needs(one, names, found) for one in ast.walk(node))
    }:
        found |= more
    return found


def _needs(node: ast.AST, names: Collection[str], helpers: Collection[str]) -> bool:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="example") | ast.Name(id="picture" | "question"),
            args=[ast.Constant(value=str(name))],
        ):
            return name in names
        case ast.Attribute(value=ast.Name(id="student"), attr=name):
            return name in names
        case ast.Name(id=name):
            return name in helpers
    return False


def cells_listed(cells: list[NotebookNode], names: set[str]) -> list[NotebookNode]:
    """Return the cells without what defines or needs these names. The first text, about the unit, stays."""
    starts = [index for index, cell in enumerate(cells) if index == 0 or cell.cell_type == "markdown"]
    kept: list[NotebookNode] = []
    for start, end in zip(starts, [*starts[1:], len(cells)], strict=True):
        text, code = cells[start : start + 1], cells[start + 1 : end]
        listed = [cell for cell in code if _leave_out(cell, names)]
        if listed or not code or start == 0:
            kept += [*text, *listed]
    return kept


def imports_left_out(text: str, missing: dict[str, list[str]], course: Course) -> set[str]:
    """Return the names by which a unit's source imports what other units leave out."""
    return {
        alias.asname or alias.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and node.module in missing
        for alias in node.names
        if node.module not in course.units or alias.name in missing[node.module]
    }


def _leave_out(cell: NotebookNode, names: set[str]) -> bool:
    """Remove the statements that define or need these names from a code cell, and return whether others are left.

    Statements in an answer cell may need them: students replace these statements anyway.
    """
    lines = cell.source.splitlines()
    is_answer = marks_of(cell).get("solution", False)
    for node in reversed(ast.parse(cell.source).body):
        replacement: list[str] = []
        if isinstance(node, ast.ImportFrom):
            aliases = [alias for alias in node.names if (alias.asname or alias.name) not in names]
            if len(aliases) == len(node.names):
                continue
            if aliases:
                replacement = [ast.unparse(ast.ImportFrom(node.module, aliases, node.level))]
        elif getattr(node, "name", None) not in names and (is_answer or not names & names_in(node)):
            continue
        lines[first_line(node) - 1 : node.end_lineno] = replacement
    cell.source = "\n".join(lines)
    return bool(ast.parse(cell.source).body)
