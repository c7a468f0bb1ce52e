"""The code of each exercise in a student's files: what it uses, where it is, and how to replace it. Nothing is run."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import filterfalse
from typing import NamedTuple

from grader.engine.source_lines import is_for_a_program
from grader.sandbox.pieces import fix_indentation, split
from grader.sandbox.statements import first_line, is_text
from grader.submissions.submission import DEFINITION, UnitSource

_CELL = "# %%"
# What begins a line in the first column and belongs to the statement above it.
_CONTINUED = re.compile(r"[\s)\]}#]")


class _Statement(NamedTuple):
    """A statement at top level: what it defines, uses and imports, and its code without comments.

    is_unclear: whether it is no Python, and could define anything.
    """

    defines: frozenset[str]
    uses: frozenset[str]
    code: str
    is_import: bool = False
    imports: frozenset[str] = frozenset()
    is_unclear: bool = False


class Statements:
    """The statements at top level of a submission's code.

    Attributes:
        unclear: The units with lines that are no Python and of which it is not known what they define.
    """

    def __init__(self, sources: Mapping[str, UnitSource]) -> None:
        """Parse the sources of a submission's units."""
        self._units = {unit: _parsed(source.cells, source.is_notebook) for unit, source in sources.items()}
        self.unclear = {unit for unit, found in self._units.items() if any(one.is_unclear for one in found)}
        self._by_name: dict[str, list[tuple[str, _Statement]]] = {}
        for unit, statements in self._units.items():
            for statement in statements:
                for name in statement.defines:
                    self._by_name.setdefault(name, []).append((unit, statement))

    def imported_by(self, units: Iterable[str]) -> set[str]:
        """Return these units, and all units that their code imports, directly or through others."""
        found, new = set[str](), set(units)
        while new:
            found |= new
            imports = {module for unit in new for one in self._units.get(unit, ()) for module in one.imports}
            new = (imports & self._units.keys()) - found
        return found

    def used_by(self, names: Iterable[str]) -> set[str]:
        """Return these names, and all names that their definitions use, directly or through others."""
        found, new = set[str](), set(names)
        while new:
            found |= new
            new = {used for name in new for _, one in self._by_name.get(name, ()) for used in one.uses} - found
        return found

    def code(self, name: str) -> str:
        """Return the code that defines a name, without comments and imports; "" if nothing does."""
        return "\n".join(one.code for _, one in self._by_name.get(name, ()) if not one.is_import)

    def digest(self, name: str) -> str:
        """Return a digest of what decides how `name` behaves: of all the code that it uses, without comments."""
        used = self.used_by([name])
        # A unit that only imports a used name has no part in it.
        units = {unit for name in used for unit, one in self._by_name.get(name, ()) if not one.is_import} | self.unclear
        statements = [one for unit in self._units if unit in units for one in self._units[unit]]
        code = [one.code for one in statements if not one.defines or one.defines & used]
        return hashlib.sha256("\n".join(code).encode()).hexdigest()


# After a save, the other files of a course are as they were.
@functools.lru_cache
def _parsed(cells: tuple[str, ...], is_notebook: bool) -> list[_Statement]:
    """Return the statements of a unit as the grader reads them, also those that are not Python."""
    return [
        statement
        for cell in (fix_indentation(list(cells)) if is_notebook else cells)
        for statement in _of_cell(cell, is_notebook)
    ]


def _of_cell(cell: str, is_notebook: bool) -> Iterator[_Statement]:
    lines, pieces = cell.split("\n"), split(cell, is_notebook)
    ends = [*(piece.line - 1 for piece in pieces[1:]), len(lines)]
    for piece, end in zip(pieces, ends, strict=False):
        code = "\n".join(lines[piece.line - 1 : end]).rstrip()
        if piece.tree:
            yield from (_statement(node, code) for node in filterfalse(is_for_a_program, piece.tree.body))
        elif piece.names or not (piece.is_known or _is_prose(lines[piece.line - 1])):
            yield _Statement(frozenset(piece.names), frozenset(), code, is_unclear=not piece.names)


def _is_prose(line: str) -> bool:
    """Return whether a line is words that could begin no definition, such as one with `dfe`."""
    return is_text(line) and set("([{=").isdisjoint(line)


def _statement(node: ast.stmt, code: str) -> _Statement:
    with contextlib.suppress(RecursionError):
        code = ast.dump(node)
    defines, uses, imports = set[str](), set[str](), set[str]()
    for one in ast.walk(node):
        match one:
            case ast.Import():
                imports |= {alias.name.partition(".")[0] for alias in one.names}
            case ast.ImportFrom(module=str(module)):
                imports.add(module.partition(".")[0])
            case ast.alias():
                defines.add(one.asname or one.name.partition(".")[0])
                uses.add(one.name)
            case ast.Name(ctx=ast.Store()):
                defines.add(one.id)
            case ast.Name():
                uses.add(one.id)
            case ast.Attribute():
                uses.add(one.attr)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        # The names that it binds are its own.
        uses -= defines | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        defines = {node.name}
    is_import = isinstance(node, ast.Import | ast.ImportFrom)
    return _Statement(frozenset(defines), frozenset(uses), code, is_import, frozenset(imports))


class NotFound(Exception):
    """The text does not define the name at its top level."""


class NotPython(Exception):
    """The text is not Python outside the definition, so it is not clear what belongs to it.

    Attributes:
        line: The line of the first error.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def definition(text: str, name: str) -> str:
    """Return the lines that define a function or class, with its decorators. Raises NotFound."""
    lines = _lines(text)
    start, end = _span(lines, name)
    return "".join(lines[start:end])


def replaced(text: str, name: str, new: str) -> str:
    """Return a text with another definition of a name in the place of its own.

    Lines end in the text as they did before. If the name is defined several times, the last one counts, as in Python.

    Raises:
        NotFound: There is none.
        NotPython: There is an error outside the definition.
    """
    lines = _lines(text)
    start, end = _span(lines, name)
    changed = [*lines[:start], *_lines(_with_ends(new, text)), *lines[end:]]
    try:
        _parse("".join(changed))
    except NotPython as error:
        if error.line > start:  # count as in the text
            error.line += len(lines) - len(changed)
        raise
    return "".join(changed)


def added(text: str, new: str, after: list[str]) -> str:
    """Return a text with a definition that it lacks, in a percent cell of its own.

    Args:
        text: A script.
        new: The definition.
        after: The names of definitions that should be above it. The place is below the last of them that is there, or
            else at the end.

    Raises:
        NotPython: The text is not Python.
    """
    _parse(text)
    lines = _lines(text)
    place = len(lines)
    for name in after:
        with contextlib.suppress(NotFound):
            place = _span(lines, name)[1]
    cell = f"\n\n{_CELL}\n{new}"
    if lines and not lines[place - 1].endswith(("\n", "\r")):
        cell = f"\n{cell}"
    return "".join([*lines[:place], _with_ends(cell, text), *lines[place:]])


def _span(lines: list[str], name: str) -> tuple[int, int]:
    """Return the first line of the last definition of a name, from 0, and the line after it."""
    text = "".join(lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _span_without_parsing(lines, name)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    if not found:
        raise NotFound(name)
    node = found[-1]
    start = first_line(node) - 1
    end = node.end_lineno or len(lines)
    # Comments in the body, below its last statement.
    place = end
    while place < len(lines) and (not lines[place].strip() or _is_inner_comment(lines[place])):
        place += 1
        end = place if lines[place - 1].strip() else end
    return start, end


def _span_without_parsing(lines: list[str], name: str) -> tuple[int, int]:
    """Return the span of a definition in a text with a syntax error, which may be in this definition."""
    starts = [n for n, line in enumerate(lines) if (found := DEFINITION.match(line)) and found[1] == name]
    if not starts:
        raise NotFound(name)
    start = end = starts[-1]
    while start and lines[start - 1].startswith("@"):
        start -= 1
    end += 1
    while end < len(lines) and _CONTINUED.match(lines[end]) and not lines[end].startswith(_CELL):
        end += 1
    # Comments in the first column belong to what is below them.
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return start, end


def _is_inner_comment(line: str) -> bool:
    return line[0].isspace() and line.lstrip().startswith("#")


def _parse(text: str) -> None:
    for piece in split(text, is_notebook=True):
        if piece.problem:
            raise NotPython(piece.problem.lineno or piece.line, piece.problem.msg)


def _lines(text: str) -> list[str]:
    """Split a text where Python does, and keep the line ends."""
    return list(io.StringIO(text, newline=""))


def _with_ends(new: str, text: str) -> str:
    """Return new lines with the line ends of a text."""
    first = next(iter(_lines(text)), "\n")
    end = first[len(first.rstrip("\r\n")) :] or "\n"
    return new.replace("\n", end)
