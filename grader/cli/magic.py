"""The checks in a notebook: `%load_ext grader` once, then `%check EXERCISE` below each exercise.

A check takes the cells that were run in this session, in their last version, so an unsaved notebook works too, also
where no file is beside the kernel, as on Colab.
"""

from __future__ import annotations

import sys
import threading
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich.console import Console

from grader.cli.check import print_report
from grader.course.find import find_course
from grader.course.rules import read_rules
from grader.errors import GraderError
from grader.practice.check import check_answers, visible_grading
from grader.practice.kernel import Cells, NotebookFinder
from grader.submissions.notebook import CHECK_MAGIC

if TYPE_CHECKING:
    from grader.course.model import Course

WIDTH = 100


def load(shell: Any) -> None:
    """Add `%check` to an IPython shell, and let its code import units that are notebooks."""
    course = find_course()
    shell.register_magic_function(Checks(shell, course).check, magic_name=CHECK_MAGIC)
    # In front of the others: the script beside a notebook is the stub.
    sys.meta_path[:] = [NotebookFinder(course), *(one for one in sys.meta_path if not isinstance(one, NotebookFinder))]


class Checks:
    """The magic `%check`. Its engine stays for the next check, and ends with the kernel."""

    def __init__(self, shell: Any, course: Course) -> None:
        """Start the engine in the background, because it has to import torch."""
        self._cells = Cells(shell, course)
        self._course = course
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
        name = line.strip()
        try:
            print(self._checked(name))
        except GraderError as error:
            print(error)

    def _checked(self, name: str) -> str:
        if not name:
            raise GraderError(f"Write the name of an exercise or a unit: %{CHECK_MAGIC} NAME")
        answers, note = self._cells.answers(name)
        self._starting.join()
        report = check_answers(self._course, answers, [name], self._grading).report
        printed = StringIO()
        console = Console(
            file=printed,
            force_terminal=True,
            force_jupyter=False,  # or it would show each line as a table of its own
            width=WIDTH,
            color_system="standard",
            highlight=False,
        )
        print_report(report, read_rules(self._course), [name], console)
        return note + printed.getvalue().rstrip()
