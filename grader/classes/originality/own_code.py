"""What a student wrote of a unit's code: everything but what the stub has already. Nothing of it is run."""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.sandbox.pieces import fix_indentation, split
from grader.sandbox.statements import MAGIC, NOT_PARSED, Piece, other_language
from grader.submissions.notebook import code_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grader.submissions.source import UnitSource

# In characters. A larger cell, which no exercise needs, takes long to parse.
_LARGEST_CELL = 200_000
_MOST_BLANK_LINES = 2
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Stub:
    """What students receive of a unit: its statements, docstrings and comments."""

    def __init__(self, text: str) -> None:
        """Take the text of the stub, a script."""
        lines = text.split("\n")
        tree = ast.parse(text)
        blocks = [_block(lines, node) for node in _definitions(tree)]
        docstrings = _without_docstrings(tree)
        # Definitions come before docstrings, so that one that is unchanged is found as a whole.
        self.blocks = [*blocks, *(_block(lines, node) for _, node in docstrings)]
        self.docstrings = {_text_of(node) for _, node in docstrings}
        self.comments = {line.strip() for line in lines if _is_comment(line)}
        self.statements = {_form(node) for node in tree.body}
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def is_unchanged(self, node: ast.stmt) -> bool:
        """Return whether the stub has a top-level statement at its own top level."""
        return _form(node) in self.statements

    def unchanged_in(self, node: ast.stmt) -> list[ast.stmt] | None:
        """Return the statements of a class that its stub has as well; None if it has no others."""
        own = self.classes.get(node.name) if isinstance(node, ast.ClassDef) else None
        if own is None or not isinstance(node, ast.ClassDef):
            return []
        forms = {_form(one) for one in own.body}
        unchanged = [one for one in node.body if _form(one) in forms]
        if len(unchanged) < len(node.body):
            return unchanged
        return None if _header(node) == _header(own) else []


def own_code(source: UnitSource, stub: Stub) -> str:
    """Return a student's code without what the stub has; "" if nothing else is there.

    Where a statement parses, it is compared as Python: statements that are the same up to layout, comments and
    docstrings are left out, in classes as well. Of all others the stub's docstrings and comments are left out. Where a
    statement does not parse, its lines are compared. Magics of a notebook become comments.
    """
    cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on what students wrote
        parts = [_Cell(cell, stub, source.is_notebook).own_text() for cell in cells]
    text = "\n\n\n".join(part for part in parts if part)
    return f"{text}\n" if code_lines([text]) else ""


def is_python(text: str) -> bool:
    """Return whether a text parses as a whole."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, *NOT_PARSED):
        return False
    return True


@dataclass
class _Cell:
    """One cell of a notebook, or a script. Lines count from 1, as in trees.

    Attributes:
        removed: The lines to leave out.
        in_strings: The lines that begin inside a string.
    """

    text: str
    stub: Stub
    is_notebook: bool
    removed: set[int] = field(default_factory=set)
    in_strings: set[int] = field(default_factory=set)

    def own_text(self) -> str:
        """Return the lines that the student wrote."""
        lines = self.text.split("\n")
        is_small = len(self.text) <= _LARGEST_CELL
        pieces = split(self.text, self.is_notebook) if is_small else [Piece(1, (), None)]
        if self.is_notebook and is_small:
            is_other = bool(other_language(self.text))
            kept = {number for piece in pieces for number in _lines_of_python(lines, piece)}
            for number, line in enumerate(lines, 1):
                if line and (is_other or (number not in kept and MAGIC.match(line))):
                    lines[number - 1] = _commented(line, is_other)
        ends = [*(piece.line - 1 for piece in pieces), len(lines)][1:]
        for piece, end in zip(pieces, ends, strict=True):
            if piece.tree is None:
                self._compare_lines(lines, piece.line, end)
            else:
                self._compare(lines, piece.tree)
        return "\n".join(self._left(lines))

    def _compare(self, lines: Sequence[str], tree: ast.Module) -> None:
        """Compare a statement with the stub's."""
        self.in_strings.update(_lines_in_strings(tree))
        docstrings = _without_docstrings(tree)
        [statement] = tree.body
        unchanged = None if self.stub.is_unchanged(statement) else self.stub.unchanged_in(statement)
        if unchanged is None:
            self._remove(lines, statement)
            return
        for node in unchanged:
            self._remove(lines, node)
        for owner, docstring in docstrings:
            if owner.body and _text_of(docstring) in self.stub.docstrings:
                self._remove(lines, docstring)

    def _compare_lines(self, lines: Sequence[str], start: int, end: int) -> None:
        """Compare the lines of a statement that does not parse with the stub's definitions and docstrings."""
        bare = [line.rstrip() for line in lines[:end]]
        for block in self.stub.blocks:
            for number in range(start, end - len(block) + 2):
                if bare[number - 1] == block[0] and bare[number - 1 : number - 1 + len(block)] == block:
                    self.removed.update(range(number, number + len(block)))

    def _remove(self, lines: Sequence[str], node: ast.stmt) -> None:
        """Leave out a statement, unless it shares a line with another one."""
        start, end = _span(node)
        before = lines[node.lineno - 1].encode()[: node.col_offset].strip()
        after = lines[end - 1].encode()[node.end_col_offset :].strip()
        if not before and (not after or after.startswith(b"#")):
            self.removed.update(range(start, end + 1))

    def _left(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the lines that are left, without the stub's comments, and with a few blank lines at most."""
        blank = _MOST_BLANK_LINES
        held: list[str] = []
        for number, line in enumerate(lines, 1):
            is_text = number in self.in_strings
            if number in self.removed or (not is_text and _is_comment(line) and line.strip() in self.stub.comments):
                continue
            if is_text or line.strip():
                yield from held
                yield line
                held, blank = [], 0
            elif blank < _MOST_BLANK_LINES:
                held.append("")
                blank += 1


def _lines_of_python(lines: Sequence[str], piece: Piece) -> Iterable[int]:
    """Return the numbers of the lines of a statement that has no magic in it."""
    if piece.tree is None:
        return ()
    start, end = _span(piece.tree.body[0])
    return range(start, end + 1) if is_python("\n".join(lines[start - 1 : end])) else ()


def _commented(line: str, is_other: bool) -> str:
    """Return a magic as a comment, where a block needs a statement after one."""
    indentation = "" if is_other else line[: len(line) - len(line.lstrip())]
    return f"{indentation}{'pass  ' if indentation else ''}# {line.strip()}"


def _definitions(tree: ast.Module) -> list[_Definition]:
    """Return the functions and classes of a module, and then the methods."""
    top = [node for node in tree.body if isinstance(node, _DEFINITIONS)]
    methods = (one for node in top if isinstance(node, ast.ClassDef) for one in node.body)
    return [*top, *(one for one in methods if isinstance(one, _DEFINITIONS))]


def _without_docstrings(tree: ast.Module) -> list[tuple[_Definition, ast.Expr]]:
    """Take the docstrings out of a tree, and return each with its owner."""
    found: list[tuple[_Definition, ast.Expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, _Definition) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body.pop(0)
            assert isinstance(docstring, ast.Expr)
            found.append((node, docstring))
    return found


def _text_of(docstring: ast.Expr) -> str:
    assert isinstance(docstring.value, ast.Constant)
    return inspect.cleandoc(str(docstring.value.value))


def _form(node: ast.stmt) -> str:
    """Return a text that is the same for two statements without docstrings that differ in layout and comments only."""
    try:
        return ast.dump(node)
    except RecursionError:
        return f"nested too deeply, at {id(node)}"


def _header(node: ast.ClassDef) -> Counter[str]:
    return Counter(map(ast.dump, [*node.decorator_list, *node.bases, *node.keywords]))


def _span(node: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, with its decorators."""
    decorators: Iterable[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno


def _block(lines: Sequence[str], node: ast.stmt) -> list[str]:
    start, end = _span(node)
    return [line.rstrip() for line in lines[start - 1 : end]]


def _lines_in_strings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno:
            yield from range(node.lineno + 1, node.end_lineno + 1)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
