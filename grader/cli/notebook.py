"""`grader notebook` and `grader script`: turn a unit's script into a notebook, and back."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, say, writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.course.model import Course
    from grader.practice.notebook import Converted

Unit = Annotated[str, typer.Argument(help="The unit, or one of its exercises.")]


def notebook(unit: Unit, course: CourseFolder = None) -> None:
    """Make a notebook of a unit's script, with a cell that checks each exercise. The notebook is graded then."""
    from grader.practice.notebook import write_notebook

    _convert(write_notebook, unit, course)


def script(unit: Unit, course: CourseFolder = None) -> None:
    """Make a script of a unit's notebook. The script is graded then."""
    from grader.practice.notebook import write_script

    _convert(write_script, unit, course)


def _convert(write: Callable[[Course, str, datetime.datetime], Converted], name: str, course: Path | None) -> None:
    from grader.course.model import find_course
    from grader.practice.check import unit_of

    found = find_course(course)
    with writing("Nothing was changed"):
        converted = write(found, unit_of(name, found), datetime.datetime.now().astimezone())
    say(f"Wrote {os.path.relpath(converted.written)}. Work in it from now on: it is the file that is graded.")
    for backup in converted.backups:
        say(f"Your old file is {backup}")
