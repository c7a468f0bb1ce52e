"""Explains the failure of a student's code by its source: the lines that led there, their text, and what to do.

The text of a line comes from the submission, not from the student process. That process only says which line it was.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.engine.hints import hint_for
from grader.sandbox.loader import fix_indentation, split
from grader.text import in_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from grader.engine.outcomes import Outcome
    from grader.sandbox.client import Source

LONGEST_LINE = 120
LOOPS = (ast.While, ast.For)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class SourceLines:
    """The lines of a submission, by the label that tracebacks give a source, and its top-level statements."""

    def __init__(self, sources: Iterable[Source]) -> None:
        """Take the sources of all units."""
        self._cells: dict[str, tuple[str, bool]] = {}
        self._statements: dict[str, list[ast.stmt]] = {}
        for source in sources:
            cells = fix_indentation(list(source.cells)) if source.is_notebook else source.cells
            for label, cell in zip(source.labels, cells, strict=True):
                self._cells[label] = cell, source.is_notebook

    def text(self, file: str | None, line: int | None) -> str:
        """Return the text of a line, without its indentation; "" if there is no such line."""
        lines = self._cells.get(file or "", ("", False))[0].split("\n")
        text = lines[line - 1].strip() if line and 0 < line <= len(lines) else ""
        return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"

    def around(self, file: str | None, line: int | None) -> list[ast.AST]:
        """Return the definitions and statements that contain a line, the outermost first."""
        found: list[ast.AST] = []
        inside: list[ast.AST] = list(self._of(file)) if file and line else []
        while node := next((one for one in inside if _contains(one, line or 0)), None):
            found.append(node)
            inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt | ast.excepthandler)]
        return found

    def names_at_top(self, file: str) -> set[str]:
        """Return the names that a source defines outside functions and classes."""
        return {name for node in self._of(file) for name in _bound(node)}

    def _of(self, file: str) -> list[ast.stmt]:
        if file not in self._statements:
            pieces = split(*self._cells[file]) if file in self._cells else []
            self._statements[file] = [node for piece in pieces if piece.tree for node in piece.tree.body]
        return self._statements[file]


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, DEFINITIONS):
        yield node.name
    else:
        yield from (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def _contains(node: ast.AST, line: int) -> bool:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
    return first <= line <= (node.end_lineno or node.lineno)  # type: ignore[attr-defined]


def place_of_loop(outcome: Outcome, lines: SourceLines) -> Outcome:
    """Return the outcome of a call that ran out of time with the line of the loop that was running, if there is one.

    The process says where it was last. That is any line of a loop, and it may be inside a short loop in a long one, so
    the outermost `while` counts, or else the outermost `for`.
    """
    if outcome.kind != "timed out" or not outcome.line:
        return outcome
    loops = [node for node in lines.around(outcome.file, outcome.line) if isinstance(node, LOOPS)]
    line = next((loop.lineno for kind in LOOPS for loop in loops if isinstance(loop, kind)), outcome.line)
    return replace(outcome, line=line)


def still_raises(outcome: Outcome, exercise: str, lines: SourceLines) -> Outcome:
    """Return the outcome of code that is not written with the line to delete, if there is other code beside it."""
    around = lines.around(outcome.file, outcome.line) if outcome.kind == "not written" else []
    if len(around) < 2 or getattr(around[0], "name", None) != exercise:
        return outcome
    *_, function, statement = around
    if not (isinstance(function, ast.FunctionDef) and isinstance(statement, ast.Raise)):
        return outcome
    where = f"Line {outcome.line} of {outcome.file} still raises NotImplementedError"
    if _is_written(function):
        return replace(outcome, reason=f"{where}: delete it.")
    methods = around[0].body if isinstance(around[0], ast.ClassDef) else []
    if any(isinstance(one, ast.FunctionDef) and _is_written(one) for one in methods):
        return replace(outcome, reason=f"{where}: write `{function.name}`.")
    return outcome


def _is_written(function: ast.FunctionDef) -> bool:
    """Whether a function has code beside what the stub contains."""
    return not all(_is_of_stub(statement) for statement in function.body)


def _is_of_stub(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant) or ast.unparse(statement) == "super().__init__()"
    return isinstance(statement, ast.Raise | ast.Pass)


def trace_of(outcome: Outcome, lines: SourceLines) -> list[str]:
    """Return the lines that led to a failure as text, the outermost first: `line 12: scores = dot(query, inputs)`."""
    trace = outcome.trace or ([(outcome.file, outcome.line)] if outcome.file and outcome.line else [])
    found = []
    for file, line in trace:
        text = lines.text(file, line)
        if text:
            found.append(f"{'' if file == outcome.file else f'{file}, '}line {line}: {text}")
    return found


def advice(outcome: Outcome, others: Collection[str], lines: SourceLines) -> str:
    """Return what to do about a failure: sentences, or "".

    Args:
        outcome: The failure.
        others: The other exercises and the units.
        lines: The submission.
    """
    around = lines.around(outcome.file, outcome.line)
    owner = _name(around)
    sentences = [hint_for(outcome, lines.text(outcome.file, outcome.line), around, lines), _shapes(outcome)]
    if owner in others:
        caller = next((line for file, line in outcome.trace if _name(lines.around(file, line)) != owner), None)
        called = f"when line {caller} calls it: check its arguments there, then" if caller else "in this test: check"
        sentences.append(f"`{owner}` raises this {called} `{owner}` itself.")
    return " ".join(filter(None, sentences))


def _name(around: list[ast.AST]) -> str:
    return getattr(around[0], "name", "") if around else ""


def _shapes(outcome: Outcome) -> str:
    if not outcome.shapes:
        return ""
    return f"Shapes in this line: {in_words(list(outcome.shapes))}."
