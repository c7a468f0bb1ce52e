"""`grader new`: a course, a unit or an exercise to start from."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from grader.cli.console import CourseFolder, one_of, out

if TYPE_CHECKING:
    from collections.abc import Iterator

new = typer.Typer(no_args_is_help=True, help="Write a course, a unit or an exercise to start from.")


@new.command("course")
def course(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist.")],
    title: Annotated[str | None, typer.Option(help="The course's title.  [default: the folder's name]")] = None,
) -> None:
    """Write a small course that works: one unit, two exercises and a quiz."""
    from grader.course.new import new_course

    with _writing():
        _say(new_course(folder, title or folder.resolve().name))
    out.print(f"Next: cd {shlex.quote(str(folder))} && grader build", soft_wrap=True, markup=False)


@new.command("unit")
def unit(
    name: Annotated[str, typer.Argument(help="The unit's name, which is that of its file.")],
    title: Annotated[str | None, typer.Option(help="The unit's title.  [default: its name in words]")] = None,
    course: CourseFolder = None,
) -> None:
    """Write the files of a new unit, with one exercise and a quiz."""
    from grader.course.find import find_course
    from grader.course.new import new_unit

    with _writing():
        _say(new_unit(find_course(course), name, title or name.replace("_", " ").capitalize()))
    out.print("Next: grader build, which lists what is still to do")


@new.command("exercise")
def exercise(
    unit: Annotated[str, typer.Argument(help="The unit, as autograder.yml names it.")],
    name: Annotated[str, typer.Argument(help="The exercise's name, which is that of its function.")],
    course: CourseFolder = None,
) -> None:
    """Write all that a new exercise needs: a working example to replace."""
    from grader.course.find import find_course
    from grader.course.new import new_exercise

    with _writing():
        found = find_course(course)
        _say(new_exercise(found, one_of(unit, list(found.units)), name))
    out.print("Next: grader build, which lists what is still to do")


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    from grader.errors import InternalError

    try:
        yield
    except OSError as error:
        raise InternalError(f"{error.filename} could not be written: {error.strerror or error}.") from None


def _say(written: list[Path]) -> None:
    for path in written:
        out.print(f"wrote {escape(str(path))}", soft_wrap=True)
