"""`grader collect`, `grader status` and `grader feedback`: a class on GitHub."""

from __future__ import annotations

import datetime
import enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, one_of, require_folder, say, stop, writing
from grader.cli.instructor.progress_bar import progress
from grader.errors import IMPERFECT, GraderError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Way(enum.StrEnum):
    """Where students read their feedback."""

    branch = "branch"
    comment = "comment"
    folder = "folder"


def collect(
    roster: Annotated[Path, typer.Argument(help="The students, as CSV, with the columns student and repository.")],
    into: Annotated[Path, typer.Option("--out", help="The folder to write <unit>/<student>/ to.")],
    unit: Annotated[str | None, typer.Option(help="Collect this unit alone, even if it is not over.")] = None,
    folder_of_course: CourseFolder = None,
) -> None:
    """Get from GitHub what each student had pushed when a unit was due. Exit 1 if it is missing or may be late."""
    from grader.classes.collected import COLLECTED
    from grader.classes.roster import read_roster
    from grader.course.model import find_course
    from grader.files import FolderInUse
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.collect import collect as collect_class
    from grader.integrations.github.collect import folders, times
    from grader.text import in_words

    course = find_course(folder_of_course)
    if unit is not None:
        one_of(unit, list(course.units))
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
    from grader.integrations.github.sender import send
    from grader.integrations.github.status import statuses

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
    from grader.course.model import find_course
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.feedback import deliveries, pages_to_folder, to_branch, to_comments, to_folder
    from grader.integrations.github.sender import send
    from grader.text import listed

    if (to is Way.folder) != (into is not None):
        raise GraderError("--out: name a folder with `--to folder`, and leave the option out otherwise.")
    if as_page and to is not Way.folder:
        raise GraderError("--html: GitHub shows no pages, so use it with `--to folder`.")
    if collected is None and to is not Way.folder:
        raise GraderError("--collected: name the collected.json of `grader collect`, which has the repositories.")
    course, now = find_course(folder_of_course), datetime.datetime.now(datetime.UTC)
    found = grades(read_collected(collected), reports) if collected else grades_in(read_reports(course, reports))
    if into is None:
        way = partial(to_branch if to is Way.branch else to_comments, GitHub.from_environment(), course, now)
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
