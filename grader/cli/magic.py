"""The student's commands in a notebook: `%load_ext grader` once, then `%check`, `%hint` and `%show` with an exercise.

A check takes the cells that were run in this session, in their last version, so an unsaved notebook works too, also
where no file is beside the kernel, as on Colab.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from rich.console import Console

from grader.cli.check import print_report
from grader.cli.console import safe, writing
from grader.course.guidance import read_rules
from grader.course.model import find_course
from grader.course.root import current_folder
from grader.errors import GraderError
from grader.practice.check import answers_folder, check_answers, visible_grading
from grader.practice.hints import show_next_hint
from grader.practice.kernel import Cells, NotebookFinder
from grader.practice.pictures.show import exercises_to_draw, print_pictures
from grader.submissions.notebook import MAGICS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grader.course.model import Course

WIDTH = 80
"""Of an output cell beside an open side bar. It would break a longer line in the middle of a word."""


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
        self._cells = Cells(shell, course)
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
