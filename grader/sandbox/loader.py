"""Runs a student's source piece by piece, in the student process: a failure costs only the names it defines."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import operator
import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.sandbox.pieces import fix_indentation, split
from grader.sandbox.statements import DEFINITIONS, Piece

FUTURE_FLAGS = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

# A line of a function or a class.
INNER_LINE = re.compile(r"^(?:[ \t]|def ).*", re.MULTILINE)


class Remark(Exception):
    """What there is to know about a statement that costs nothing: its kind, its line, and Python's error, if any."""

    def __init__(self, kind: str, line: int, error: Exception | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.line = line
        self.error = error


# An assert of a tuple, such as `assert (condition, "text")`, which cannot fail.
ALWAYS_TRUE = "always true"
# Python refuses a file for these.
LATE_FUTURE = "late future"
ANNOTATION = "annotation"
# A `del` of a module that is left out.
KEPT_MODULE = "kept module"


@dataclass
class Run:
    """Runs every piece of a source in order in a module.

    The cells of a notebook may have been run in another order than their positions. In a notebook, a function or class
    that needs a name from below is therefore defined after that name.

    Attributes:
        cells: The source texts.
        labels: The name of each cell in tracebacks.
        module: Where their names go.
        is_notebook: Whether they are cells of a notebook.
        before: Called with the number of the cell before each piece; it may refuse the piece.
        failed: Called for each failure, and with a Remark for each that there is.
        flags: What `from __future__ import` has switched on so far.
        early: The definitions that lack a name, each with the number of its cell and why it failed.
    """

    cells: list[str]
    labels: list[str]
    module: types.ModuleType
    is_notebook: bool
    before: Callable[[int, Piece], bool]
    failed: Callable[[int, Piece, BaseException], None]
    flags: int = 0
    early: list[tuple[int, Piece, NameError]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Repair the cells of a notebook."""
        if self.is_notebook:
            self.cells = fix_indentation(self.cells)

    def run(self) -> None:
        """Run the source."""
        for number, (source, label) in enumerate(zip(self.cells, self.labels, strict=True)):
            linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)
            is_late = False
            for piece in split(source, self.is_notebook):
                error = self.attempt(number, piece)
                is_future = isinstance(piece.node, ast.ImportFrom) and piece.node.module == "__future__"
                if is_late and error is None and is_future:
                    error = Remark(LATE_FUTURE, piece.line)
                is_late = is_late or not (is_future or piece.is_string)
                if self.is_notebook and piece.is_definition and isinstance(error, NameError):
                    self.early.append((number, piece, error))
                elif error is not None:
                    self.failed(number, piece, error)
        while self.attempt_again():
            pass
        for number, piece, error in self.early:
            self.failed(number, piece, error)

    def attempt(self, number: int, piece: Piece) -> BaseException | None:
        """Run a piece of a cell, and return why it failed."""
        if not self.before(number, piece):
            return None
        try:
            if piece.tree is None:
                raise piece.problem or SyntaxError("invalid syntax")
            if self.deletes_module(piece.node):
                return Remark(KEPT_MODULE, piece.line)
            self.execute(number, piece)
        except BaseException as error:  # noqa: BLE001 - student code raises what it likes
            return error
        for node in ast.walk(piece.tree) if number in self.with_asserts else ():
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
                self.failed(number, piece, Remark(ALWAYS_TRUE, node.lineno))
        return None

    @functools.cached_property
    def with_asserts(self) -> set[int]:
        """The numbers of the cells that may have an assert."""
        return {number for number, source in enumerate(self.cells) if "assert" in source}

    @functools.cached_property
    def used_inside(self) -> set[str]:
        """The names whose attributes are used inside functions and classes."""
        lines = (line for source in self.cells for line in INNER_LINE.findall(source))
        return {name for line in lines for name in re.findall(r"\b(\w+)\.", line)}

    def deletes_module(self, node: ast.stmt | None) -> bool:
        """Return whether a statement deletes a module that a function uses."""
        return isinstance(node, ast.Delete) and any(
            isinstance(self.module.__dict__.get(one.id), types.ModuleType) and one.id in self.used_inside
            for one in node.targets
            if isinstance(one, ast.Name)
        )

    def execute(self, number: int, piece: Piece) -> None:
        """Run a statement. If it fails, an annotation may be why, so it runs again with annotations as text."""
        assert piece.tree
        tree = piece.tree
        code = compile(tree, self.labels[number], "exec", flags=self.flags, dont_inherit=True)
        self.flags |= code.co_flags & FUTURE_FLAGS
        try:
            exec(code, self.module.__dict__)
        except Exception as error:
            if not (isinstance(piece.node, (*DEFINITIONS, ast.AnnAssign)) and _has_annotations(tree)):
                raise  # of a loop, half may be done already
            flags = self.flags | __future__.annotations.compiler_flag
            exec(compile(tree, self.labels[number], "exec", flags=flags, dont_inherit=True), self.module.__dict__)
            self.failed(number, piece, Remark(ANNOTATION, piece.line, error))

    def attempt_again(self) -> bool:
        """Run definitions again that lacked a name. Return whether fewer lack one now."""
        early, self.early = self.early, []
        for number, piece, error in early:
            is_there = any(name in self.module.__dict__ for name in piece.names)
            again = error if is_there else self.attempt(number, piece)
            if isinstance(again, NameError):
                self.early.append((number, piece, again))
            elif again is not None:
                self.failed(number, piece, again)
        return len(self.early) < len(early)


def _has_annotations(tree: ast.Module) -> bool:
    return any(getattr(node, "annotation", None) or getattr(node, "returns", None) for node in ast.walk(tree))
