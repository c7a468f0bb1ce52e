"""Finds and replaces the definition of one exercise in a text. Everything else stays the same, to the byte."""

from __future__ import annotations

import ast
import io
import re

from grader.sandbox.pieces import split
from grader.submissions.source import DEFINITION

_CELL = "# %%"
# What begins a line in the first column and belongs to the statement above it.
_CONTINUED = re.compile(r"[\s)\]}#]")


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
    for name in reversed(after):
        try:
            place = _span(lines, name)[1]
        except NotFound:
            continue
        break
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
    start = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
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
