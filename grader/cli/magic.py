"""The student's commands in a notebook: `%load_ext grader` once, then `%check`, `%hint` and `%show` with an exercise.

A check takes the cells that were run in this session, in their last version, so an unsaved notebook works too, also
where no file is beside the kernel, as on Colab. They can import units that are notebooks.
"""

from __future__ import annotations

import json
import sys
import threading
import types
from collections.abc import Callable, Sequence
from importlib import abc, machinery, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from grader.cli.check_output import print_report
from grader.cli.console import safe, writing
from grader.course.guidance import read_rules
from grader.course.model import Course, find_course
from grader.course.root import current_folder
from grader.errors import GraderError
from grader.files import temporary_folder
from grader.practice.check import (
    Answers,
    answers_folder,
    check_answers,
    exercises_to_draw,
    read_answers,
    unit_of,
    visible_grading,
)
from grader.practice.exercise_help import show_next_hint
from grader.practice.picture_text import print_pictures
from grader.sandbox import loader
from grader.sandbox.pieces import split
from grader.sandbox.statements import Piece
from grader.submissions.notebook import MAGICS, with_imports
from grader.submissions.reader import read_submission
from grader.submissions.submission import DEFINITION, UnitSource, filenames
from grader.text import in_words

if TYPE_CHECKING:
    import ast


# Statements that count in a check, and when another notebook imports a unit: not what is tried out or printed.
_DEFINES = ("FunctionDef", "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom", "Assign", "AnnAssign")

WIDTH = 80
"""Of an output cell beside an open side bar. It would break a longer line in the middle of a word."""


class NotebookCells:
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
        with temporary_folder() as folder:
            _write(folder, unit, cells, self.course)
            return read_answers(self.course, folder), note

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


class NotebookFinder(abc.MetaPathFinder, abc.Loader):
    """Finds a unit that is a notebook beside this one, where the grader would take it too."""

    def __init__(self, course: Course) -> None:
        """Take the course, whose units can be found."""
        self.course = course

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> machinery.ModuleSpec | None:
        """Return the spec of a unit whose graded file is a notebook; None for all other modules."""
        if path is not None or target is not None or fullname not in self.course.units:
            return None
        source = self._source(fullname)
        return util.spec_from_loader(fullname, self) if source and source.is_notebook else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the definitions, imports and assignments of the notebook."""
        source = self._source(module.__name__)
        assert source
        labels = [f"{source.filename}, cell {number}" for number in range(1, len(source.cells) + 1)]
        run = loader.Run(list(source.cells), labels, module, True, lambda _, one: _defines(one.tree), lambda *_: None)
        run.run()

    def _source(self, unit: str) -> UnitSource | None:
        return read_submission("student", Path.cwd(), [unit], self.course.exercises).units[unit].code


def _counts(piece: Piece) -> bool:
    # Of what is not Python, only the first line is known. IPython reads more than Python, such as `print?`.
    return _defines(piece.tree) if piece.tree else bool(piece.names)


def _defines(tree: ast.Module | None) -> bool:
    return tree is not None and type(tree.body[0]).__name__ in _DEFINES


def load(shell: Any) -> None:
    """Add the magics to an IPython shell, and let its code import units that are notebooks."""
    course = find_course()
    magics = Magics(shell, course)
    for name in MAGICS:
        shell.register_magic_function(getattr(magics, name), magic_name=name)
    # In front of the others: the script beside a notebook is the stub.
    sys.meta_path[:] = [NotebookFinder(course), *(one for one in sys.meta_path if not isinstance(one, NotebookFinder))]


class Magics:
    """The magics. Their engine stays for the next check, and ends with the kernel."""

    def __init__(self, shell: Any, course: Course) -> None:
        """Start the engine in the background, because it has to import torch."""
        self._cells = NotebookCells(shell, course)
        self._course = course
        self._console = Console(
            force_terminal=True,
            force_jupyter=False,  # or it would show each line as a table of its own
            width=WIDTH,
            color_system="standard",
            highlight=False,
        )
        self._grading = visible_grading(course)
        self._starting = threading.Thread(target=self._start, daemon=True)
        self._starting.start()

    def _start(self) -> None:
        try:
            self._grading.rubric()
        except GraderError:  # the first check finds out why
            self._grading.close()

    def check(self, line: str) -> None:
        """Run the visible tests of an exercise or a unit on the cells that were run, and print the result."""
        self._run("check", line, self._check)

    def hint(self, line: str) -> None:
        """Print the next hint of an exercise."""
        self._run("hint", line, self._hint)

    def show(self, line: str) -> None:
        """Check an exercise or a unit, and draw what its code computes beside what is expected."""
        self._run("show", line, lambda name: self._check(name, exercises_to_draw(self._course, name)))

    def _run(self, magic: str, line: str, do: Callable[[str], None]) -> None:
        """Do something with the name behind a magic. Print an error without a traceback."""
        try:
            if not line.strip():
                raise GraderError(f"Write the name of an exercise or a unit: %{magic} NAME")
            do(line.strip())
        except GraderError as error:
            self._say(str(error))

    def _hint(self, name: str) -> None:
        try:
            folder = answers_folder(self._course)
        except GraderError:  # as on Colab
            folder = current_folder()
        with writing("The last hint could not be remembered"):
            show_next_hint(self._course, folder, name, self._console, prefix="%")

    def _check(self, name: str, drawn: Sequence[str] = ()) -> None:
        answers, note = self._cells.answers(name)
        self._starting.join()
        names = drawn or [name]
        graded = check_answers(self._course, answers, names, self._grading, drawn)
        if note:
            self._say(note)
        print_report(graded.report, read_rules(self._course), names, self._console)
        if drawn:
            print_pictures(graded.drawings, self._console)

    def _say(self, text: str) -> None:
        self._console.print(safe(text, self._console))
