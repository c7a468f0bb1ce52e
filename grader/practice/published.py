"""Prints the solution of an exercise, once the instructor has published it in the student's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.syntax import Syntax

from grader.errors import GraderError
from grader.practice.check import unit_of_exercise
from grader.practice.definitions import NotFound, definition
from grader.quizzes.screen import CODE_THEME
from grader.submissions.file_text import read_text
from grader.submissions.names import PUBLISHED_FOLDER, is_published
from grader.submissions.notebook import CODE_LIMIT
from grader.submissions.tree import UnreadableError

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from rich.console import Console

    from grader.course.model import Course


def published_solution(course: Course, folder: Path, exercise: str, now: datetime.datetime) -> str:
    """Return the code of an exercise's solution from the file that the instructor published.

    Args:
        course: The course.
        folder: The student's folder.
        exercise: The exercise's name.
        now: The time, with a zone.

    Raises:
        GraderError: There is no such exercise, or its solution is not published; the text says when it is due.
    """
    unit = unit_of_exercise(exercise, course)
    path = f"{PUBLISHED_FOLDER}/{unit}.py"
    try:
        text = read_text(folder, path, CODE_LIMIT)
    except UnreadableError as error:
        raise GraderError(str(error)) from None
    if text is None or not is_published(text):
        due = course.units[unit].due_text
        if course.is_over(unit, now):
            raise GraderError(
                f"{path} is not here: {unit} was due on {due}. Get your instructor's latest files, for example with "
                "`git pull`, or ask whether the solutions are published."
            )
        raise GraderError(
            f"The solution of {exercise} is not published yet: {unit} is due on {due}, and your instructor publishes "
            "solutions after that."
        )
    try:
        return definition(text, exercise)
    except NotFound:
        raise GraderError(f"{path} has no {exercise}: get your instructor's file again, with `git pull`.") from None


def show_code(code: str, console: Console) -> None:
    """Print code: in colours in a terminal, and as it is elsewhere."""
    if console.is_terminal:
        console.print(Syntax(code, "python", theme=CODE_THEME, background_color="default", word_wrap=True))
    else:
        console.print(code, end="", markup=False, soft_wrap=True)
