"""`grader new`: a course, a unit or an exercise to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import CourseFolder, Program, one_of, say, writing

NEXT = "Next: grader build, which lists what is still to do"

new = typer.Typer(cls=Program, no_args_is_help=True, help="Write a course, a unit or an exercise to start from.")


@new.command("course")
def course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist.")],
    title: Annotated[str | None, typer.Option(help="The course's title.  [default: the folder's name]")] = None,
) -> None:
    """Write a small course that works: one unit, two exercises and a quiz."""
    from grader.course.new import new_course

    with writing("The course could not be written"):
        _print_written(new_course(folder, title or folder.resolve().name))
    say(f"Next: cd {shlex.quote(str(folder))} && grader build")


@new.command("unit")
def unit(
    name: Annotated[str, typer.Argument(help="The unit's name, which is that of its file.")],
    title: Annotated[str | None, typer.Option(help="The unit's title.  [default: its name in words]")] = None,
    course: CourseFolder = None,
) -> None:
    """Write the files of a new unit, with one exercise and a quiz."""
    from grader.course.model import find_course
    from grader.course.new import new_unit

    with writing("The unit could not be written"):
        _print_written(new_unit(find_course(course), name, title or name.replace("_", " ").capitalize()))
    say(NEXT)


@new.command("exercise")
def exercise(
    unit: Annotated[str, typer.Argument(help="The unit, as autograder.yml names it.")],
    name: Annotated[str, typer.Argument(help="The exercise's name, which is that of its function.")],
    course: CourseFolder = None,
) -> None:
    """Write all that a new exercise needs: a working example to replace."""
    from grader.course.model import find_course
    from grader.course.new import new_exercise

    found = find_course(course)
    with writing("The exercise could not be written"):
        _print_written(new_exercise(found, one_of(unit, list(found.units)), name))
    say(NEXT)


def _print_written(paths: list[Path]) -> None:
    for path in paths:
        say(f"wrote {path}")
