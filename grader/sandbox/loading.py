"""A student's source run piece by piece, in the student's own process: what fails costs only what it defines."""

from __future__ import annotations
import __future__

import ast
import contextlib
import linecache
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# A line at which a new top-level statement can begin; used only where the whole does not parse.
STATEMENT_START = re.compile(r"(?!(?:else|elif|except|finally)\b)[\w@]")
DEFINITION = re.compile(r"\s*(?:async\s+def|def|class)\s+(\w+)|(\w+)\s*=(?!=)")
MAGIC = re.compile(r"^(\s*)([%!].*|.*\?\s*)$")


@dataclass(frozen=True)
class Piece:
    """One top-level statement: the names it binds, and how to run it or why it cannot be."""

    line: int
    names: tuple[str, ...]
    tree: ast.Module | None
    problem: SyntaxError | None = None


def split(source: str, is_notebook: bool = False) -> list[Piece]:
    """The top-level statements of a cell. Where one does not parse, the others are kept."""
    with contextlib.suppress(SyntaxError, ValueError):
        return _statements(source)
    if is_notebook:
        source = without_magics(source)
        with contextlib.suppress(SyntaxError, ValueError):
            return _statements(source)
    return _salvage(source)


def without_magics(source: str) -> str:
    """A notebook cell with its shell lines and magics taken out, each line kept in its place."""
    first, _, rest = source.partition("\n")
    if first.startswith("%%"):
        # %%time and %%capture wrap Python; %%bash, %%html and the like hold something else.
        is_python = first.split()[0] in ("%%time", "%%timeit", "%%capture", "%%prun")
        return "\n" + rest if is_python else ""
    return "\n".join(MAGIC.sub(r"\1pass", line) for line in source.split("\n"))


def _statements(source: str) -> list[Piece]:
    return [
        Piece(_first_line(node), tuple(_bound_names(node)), ast.Module([node], [])) for node in ast.parse(source).body
    ]


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


def _salvage(source: str) -> list[Piece]:
    """The shortest run of lines that parses is a statement; a line that begins none is lost."""
    lines = source.split("\n")
    starts = [n for n, line in enumerate(lines) if STATEMENT_START.match(line)]
    ends = [*starts[1:], len(lines)]
    pieces: list[Piece] = []
    index = 0
    while index < len(starts):
        first_error: SyntaxError | None = None
        for last in range(index, len(starts)):
            # The blank lines in front keep line numbers true.
            text = "\n" * starts[index] + "\n".join(lines[starts[index] : ends[last]])
            try:
                pieces += _statements(text)
                index = last + 1
                break
            except SyntaxError as error:
                first_error = first_error or error
            except ValueError as error:  # a NUL byte
                first_error = first_error or SyntaxError(str(error))
        else:
            block = lines[starts[index] : ends[index]]
            names = [
                name for line in block[:1] for match in [DEFINITION.match(line)] if match for name in match.groups()
            ]
            pieces.append(Piece(starts[index] + 1, tuple(filter(None, names)), None, first_error))
            index += 1
    return pieces


def run(
    cells: list[str],
    labels: list[str],
    module: types.ModuleType,
    is_notebook: bool,
    before: Callable[[int, Piece], bool],
    failed: Callable[[int, Piece, BaseException], None],
) -> None:
    """Runs every piece in order in `module`. `before` is told first and may refuse; `failed` is told of failures.

    labels: what tracebacks call each cell.
    """
    flags = 0
    for number, (source, label) in enumerate(zip(cells, labels, strict=True)):
        linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)
        for piece in split(source, is_notebook):
            if not before(number, piece):
                continue
            try:
                if piece.tree is None:
                    raise piece.problem or SyntaxError("invalid syntax")
                flags |= _future_flags(piece.tree)
                exec(compile(piece.tree, label, "exec", flags=flags, dont_inherit=True), module.__dict__)
            except BaseException as error:
                failed(number, piece, error)


def _future_flags(tree: ast.Module) -> int:
    """What a `from __future__ import` switches on for the pieces that follow it."""
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return flags
