"""`grader release`: write the course as others receive it."""

from __future__ import annotations

import contextlib
import datetime
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, Program, err, one_of, say, stop, writing
from grader.errors import IMPERFECT, GraderError
from grader.integrations.release import GradingMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grader.course.model import Course
    from grader.integrations.github.update import Released

release = typer.Typer(cls=Program, no_args_is_help=True, help="Write the course as others receive it.")


@release.command("nbgrader")
def release_nbgrader(
    directory: Annotated[Path, typer.Argument(help="The nbgrader course's folder.")],
    course: CourseFolder = None,
) -> None:
    """Write the source of an nbgrader course: a notebook a unit, with the points of each exercise and quiz item.

    In notebooks that are there, what you added or edited stays. Nothing is written if a cell cannot be merged.
    """
    from grader.course.model import find_course
    from grader.engine.grading import Grading
    from grader.integrations.nbgrader.release import CONFIGURATION, configure_lines, is_configured
    from grader.integrations.nbgrader.update import next_commands
    from grader.integrations.nbgrader.update import release_nbgrader as write
    from grader.quizzes.source import load_quizzes

    with writing(f"The release could not be written to {directory}"):
        found = find_course(course)
        quizzes = load_quizzes(found.solutions, found.quizzes)
        with Grading(found, quizzes, allow_unisolated=True) as grading:  # no student's code is run
            rubric = grading.rubric()
        released = write(directory, found, rubric)
    for path in released.written:
        say(f"wrote {path}")
    for path, old in released.replaced.items():
        say(f"updated {path}; the notebook before: {old}")
    for sentence in released.kept:
        say(sentence)
    if not released.written and not released.replaced:
        say(f"The notebooks in {directory / 'source'} are up to date.")
    if not is_configured(directory):
        say(f"{directory / CONFIGURATION} is yours and stays as it is. Put these two lines at its end:")
        for line in configure_lines(found):
            say(f"    {line}")
    if commands := next_commands(directory, list(found.units)):
        say(f"Next: {' && '.join([f'cd {shlex.quote(str(directory))}', *commands])}")


@release.command("github")
def release_github(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="The folder of the repository; with --update, of each.")
    ],
    grading: Annotated[
        GradingMode | None,
        typer.Option(
            help="What a push runs: the visible tests (record), or the hidden ones (key).  [default: as before; of a "
            "new repository, record]"
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Bring repositories of an earlier release up to date, and write no other.")
    ] = False,
    course: CourseFolder = None,
) -> None:
    """Write the repository that students receive. Where it is already there, update all but students' answers."""
    from grader.course.model import find_course
    from grader.integrations.github.release import release_github as write
    from grader.integrations.github.update import is_release

    found = find_course(course)
    if not update and len(directories) > 1:
        raise GraderError("Name one folder; with --update, those of several repositories.")
    failed: typer.Exit | None = None
    for directory in directories:
        try:
            if update and not is_release(directory):
                raise GraderError(
                    f"{directory} is not a repository that `grader release github` made: name the folder of a clone."
                )
            with _releasing(directory):
                released = write(directory, found, grading)
        except GraderError as error:
            if len(directories) == 1:
                raise
            failed = stop(IMPERFECT, str(error))
        else:
            _print_released(directory, released)
    if failed:
        raise failed


def _print_released(directory: Path, released: Released) -> None:
    """Print what happened to each file of a release, and how to push it."""
    if released.is_new:
        say(f"wrote {directory}: {len(released.written)} files in one commit")
        say(f"Next: cd {shlex.quote(str(directory))} && git push ADDRESS main")
        return
    for what, paths in (
        ("wrote", released.written),
        ("removed, because the course no longer has it:", released.removed),
        ("replaced, although somebody had changed it:", released.overwritten),
        ("kept, because somebody has worked on it:", released.kept),
    ):
        for path in paths:
            say(f"{what} {directory / path}")
    if released.is_committed:
        say(f"All of it is in one commit. Next: cd {shlex.quote(str(directory))} && {released.push}")
    else:
        say(f"Nothing has changed in {directory} since the last release: there is no new commit.")


@release.command("classroom50")
def release_classroom50(
    directory: Annotated[Path, typer.Argument(help="The folder of the bundle.")],
    course: CourseFolder = None,
) -> None:
    """Write the bundle of an assignment in Classroom 50: an autograder by the visible tests, for all to read."""
    from grader.integrations.classroom50.release import release_classroom50 as write

    found = _write(directory, course, write)
    say("Next: copy what is in it to CLASSROOM/autograders/ASSIGNMENT/ in your classroom50 repository.")
    say(f'Set "python": "{found.python}" in the assignment\'s runtime, as in autograder.yml.')


@release.command("gradescope")
def release_gradescope(
    directory: Annotated[Path, typer.Argument(help="The folder of the autograder.")],
    unit: Annotated[str | None, typer.Option(help="Grade this unit alone.")] = None,
    course: CourseFolder = None,
) -> None:
    """Write an autograder for Gradescope, by the hidden tests, which it holds: for instructors alone."""
    from grader.integrations.gradescope.release import release_gradescope as write

    _write(directory, course, lambda into, found: write(into, found, unit and one_of(unit, list(found.units))))
    say(f"Next: cd {shlex.quote(str(directory))} && rm -f ../autograder.zip && zip -r ../autograder.zip .")


@release.command("solutions")
def release_solutions(
    units: Annotated[list[str], typer.Argument(metavar="UNIT...", help="The units, as autograder.yml names them.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a student's repository, or another.")],
    course: CourseFolder = None,
) -> None:
    """Publish the solutions of units after their due date: DIR/solutions/UNIT.py, for `grader solution`."""
    from grader.course.model import find_course
    from grader.integrations.release.solutions import release_solutions as write

    found = find_course(course)
    now = datetime.datetime.now(datetime.UTC)
    with writing(f"The solutions could not be written to {directory}"):
        for path in write(directory, found, [one_of(unit, list(found.units)) for unit in units], now):
            say(f"wrote {path}")
    if (directory / ".git").exists():
        say(f"Next: cd {shlex.quote(str(directory))} && git add solutions && git commit -m Solutions && git push")


def _write(directory: Path, course: Path | None, write: Callable[[Path, Course], list[Path]]) -> Course:
    """Write a release, and print its files. Return the course."""
    from grader.course.model import find_course

    with _releasing(directory):
        found = find_course(course)
        paths = write(directory, found)
    for path in paths:
        say(f"wrote {path}")
    return found


@contextlib.contextmanager
def _releasing(directory: Path) -> Iterator[None]:
    """Say that this takes a while: the first release after a change of suites compares misconceptions again."""
    with writing(f"The release could not be written to {directory}"), err.status("writing; it can take two minutes"):
        yield
