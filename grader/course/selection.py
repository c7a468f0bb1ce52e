"""Find the tests and pictures of exercises that autograder.yml leaves out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from grader.course.model import Course, left_out

if TYPE_CHECKING:
    from collections.abc import Collection

    import pytest


def deselect(items: list[pytest.Item], course: Course) -> None:
    """Remove the tests of exercises that autograder.yml leaves out. Misspelt names stay, and are refused later."""
    missing = left_out(course)
    if missing:
        items[:] = [item for item in items if not _is_left_out(item, missing)]


def _is_left_out(item: pytest.Item, missing: dict[str, list[str]]) -> bool:
    if mark := item.get_closest_marker("exercise"):
        return not set(missing.get(item.path.parent.name, [])).isdisjoint(mark.args)
    names = set(missing.get(item.path.stem.removeprefix("test_"), []))
    return item.location[2].partition("[")[0] in tests_left_out(item.path.read_text(encoding="utf-8"), names)


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
