"""Repairs what a student deleted from a notebook or copied by accident."""

from __future__ import annotations

import dataclasses
import re
from textwrap import dedent
from typing import TYPE_CHECKING

from grader.submissions.notebook import code_lines
from grader.submissions.source import DEFINITION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.submissions.source import UnitSource

_IMPORT = re.compile(r"(?:^|;[ \t]*)(?:from[ \t]+[\w.]+[ \t]+)?import\b[ \t]*(\([^()]*\)|[^;\n]*)", re.MULTILINE)
# The lines of a `try` or `with` at top level.
_BLOCK = re.compile(r"^(?:try|with)\b[^:\n]*+:.*+\n((?:[ \t]+.*\n?|\n)++)", re.MULTILINE)
_CELL_START = re.compile(r"^# %%(.*)\n?", re.MULTILINE)


def repaired(code: UnitSource, stub: str) -> UnitSource:
    """Remove repeated stubs and add missing imports, each with a remark.

    Args:
        code: The student's code, from a notebook.
        stub: The unit as students receive it, a script in percent format.
    """
    stub_cells = _percent_cells(stub)
    cells, repeated = _without_repeated_stubs(code.cells, stub_cells, code.path)
    cells, deleted = with_imports(cells, stub)
    imports = (f"{code.path} no longer imports {' and '.join(deleted)}: the import was added as cell 1.",)
    return dataclasses.replace(code, cells=cells, remarks=(*code.remarks, *repeated, *(imports if deleted else ())))


def with_imports(cells: Sequence[str], stub: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the cells, with the stub's imports that they need but lack as cell 1, and the names of these imports."""
    code = "\n".join(cells)
    bound = {name for part in (code, *map(dedent, _BLOCK.findall(code))) for name in imported_names(part)}
    code = _IMPORT.sub("", code)
    deleted: list[str] = []
    added: list[str] = []
    for cell in _percent_cells(stub):
        unbound = [name for name in imported_names(cell) if name not in bound and _needs(code, name)]
        if unbound and all(map(_IMPORT.fullmatch, code_lines([cell]))):
            deleted += unbound
            added.append(cell)
    # A blank first cell makes room for them, so that the others keep their numbers.
    others = cells[1:] if added and cells and not cells[0].strip() else cells
    return ("\n".join(added), *others) if added else tuple(cells), deleted


def imported_names(code: str) -> Iterator[str]:
    """Yield the names that code imports at top level."""
    for imports in _IMPORT.findall(code):
        for part in re.sub("#.*", "", imports).strip("() \t").split(","):
            if words := part.split():
                yield words[-1] if "as" in words else words[0].partition(".")[0]


def _percent_cells(script: str) -> list[str]:
    """Return the code cells of a script in percent format."""
    first, *others = _CELL_START.split(script)
    marked = zip(others[::2], others[1::2], strict=True)
    cells = [first, *(cell for mark, cell in marked if "[markdown]" not in mark)]
    return [cell.strip("\n") for cell in cells if cell.strip()]


def _without_repeated_stubs(
    cells: Sequence[str], stub_cells: list[str], relative: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cells, with those emptied that repeat a stub which another cell answers; and remarks."""
    unwritten = {
        tuple(code_lines([cell])): set(DEFINITION.findall(cell))
        for cell in stub_cells
        if "NotImplementedError" in cell and DEFINITION.search(cell)
    }
    opens = [unwritten.get(tuple(code_lines([cell])), set()) for cell in cells]
    places: dict[str, int] = {}  # the first cell that writes each name
    for number, cell in enumerate(cells):
        if not opens[number]:
            for name in DEFINITION.findall(cell):
                places.setdefault(name, number)
    # They stay as empty cells, so that the numbers of cells are those of the notebook.
    kept = tuple("" if names and names <= places.keys() else cell for cell, names in zip(cells, opens, strict=True))
    below = [
        name
        for number, names in enumerate(opens)
        for name in sorted(names)
        if names <= places.keys() and places[name] < number
    ]
    return kept, tuple(
        f"{relative} has an unwritten {name} below yours, which was graded: remove it." for name in dict.fromkeys(below)
    )


def _needs(code: str, name: str) -> bool:
    """Return whether code without its imports uses a name that it does not define or assign at top level."""
    binds = rf"^(?:(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*=)"
    return bool(re.search(rf"\b{name}\b", code)) and not re.search(binds, code, re.MULTILINE)
