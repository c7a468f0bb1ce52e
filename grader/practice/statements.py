"""What a student's code defines, and what each exercise of it uses: found in the source, without running it."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
from itertools import filterfalse
from typing import TYPE_CHECKING, NamedTuple

from grader.engine.source_lines import is_for_a_program
from grader.sandbox.cells import fix_indentation
from grader.sandbox.pieces import split
from grader.sandbox.strays import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from grader.submissions.source import UnitSource


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
