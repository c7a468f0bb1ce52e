"""What a student's code defines, and what each exercise of it uses: found in the source, without running it."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from itertools import filterfalse
from typing import TYPE_CHECKING, NamedTuple

from grader.engine.source_lines import is_for_a_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from grader.submissions.source import UnitSource


WORD = re.compile(r"\w+")


class _Statement(NamedTuple):
    """A statement at top level: what it defines, uses and imports, and its code without comments."""

    defines: frozenset[str]
    uses: frozenset[str]
    code: str
    is_import: bool = False
    imports: frozenset[str] = frozenset()


class Statements:
    """The statements at top level of a submission's code.

    Attributes:
        broken: The units whose code is not Python. What they define is unknown.
    """

    def __init__(self, sources: Mapping[str, UnitSource]) -> None:
        """Parse the sources of a submission's units."""
        self.broken: set[str] = set()
        self._units: dict[str, list[_Statement]] = {}
        for unit, source in sources.items():
            try:
                self._units[unit] = _parsed(source.cells)
            except (SyntaxError, ValueError, RecursionError):
                self.broken.add(unit)
                code = "\n".join(source.cells)
                # It may import any unit that it names.
                self._units[unit] = [_Statement(frozenset(), frozenset(), code, imports=frozenset(WORD.findall(code)))]
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
        units = {unit for name in used for unit, one in self._by_name.get(name, ()) if not one.is_import} | self.broken
        statements = [one for unit in self._units if unit in units for one in self._units[unit]]
        code = [one.code for one in statements if not one.defines or one.defines & used]
        return hashlib.sha256("\n".join(code).encode()).hexdigest()


# After a save, the other files of a course are as they were.
@functools.lru_cache
def _parsed(cells: tuple[str, ...]) -> list[_Statement]:
    """Return the statements of a unit. Raises SyntaxError, ValueError or RecursionError."""
    nodes = [node for cell in cells for node in ast.parse(cell).body]
    return list(map(_statement, filterfalse(is_for_a_program, nodes)))


def _statement(node: ast.stmt) -> _Statement:
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
    return _Statement(frozenset(defines), frozenset(uses), ast.dump(node), is_import, frozenset(imports))
