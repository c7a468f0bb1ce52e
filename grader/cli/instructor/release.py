"""`grader release`: the course as others receive it."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from grader.cli.console import CourseFolder, out
from grader.integrations.release import GradingMode

if TYPE_CHECKING:
    from collections.abc import Iterator

release = typer.Typer(no_args_is_help=True, help="Write the course as others receive it.")


@release.command("nbgrader")
def release_nbgrader(
    directory: Annotated[Path, typer.Argument(help="The nbgrader course's folder.")],
    course: CourseFolder = None,
) -> None:
    """Write the source of an nbgrader course: a notebook a unit, with the points of each exercise and quiz item."""
    from grader.course.find import find_course
    from grader.engine.client import Grading
    from grader.integrations.nbgrader.release import CONFIGURATION, configure_lines, is_configured
    from grader.integrations.nbgrader.release import release_nbgrader as write
    from grader.quizzes.source import load_quizzes

    with _releasing(directory):
        found = find_course(course)
        quizzes = load_quizzes(found.solutions, found.quizzes)
        with Grading(found, quizzes, allow_unisolated=True) as grading:  # no student's code is run
            rubric = grading.rubric()
        for path in write(directory, found, rubric):
            _say(f"wrote {path}")
    if not is_configured(directory):
        _say(f"{directory / CONFIGURATION} is yours and stays as it is. Put these two lines at its end:")
        for line in configure_lines(found):
            _say(f"    {line}")
    next_unit = next(iter(found.units))
    _say(f"Next: cd {shlex.quote(str(directory))} && nbgrader generate_assignment {next_unit}")


@release.command("github")
def release_github(
    directory: Annotated[Path, typer.Argument(help="The folder of the repository, also of an earlier release.")],
    grading: Annotated[
        GradingMode, typer.Option(help="What a push runs: the visible tests, or hidden ones by key or reusable.")
    ] = GradingMode.record,
    course: CourseFolder = None,
) -> None:
    """Write the repository that students receive. Where it is already there, update all but students' answers."""
    from grader.course.find import find_course
    from grader.integrations.github.release import release_github as write

    with _releasing(directory):
        released = write(directory, find_course(course), grading)
    if released.is_new:
        _say(f"wrote {directory}: {len(released.written)} files in one commit")
        _say(f"Next: cd {shlex.quote(str(directory))} && git push ADDRESS main")
        return
    for what, paths in (
        ("wrote", released.written),
        ("removed, for the course has it no longer:", released.removed),
        ("replaced, though somebody had changed it:", released.overwritten),
        ("kept, for somebody has worked on it:", released.kept),
    ):
        for path in paths:
            _say(f"{what} {directory / path}")
    if released.is_committed:
        _say(f"All of it is in one commit. Next: cd {shlex.quote(str(directory))} && {released.push}")
    else:
        _say("Nothing has changed since the last release: there is no new commit.")


@release.command("classroom50")
def release_classroom50(
    directory: Annotated[Path, typer.Argument(help="The folder of the bundle.")],
    course: CourseFolder = None,
) -> None:
    """Write the bundle of an assignment in Classroom 50: an autograder by the visible tests, for all to read."""
    from grader.course.find import find_course
    from grader.integrations.classroom50.release import release_classroom50 as write

    with _releasing(directory):
        for path in write(directory, find_course(course)):
            _say(f"wrote {path}")
    _say("Next: copy what is in it to CLASSROOM/autograders/ASSIGNMENT/ in your classroom50 repository.")


@release.command("gradescope")
def release_gradescope(
    directory: Annotated[Path, typer.Argument(help="The folder of the autograder.")],
    course: CourseFolder = None,
) -> None:
    """Write an autograder for Gradescope, by the hidden tests, which it holds: for instructors alone."""
    from grader.course.find import find_course
    from grader.integrations.gradescope.release import release_gradescope as write

    with _releasing(directory):
        for path in write(directory, find_course(course)):
            _say(f"wrote {path}")
    _say(f"Next: cd {shlex.quote(str(directory))} && zip -r ../autograder.zip .")


@contextlib.contextmanager
def _releasing(directory: Path) -> Iterator[None]:
    """Report that nothing was released, where a file cannot be written."""
    from grader.errors import InternalError

    try:
        yield
    except OSError as error:
        raise InternalError(f"The release could not be written to {directory}: {error.strerror or error}.") from None


def _say(line: str) -> None:
    """Print one line without markup."""
    out.print(escape(line), soft_wrap=True)
