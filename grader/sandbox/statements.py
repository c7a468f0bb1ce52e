"""Parses top-level statements."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What Python's parser raises besides SyntaxError: for a NUL byte, and for a source that is nested too deeply.
NOT_PARSED = (ValueError, RecursionError, MemoryError)
# The parser's text for a source that ends too early.
INCOMPLETE = "incomplete input"


Found = TypeVar("Found", "list[Piece]", "list[Piece] | SyntaxError")


@dataclass(frozen=True)
class Piece:
    """A top-level statement: the names that it binds, and its tree or the reason why there is none.

    Attributes:
        is_known: Whether the reason says what a line is that is no Python.
    """

    line: int
    names: tuple[str, ...]
    tree: ast.Module | None
    problem: SyntaxError | None = None
    is_known: bool = False


def parse(source: str, flags: int = 0) -> list[Piece] | SyntaxError:
    """Return the statements of a source, or why it does not parse. flags: those of the compiler."""
    try:
        tree = compile(source, "<unknown>", "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return error.with_traceback(None)  # a traceback keeps the source; many take long to collect
    except ValueError as error:
        return SyntaxError(str(error))
    except (RecursionError, MemoryError):
        return SyntaxError("nested too deeply for Python to read")
    return [Piece(_first_line(node), tuple(_bound_names(node)), ast.Module([node], [])) for node in tree.body]


def parse_once(source: str, flags: int, errors: dict[tuple[str, int], SyntaxError]) -> list[Piece] | SyntaxError:
    """Parse a source, but not again what has an error. errors: those found, by source and flags."""
    if error := errors.get((source, flags)):
        return type(error)(*error.args)
    found = parse(source, flags)
    if isinstance(found, SyntaxError):
        errors[source, flags] = found
        if found.msg != INCOMPLETE:  # no flag changes it
            errors[source, 0] = found
    return found


def moved(found: Found, lines: int) -> Found:
    """Return what was parsed as if there were this number of lines above it."""
    if isinstance(found, SyntaxError):
        found.lineno = (found.lineno or 1) + lines
        if lines and "line " in found.msg:
            found.msg = re.sub(r"(?<=\bline )\d+", lambda number: str(int(number[0]) + lines), found.msg)
        return found
    for piece in found:
        if piece.tree:
            ast.increment_lineno(piece.tree, lines)
    return [replace(piece, line=piece.line + lines) for piece in found]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


def agreed_imports(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the imports, each once, of which no name means something else in another of the statements."""
    meanings: dict[str, set[object]] = {}
    imports: dict[str, Piece] = {}
    for piece in pieces:
        node = piece.tree.body[0] if piece.tree else None
        known: dict[str, object] = {}
        if isinstance(node, ast.Import):
            known = {one.asname or one.name.partition(".")[0]: one.name for one in node.names if one.asname}
            known |= {top: top for one in node.names if not one.asname and (top := one.name.partition(".")[0])}
        elif isinstance(node, ast.ImportFrom) and node.names[0].name != "*":
            source = "." * node.level + (node.module or "")
            known = {one.asname or one.name: f"{source}.{one.name}" for one in node.names}
        if node and known:
            imports.setdefault(ast.unparse(node), piece)
        for name in piece.names:
            meanings.setdefault(name, set()).add(known.get(name, piece.line))
    return [piece for piece in imports.values() if all(len(meanings[name]) == 1 for name in piece.names)]


def is_definition(piece: Piece) -> bool:
    """Return whether a piece defines a function or a class."""
    return piece.tree is not None and isinstance(piece.tree.body[0], DEFINITIONS)


def is_import(piece: Piece) -> bool:
    """Return whether a piece is an import."""
    return piece.tree is not None and isinstance(piece.tree.body[0], ast.Import | ast.ImportFrom)


def does_only(piece: Piece) -> bool:
    """Return whether a piece is a call or a loop, which are there for what they do and not for names."""
    node = piece.tree.body[0] if piece.tree else None
    is_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Expr | ast.For | ast.While) and not is_string


def is_simple(piece: Piece) -> bool:
    """Return whether a piece is a statement without a block of lines."""
    node = piece.tree.body[0] if piece.tree else None
    return node is not None and (node.lineno == node.end_lineno or not {"body", "cases"} & set(node._fields))


def has_returned(piece: Piece) -> bool:
    """Return whether a statement is a function whose last line leaves it, so that no line below can change it."""
    assert piece.tree
    [node] = piece.tree.body
    return isinstance(node, ast.FunctionDef) and isinstance(node.body[-1], ast.Return | ast.Raise)
