"""`grader release`, `collect`, `status` and `feedback`: what goes out to students, and what comes back."""

from __future__ import annotations

import contextlib
import datetime
import shlex
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.cli.console import (
    CourseFolder,
    Program,
    err,
    progress,
    read_course,
    require_folder,
    say,
    say_written,
    stop,
    writing,
)
from grader.errors import IMPERFECT, GraderError
from grader.integrations.release import GradingMode

if TYPE_CHECKING:
    from grader.course.model import Course
    from grader.integrations.github.github_release import ReleasedRepository


release = typer.Typer(cls=Program, no_args_is_help=True, help="Write the course as others receive it.")


@release.command("nbgrader")
def release_nbgrader(
    directory: Annotated[Path, typer.Argument(help="The nbgrader course's folder.")],
    course: CourseFolder = None,
) -> None:
    """Write the source of an nbgrader course: a notebook a unit, with the points of each exercise and quiz item.

    In notebooks that are there, what you added or edited stays. Nothing is written if a cell cannot be merged.
    """
    from grader.engine.grading import Grading
    from grader.integrations.nbgrader.nbgrader_release import (
        CONFIGURATION,
        configure_lines,
        is_configured,
        next_commands,
    )
    from grader.integrations.nbgrader.nbgrader_release import release_nbgrader as write
    from grader.quizzes.quiz_source import load_quizzes

    with writing(f"The release could not be written to {directory}"):
        found = read_course(course)
        quizzes = load_quizzes(found.solutions, found.quizzes)
        with Grading(found, quizzes, allow_unisolated=True) as grading:  # no student's code is run
            rubric = grading.rubric()
        released = write(directory, found, rubric)
    say_written(released.written)
    for path, old in released.replaced.items():
        say(f"updated {path}; the notebook before: {old}")
    say(*released.kept)
    if not released.written and not released.replaced:
        say(f"The notebooks in {directory / 'source'} are up to date.")
    if not is_configured(directory):
        say(f"{directory / CONFIGURATION} is yours and stays as it is. Put these two lines at its end:")
        say(*(f"    {line}" for line in configure_lines(found)))
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
    from grader.integrations.github.github_release import is_release
    from grader.integrations.github.github_release import release_github as write

    found = read_course(course)
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


def _print_released(directory: Path, released: ReleasedRepository) -> None:
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
        say(*(f"{what} {directory / path}" for path in paths))
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
    from grader.integrations.release.folder_releases import release_classroom50 as write

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
    from grader.integrations.release.folder_releases import release_gradescope as write

    _write(directory, course, lambda into, found: write(into, found, unit), unit)
    say(f"Next: cd {shlex.quote(str(directory))} && rm -f ../autograder.zip && zip -r ../autograder.zip .")


@release.command("solutions")
def release_solutions(
    units: Annotated[list[str], typer.Argument(metavar="UNIT...", help="The units, as autograder.yml names them.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a student's repository, or another.")],
    course: CourseFolder = None,
) -> None:
    """Publish the solutions of units after their due date: DIR/solutions/UNIT.py, for `grader solution`."""
    from grader.integrations.release.folder_releases import release_solutions as write

    found = read_course(course, *units)
    now = datetime.datetime.now(datetime.UTC)
    with writing(f"The solutions could not be written to {directory}"):
        say_written(write(directory, found, units, now))
    if (directory / ".git").exists():
        say(f"Next: cd {shlex.quote(str(directory))} && git add solutions && git commit -m Solutions && git push")


def _write(
    directory: Path, course: Path | None, write: Callable[[Path, Course], list[Path]], unit: str | None = None
) -> Course:
    """Write a release, and print its files. Return the course."""
    with _releasing(directory):
        found = read_course(course, unit)
        paths = write(directory, found)
    say_written(paths)
    return found


@contextlib.contextmanager
def _releasing(directory: Path) -> Iterator[None]:
    """Say that this takes a while: the first release after a change of suites compares misconceptions again."""
    with writing(f"The release could not be written to {directory}"), err.status("writing; it can take two minutes"):
        yield


Way = Literal["branch", "comment", "folder"]
"""Where students read their feedback."""


def collect(
    roster: Annotated[Path, typer.Argument(help="The students, as CSV, with the columns student and repository.")],
    into: Annotated[Path, typer.Option("--out", help="The folder to write <unit>/<student>/ to.")],
    unit: Annotated[str | None, typer.Option(help="Collect this unit alone, even if it is not over.")] = None,
    folder_of_course: CourseFolder = None,
) -> None:
    """Get from GitHub what each student had pushed when a unit was due. Exit 1 if it is missing or may be late."""
    from grader.classes.collected import COLLECTED
    from grader.classes.roster import read_roster
    from grader.files import FolderInUse
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.collect import collect as collect_class
    from grader.integrations.github.collect import folders, times
    from grader.text import in_words

    course = read_course(folder_of_course, unit)
    entries = read_roster(roster, course.units, folders(course), needs_repository=True)
    github = GitHub.from_environment()
    require_folder(into)
    now = datetime.datetime.now(datetime.UTC)
    units = times(course, None if unit is None else [unit], now)
    try:
        with progress(len(entries), "collecting") as shown, writing(f"Not all could be written to {into}"):
            collected = collect_class(entries, course, units, github, into, now, shown.advance)
    except FolderInUse:
        raise GraderError(f"--out: another `grader collect` is writing to {into}: wait for its end.") from None
    for name, time in collected.units.items():
        say(f"{into / name}: as of {time:%Y-%m-%d %H:%M:%S} UTC")
    groups: dict[str, list[str]] = {}
    for entry in entries:
        groups.setdefault(entry.repository.casefold(), []).append(str(entry))
    if together := [in_words(group) for group in groups.values() if len(group) > 1]:
        say(f"With one repository, and a folder each: {'; '.join(together)}.")
    if not collected.units:
        say("No unit is over yet, so nothing was collected. The current state is kept as a snapshot.")
    say(f"Pushes and anomalies: {into / COLLECTED}")
    names = {entry.student: str(entry) for entry in entries}
    notes = [f"{names[student.student]}: {problem}" for student in collected.students for problem in student.problems]
    if missing := sum(bool(student.problems) for student in collected.students):
        notes.append(f"{missing} of {len(entries)} students could not be collected, or not in full; all others were.")
    notes += [f"{names[student.student]}: {why}" for student in collected.students for why in student.undated]
    if late := sum(bool(student.undated) for student in collected.students):
        notes.append(f"{late} of {len(entries)} students may have been late; they are graded. Look at it yourself.")
    if notes:
        raise stop(IMPERFECT, *notes)


def status(
    reports: Annotated[Path, typer.Argument(help="The folder of <unit>/<student>.json.")],
    collected: Annotated[Path, typer.Option(help="The collected.json of `grader collect`.")],
) -> None:
    """Show students their points on GitHub, beside the commit that was graded. Exit 1 where one cannot be posted."""
    from grader.classes.collected import read_collected
    from grader.classes.record import grades
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.delivery import send, statuses

    found = grades(read_collected(collected), reports)
    _print_sent(send(statuses(found, GitHub.from_environment())), "statuses are posted")


def feedback(
    reports: Annotated[Path, typer.Argument(help="The folder of <student>.json, or of <unit>/<student>.json.")],
    to: Annotated[Way, typer.Option(help="A branch or an issue of each student's repository, or a folder.")],
    into: Annotated[Path | None, typer.Option("--out", help="The folder, for `--to folder`.")] = None,
    collected: Annotated[
        Path | None, typer.Option(help="The collected.json of `grader collect`, for a class on GitHub.")
    ] = None,
    as_page: Annotated[
        bool, typer.Option("--html", help="With `--to folder`: write pages for a browser, not Markdown.")
    ] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Bring students their reports: to GitHub, or to a folder. Exit 1 where one cannot be sent.

    A second run changes only what is different since.
    """
    from grader.classes.collected import read_collected
    from grader.classes.gradebook import read_reports
    from grader.classes.record import grades, grades_in
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.delivery import deliveries, pages_to_folder, send, to_branch, to_comments, to_folder
    from grader.text import listed

    if (to == "folder") != (into is not None):
        raise GraderError("--out: name a folder with `--to folder`, and leave the option out otherwise.")
    if as_page and to != "folder":
        raise GraderError("--html: GitHub shows no pages, so use it with `--to folder`.")
    if collected is None and to != "folder":
        raise GraderError("--collected: name the collected.json of `grader collect`, which has the repositories.")
    course, now = read_course(folder_of_course), datetime.datetime.now(datetime.UTC)
    found = grades(read_collected(collected), reports) if collected else grades_in(read_reports(course, reports))
    if into is None:
        way = partial(to_branch if to == "branch" else to_comments, GitHub.from_environment(), course, now)
    else:
        require_folder(into)
        way = partial(pages_to_folder if as_page else to_folder, into, course, now)
    if missing := [grade.student.student for grade in found if not grade.graded]:
        say(f"Without a grade, so without feedback: {listed(missing)}. `grader gradebook` says why.")
    with writing(f"Not all could be written to {into or 'GitHub'}"):
        _print_sent(send(deliveries(found, way)), "students with a grade have their feedback")


def _print_sent(sent: Iterable[tuple[str, str | None]], what: str) -> None:
    """Print how many were sent, and stop with the problems of the others."""
    problems = dict(sent)
    found = [f"{recipient}: {problem}" for recipient, problem in problems.items() if problem]
    say(f"{len(problems) - len(found)} of {len(problems)} {what}.")
    if found:
        raise stop(IMPERFECT, *found)
