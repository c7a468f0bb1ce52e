"""The lines of a submission and its statements, by the label that tracebacks give a source."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from grader.engine.newer_syntax import Statement, newer_statements
from grader.sandbox.pieces import fix_indentation, split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from grader.sandbox.client import Source

LONGEST_LINE = 120
# In characters. A larger source, which no exercise needs, takes long to parse.
LARGEST_SOURCE = 200_000
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
Definition = ast.FunctionDef | ast.ClassDef


class SourceLines:
    """The lines of a submission, by the label that tracebacks give a source, and its top-level statements."""

    def __init__(self, sources: Mapping[str, Source], exercises: Mapping[str, Collection[str]] | None = None) -> None:
        """Take the sources of all units, and the exercises of each unit of the course."""
        self._sources = sources
        self.exercises = exercises or {}
        self._cells: dict[str, tuple[str, bool]] = {}
        self._lines: dict[str, list[str]] = {}
        self._statements: dict[str, list[ast.stmt]] = {}
        self._newer: dict[str, dict[int, Statement]] = {}
        self._names: dict[str, list[tuple[str, int]]] = {}
        for source in sources.values():
            cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
            for label, cell in zip(source.labels, cells, strict=False):
                self._cells[label] = cell, source.is_notebook
                self._lines[label] = cell.split("\n")

    def text(self, file: str | None, line: int | None) -> str:
        """Return the text of a line, without its indentation; "" if there is no such line."""
        lines = self._lines.get(file or "", [])
        text = lines[line - 1].strip() if line and 0 < line <= len(lines) else ""
        return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"

    def column(self, name: str, file: str | None, line: int) -> int:
        """Return the column of a name in a line, from 1; 0 if it is not there."""
        found = re.search(rf"\b{re.escape(name)}\b", self._lines[file or ""][line - 1])
        return found.start() + 1 if found else 0

    def count(self, text: str, file: str | None) -> int:
        """Return how many lines of a source have a text."""
        return sum(text in line for line in self._lines.get(file or "", []))

    def names(self, file: str | None) -> list[tuple[str, int]]:
        """Return the names in the code of a source, each with its line."""
        if (file or "") not in self._names:
            nodes = (node for statement in self._of(file or "") for node in ast.walk(statement))
            found = ((getattr(node, name, None), node) for node in nodes for name in ("id", "attr", "arg", "name"))
            self._names[file or ""] = [
                (name, node.lineno)  # type: ignore[attr-defined]
                for name, node in found
                if isinstance(name, str)
            ]
        return self._names[file or ""]

    def around(self, file: str | None, line: int | None) -> list[ast.AST]:
        """Return the definitions and statements that contain a line, the outermost first."""
        found: list[ast.AST] = []
        inside: list[ast.AST] = list(self._of(file)) if file and line else []
        while node := next((one for one in inside if _contains(one, line or 0)), None):
            found.append(node)
            inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.excepthandler)]
        return found

    def definitions(self, unit: str) -> list[tuple[str, Definition]]:
        """Return the functions and classes of a unit, each with the label of its source."""
        labels = self._sources[unit].labels if unit in self._sources else ()
        return [(label, node) for label in labels for node in self._of(label) if isinstance(node, DEFINITIONS)]

    def unit_of(self, file: str | None) -> str | None:
        """Return the unit that a source belongs to, if it is one of the submission."""
        return next((unit for unit, source in self._sources.items() if file in source.labels), None)

    def import_of(self, name: str, unit: str | None) -> str | None:
        """Return the import that a unit needs for another unit or its exercise; None if it is neither."""
        if name in self.exercises and name != unit:
            return f"import {name}"
        others = (other for other, exercises in self.exercises.items() if name in exercises and other != unit)
        return next((f"from {other} import {name}" for other in others), None)

    def names_at_top(self, file: str) -> set[str]:
        """Return the names that a source defines outside functions and classes."""
        return {name for node in self._of(file) for name in _bound(node)}

    def newer(self, file: str | None, line: int | None) -> Statement | None:
        """Return the statement at a line, if only a newer Python can read it."""
        if not file or not line:
            return None
        if file not in self._newer:
            self._newer[file] = newer_statements(*self._source(file))
        return self._newer[file].get(line)

    def _source(self, file: str) -> tuple[str, bool]:
        """Return a source, "" if there is none or it is too large, and whether it is a cell of a notebook."""
        cell, is_notebook = self._cells.get(file, ("", False))
        return (cell if len(cell) <= LARGEST_SOURCE else ""), is_notebook

    def _of(self, file: str) -> list[ast.stmt]:
        if file not in self._statements:
            pieces = split(*self._source(file))
            self._statements[file] = [node for piece in pieces if piece.tree for node in piece.tree.body]
        return self._statements[file]


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, DEFINITIONS):
        yield node.name
    else:
        yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def _contains(node: ast.AST, line: int) -> bool:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
    last: int = node.end_lineno or node.lineno  # type: ignore[attr-defined]
    return bool(first <= line <= last)
