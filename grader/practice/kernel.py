"""What was run in a notebook: the cells of this session, and the notebooks that they import."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.practice.check import read_answers, unit_of
from grader.sandbox import loader
from grader.sandbox.pieces import split
from grader.submissions.names import filenames
from grader.submissions.notebook import with_imports
from grader.submissions.reader import read_submission
from grader.submissions.source import DEFINITION
from grader.text import in_words

if TYPE_CHECKING:
    import ast
    import types
    from collections.abc import Sequence

    from grader.course.model import Course
    from grader.practice.check import Answers
    from grader.sandbox.statements import Piece
    from grader.submissions.source import UnitSource

# Statements that count in a check, and when another notebook imports a unit: not what is tried out or printed.
_DEFINES = ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom", "Assign", "AnnAssign")


class Cells:
    """The cells that were run in an IPython shell."""

    def __init__(self, shell: Any, course: Course) -> None:
        """Take the shell and the course. Cells that ran before count as well."""
        self.course = course
        self._history = shell.history_manager
        self._failed: set[int] = set()
        shell.events.register("post_run_cell", self._note)

    def _note(self, result: Any) -> None:
        """Note the execution count of a cell that failed, unless it defines something.

        What such a cell defined before it failed is there all the same. If it is not Python, a check says so.
        """
        if not result.success and not DEFINITION.search(result.info.raw_cell or ""):
            self._failed.add(result.execution_count)

    def answers(self, name: str) -> tuple[Answers, str]:
        """Return the cells as the answers to the unit of an exercise, and a sentence on imports that were not run.

        The other units come from the files in the current folder. Raises GraderError if there is no such exercise or
        unit, or no cell with it.
        """
        unit = unit_of(name, self.course)
        cells = self.cells()
        if name != unit and not any(name in DEFINITION.findall(cell) for cell in cells):
            raise GraderError(f"Run the cell that defines `{name}` first, then this one.")
        script, notebook, _ = filenames(unit)
        cells, missing = with_imports(cells, (self.course.exercises / script).read_text(encoding="utf-8"))
        note = f"{notebook} does not import {in_words(missing)}: run the cell with the imports." if missing else ""
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder), unit, cells, self.course)
            return read_answers(self.course, Path(folder)), note

    def cells(self) -> tuple[str, ...]:
        """Return the code of each cell at the place of its execution count, "" for a cell that no longer counts.

        A cell that was run again, or that defines the same names as a later one, no longer counts. Neither does one
        that failed, or that only tries something out: it may take long. An error in cell 12 is in the cell with [12].
        """
        last: dict[object, int] = {}
        sources: Sequence[str] = self._history.input_hist_raw
        for number, source in enumerate(sources):
            if number not in self._failed and any(map(_counts, split(source, True))):
                last[tuple(DEFINITION.findall(source)) or source] = number
        kept = set(last.values())
        return tuple(source if number in kept else "" for number, source in enumerate(sources))[1:]


def _write(folder: Path, unit: str, cells: Sequence[str], course: Course) -> None:
    """Write the cells as the notebook of a unit, with its quiz, and the other units, which it may import."""
    script, notebook, _ = filenames(unit)
    content = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    (folder / notebook).write_text(json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": content}))
    for name in {name for other in course.units for name in filenames(other)} - {script, notebook}:
        if Path(name).is_file():
            (folder / name).write_bytes(Path(name).read_bytes())


class NotebookFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a unit that is a notebook beside this one, where the grader would take it too."""

    def __init__(self, course: Course) -> None:
        """Take the course, whose units can be found."""
        self.course = course

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a unit whose graded file is a notebook; None for all other modules."""
        if path is not None or target is not None or fullname not in self.course.units:
            return None
        source = self._source(fullname)
        return importlib.util.spec_from_loader(fullname, self) if source and source.is_notebook else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the definitions, imports and assignments of the notebook."""
        source = self._source(module.__name__)
        assert source
        labels = [f"{source.filename}, cell {number}" for number in range(1, len(source.cells) + 1)]
        loader.run(list(source.cells), labels, module, True, lambda _, piece: _defines(piece.tree), lambda *_: None)

    def _source(self, unit: str) -> UnitSource | None:
        return read_submission("student", Path.cwd(), [unit], self.course.exercises).units[unit].code


def _counts(piece: Piece) -> bool:
    # Of what is not Python, only the first line is known. IPython reads more than Python, such as `print?`.
    return _defines(piece.tree) if piece.tree else bool(piece.names)


def _defines(tree: ast.Module | None) -> bool:
    return tree is not None and type(tree.body[0]).__name__ in _DEFINES
