"""The lines of a submission and its statements, by the label that tracebacks give a source."""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from grader.engine.newer_python import Statement, needing, newer_statements
from grader.sandbox.failures import NOT_PYTHON, FailedStatement
from grader.sandbox.pieces import fix_indentation, split
from grader.sandbox.statements import Piece, first_line, is_text, typed

if TYPE_CHECKING:
    from grader.sandbox.sandbox_client import Source  # it imports torch, and a check by the spare process must not

LONGEST_LINE = 120
# In characters. A larger source, which no exercise needs, takes long to parse.
LARGEST_SOURCE = 200_000
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What has names of its own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *COMPREHENSIONS)
Definition = ast.FunctionDef | ast.ClassDef
# What begins a definition, or is meant to.
BEGINNING = r"(?i:(?:async[ \t]+)?def(?:ine)?|class|fn|func?|function)"


def would_define(text: str, name: str, is_indented: bool) -> bool:
    """Return whether a line of a text defines or imports a name, although it may be no Python: `Def name():`.

    is_indented: Whether the line may be indented, quoted as in a mail, or a line of a notebook's file.
    """
    if not text.isascii():
        text = typed("".join(one for one in text if unicodedata.category(one) != "Cf"))
    name = re.escape(name)
    begin = r"^[ \t>\"']*" if is_indented else "^"
    header = rf"{BEGINNING}[ \t]+{name}\b|\w+[ \t]+{name}[ \t]*\(.*:[ \t]*$"
    line = rf"{begin}(?:{header}|{name}[ \t]*[:=]|(?:from|import)\b.*\b{name}\b)"
    return re.search(line, text, re.MULTILINE) is not None


class SourceText:
    """One source of a submission: a script, or a cell of a notebook. code: its text; "" if it is too large to parse."""

    def __init__(self, text: str = "", is_notebook: bool = False) -> None:
        """Take the text."""
        self.lines = text.split("\n") if text else []
        self.code = text if len(text) <= LARGEST_SOURCE else ""
        self._is_notebook = is_notebook

    @functools.cached_property
    def pieces(self) -> list[Piece]:
        """Its top-level statements, and what is no Python."""
        return split(self.code, self._is_notebook)

    @functools.cached_property
    def statements(self) -> list[ast.stmt]:
        """Its top-level statements."""
        return [node for piece in self.pieces if piece.tree for node in piece.tree.body]

    @functools.cached_property
    def newer(self) -> dict[int, Statement]:
        """The statements that only a newer Python can read, by each of their lines."""
        return newer_statements(self.code, self._is_notebook)

    @functools.cached_property
    def names(self) -> list[tuple[str, int]]:
        """The names in its code, each with its line."""
        nodes = (node for statement in self.statements for node in ast.walk(statement))
        found = ((getattr(node, name, None), node) for node in nodes for name in ("id", "attr", "arg", "name"))
        return [(name, node.lineno) for name, node in found if isinstance(name, str)]  # type: ignore[attr-defined]

    def line(self, number: int) -> str:
        """Return a line; "" if there is no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def around(self, number: int) -> list[ast.stmt | ast.excepthandler]:
        """Return the definitions and statements that contain a line, the outermost first."""
        found: list[ast.stmt | ast.excepthandler] = []
        inside: list[ast.stmt | ast.excepthandler] = [*self.statements]
        while node := next((one for one in inside if _contains(one, number)), None):
            found.append(node)
            inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.excepthandler)]
        return found

    def is_below_statement(self, number: int) -> bool:
        """Return whether what is above a line is a whole statement, or nothing: the line begins a statement."""
        begins = [place for place, text in enumerate(self.lines[: max(number - 1, 0)], 1) if re.match(r"[^\s#]", text)]
        return not begins or bool(self.around(begins[-1]))


class SourceLine:
    """A line of a submission, if there is one. unit: its unit, if the source is one of the submission."""

    def __init__(self, lines: SourceLines, file: str | None, number: int | None) -> None:
        """Take the submission, and where the line is."""
        self.lines, self.file, self.number = lines, file, number or 0
        self.source, self.unit = lines.source(file), lines.unit_of(file)

    @property
    def text(self) -> str:
        """Its text, without the indentation and of limited length; "" if there is no such line."""
        text = self.source.line(self.number).strip()
        return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"

    @property
    def is_text(self) -> bool:
        """Whether it is words and no Python."""
        return is_text(self.source.line(self.number))

    @functools.cached_property
    def around(self) -> list[ast.stmt | ast.excepthandler]:
        """The definitions and statements that contain it, the outermost first."""
        return self.source.around(self.number)

    @property
    def owner(self) -> str:
        """The name of the top-level function or class that contains it, or ""."""
        return getattr(self.around[0], "name", "") if self.around else ""


class SourceLines:
    """The lines of a submission, by the label that tracebacks give a source, and its top-level statements."""

    def __init__(self, sources: Mapping[str, Source], exercises: Mapping[str, Collection[str]] | None = None) -> None:
        """Take the sources of all units, and the exercises of each unit of the course."""
        self._sources = sources
        self.exercises = exercises or {}
        self._texts: dict[str | None, SourceText] = {}
        self._nested: dict[str, dict[str, tuple[str, ast.stmt, Definition]]] = {}
        self._bindings: dict[str, dict[str, list[tuple[str, ast.stmt, ast.AST]]]] = {}
        for source in sources.values():
            cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
            for label, cell in zip(source.labels, cells, strict=False):
                self._texts[label] = SourceText(cell, source.is_notebook)

    def source(self, file: str | None) -> SourceText:
        """Return a source; an empty one if the submission has none with this label."""
        return self._texts.get(file) or SourceText()

    def at(self, file: str | None, line: int | None) -> SourceLine:
        """Return a line."""
        return SourceLine(self, file, line)

    def definitions(self, unit: str) -> list[tuple[str, Definition]]:
        """Return the functions and classes of a unit, each with the label of its source."""
        return [(label, node) for label, node in self.statements(unit) if isinstance(node, DEFINITIONS)]

    def would_define(self, lost: FailedStatement, name: str) -> bool:
        """Return whether a statement that is no Python has a line that would define a name."""
        text = self.source(lost.file)
        begins = [piece.line - 1 for piece in text.pieces]
        place = bisect.bisect_left(begins, lost.line or 1)
        begin, end = [0, *begins][place], [*begins, len(text.lines)][place]
        return would_define("\n".join(text.lines[begin:end]), name, not lost.names)

    def sources(self, unit: str) -> Iterator[tuple[str, str]]:
        """Yield the label and the text of each source of a unit."""
        yield from ((label, self.source(label).code) for label in self._sources[unit].labels)

    def classes(self, name: str) -> list[ast.ClassDef]:
        """Return the classes with a name, of all units."""
        return [node for node in self._named(name) if isinstance(node, ast.ClassDef)]

    def functions(self, name: str) -> list[ast.FunctionDef]:
        """Return the functions with a name, of all units."""
        return [node for node in self._named(name) if isinstance(node, ast.FunctionDef)]

    def _named(self, name: str) -> list[Definition]:
        return [node for unit in self._sources for _, node in self.definitions(unit) if node.name == name]

    def unit_of(self, file: str | None) -> str | None:
        """Return the unit that a source belongs to, if it is one of the submission."""
        return next((unit for unit, source in self._sources.items() if file in source.labels), None)

    def filename(self, unit: str) -> str:
        """Return the name of a unit's file."""
        return self._sources[unit].filename

    def import_of(self, name: str, unit: str | None) -> str | None:
        """Return the import that a unit needs for another unit or its exercise; None if it is neither."""
        if name in self.exercises and name != unit:
            return f"import {name}"
        others = (other for other, exercises in self.exercises.items() if name in exercises and other != unit)
        return next((f"from {other} import {name}" for other in others), None)

    def names_at_top(
        self, unit: str | None, lost: Sequence[FailedStatement] = (), before: SourceLine | None = None
    ) -> set[str]:
        """Return the names that a unit has outside functions and classes when it is imported.

        Args:
            unit: The unit.
            lost: The statements of the unit that failed.
            before: The line of a statement, if only the names are wanted that it can use.
        """
        missing = {name for one in lost for name in one.names if name not in one.kept}

        def is_above(statement: tuple[str, ast.stmt]) -> bool:
            label, node = statement
            return not before or label != before.file or (node.end_lineno or node.lineno) < before.number

        statements = itertools.takewhile(is_above, self.statements(unit))
        nodes = itertools.chain.from_iterable(on_import(node) for _, node in statements)
        return {name for node in in_scope(nodes) for name in bound_by(node)} - missing

    def bindings(self, unit: str) -> dict[str, list[tuple[str, ast.stmt, ast.AST]]]:
        """Return what binds each name outside functions and classes, in order: label, statement and node."""
        if unit not in self._bindings:
            found = self._bindings[unit] = {}
            for label, top in self.statements(unit):
                for node in sorted(in_scope(on_import(top)), key=lambda one: getattr(one, "lineno", 0)):
                    for name in bound_by(node):
                        found.setdefault(name, []).append((label, top, node))
        return self._bindings[unit]

    def nested(self, unit: str) -> dict[str, tuple[str, ast.stmt, Definition]]:
        """Return the first definition of each name that is inside another statement: the label, that one, and it."""
        if unit not in self._nested:
            found = self._nested[unit] = {}
            for label, top in self.statements(unit):
                for owner, inner in _definitions_in(top):
                    found.setdefault(inner.name, (label, owner, inner))
        return self._nested[unit]

    def names_of_program(self, unit: str | None) -> set[str]:
        """Return the names that a unit binds under `if __name__ == "__main__":`."""
        blocks = [node for _, node in self.statements(unit) if is_for_a_program(node)]
        return {name for node in in_scope(blocks) for name in bound_by(node)}

    def import_in(self, unit: str | None, name: str) -> tuple[str, int, bool] | None:
        """Return the first import of a name anywhere in a unit: its label, its line, and whether it is at top."""
        for label, top in self.statements(unit):
            for node in ast.walk(top):
                if isinstance(node, ast.Import | ast.ImportFrom) and name in bound_by(node):
                    return label, node.lineno, node is top
        return None

    def deletions(self, unit: str | None, name: str) -> Iterator[tuple[str, ast.stmt, int]]:
        """Yield each `del` of a name outside functions and classes: its label, statement and line."""
        for label, top in self.statements(unit):
            for node in in_scope(on_import(top)):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Del):
                    yield label, top, node.lineno

    def statements(self, unit: str | None) -> Iterator[tuple[str, ast.stmt]]:
        """Yield the statements of a unit, each with the label of its source."""
        source = self._sources.get(unit or "")
        for label in source.labels if source else ():
            yield from ((label, node) for node in self.source(label).statements)

    def needing_newer_python(self, failed: FailedStatement, grades: str) -> FailedStatement:
        """Return a failed statement with the newer Python that it needs, or unchanged if it needs none.

        grades: The version of Python that the course is graded with.
        """
        is_unread = failed.reason == NOT_PYTHON
        statement = self.source(failed.file).newer.get(failed.line or 0) if is_unread else None
        return needing(statement, failed, grades) if statement else failed


def _definitions_in(top: ast.stmt) -> Iterator[tuple[ast.stmt, Definition]]:
    """Yield the functions and classes inside a statement, each with the statement that it is directly in."""
    for owner in ast.walk(top):
        bodies = [getattr(owner, name, None) for name in ("body", "orelse", "finalbody")]
        bodies += [one.body for name in ("handlers", "cases") for one in getattr(owner, name, ())]
        for inner in (one for body in bodies if isinstance(body, list) for one in body):
            if isinstance(owner, ast.stmt) and isinstance(inner, DEFINITIONS):
                yield owner, inner


def in_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield these nodes and all in them, without what is in a function, class or comprehension."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting += ast.iter_child_nodes(node)


def bound_by(node: ast.AST) -> list[str]:
    """Return the names that a node itself binds in its scope."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [alias.asname or alias.name.partition(".")[0] for alias in aliases]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
    return []


def is_for_a_program(node: ast.stmt) -> bool:
    """Return whether a statement runs only when the file is started as a program: `if __name__ == "__main__"`."""
    match node:
        case ast.If(test=ast.BoolOp(op=ast.And(), values=conditions)):
            return any(map(_is_main, conditions))
        case ast.If(test=condition):
            return _is_main(condition)
    return False


def _is_main(condition: ast.expr) -> bool:
    match condition:
        case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]):
            return True
        case ast.Compare(ast.Constant("__main__"), [ast.Eq()], [ast.Name("__name__")]):
            return True
    return False


def on_import(node: ast.stmt) -> list[ast.stmt]:
    """Return the part of a statement that runs when its file is imported."""
    return node.orelse if isinstance(node, ast.If) and is_for_a_program(node) else [node]


def _contains(node: ast.stmt | ast.excepthandler, line: int) -> bool:
    return first_line(node) <= line <= (node.end_lineno or node.lineno)
