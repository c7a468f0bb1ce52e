"""`grader grade`: grades submissions and prints the class."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, one_of, progress, require_folder, say, stop
from grader.cli.instructor.class_table import print_reading, print_table
from grader.errors import IMPERFECT, INTERNAL, GraderError
from grader.text import listed

if TYPE_CHECKING:
    from grader.classes.batch import Batch
    from grader.submissions.find import Submissions


def grade(
    submissions: Annotated[
        list[Path], typer.Argument(help="Folders or archives of submissions, or of classes of them.")
    ],
    into: Annotated[Path, typer.Option("--out", help="The folder to write <student>.json to.")],
    unit: Annotated[str | None, typer.Option(help="Grade this unit alone.")] = None,
    student: Annotated[str | None, typer.Option(help="The student's name, where it is not the folder's.")] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="How the submissions lie: moodle, canvas, gradescope, units, folders or single."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many to grade at once.")] = os.cpu_count() or 1,
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run student code even where it cannot be isolated.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 unless everyone has full marks.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also grade those whose report is up to date.")] = False,
    again: Annotated[bool, typer.Option("--again", hidden=True, help="The old name of --force.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Grade submissions, and write one JSON report for each student."""
    from grader.classes.batch import Batch
    from grader.course.find import find_course
    from grader.engine.grading import SandboxUnavailable
    from grader.files import FolderInUse
    from grader.quizzes.source import load_quizzes
    from grader.submissions.find import find_submissions

    course = find_course(folder_of_course)
    if unit is not None:
        one_of(unit, list(course.units))
    quizzes = load_quizzes(course.solutions, course.quizzes)
    came = find_submissions(submissions, course.units, student, layout)
    for _, submission in came.found:
        if isinstance(submission, Path) and course.root.is_relative_to(submission.resolve()):
            raise GraderError(f"{course.root} lies in the submission {submission}: give your own course, --course DIR.")
    require_folder(into)
    now = datetime.datetime.now(datetime.UTC)
    batch = Batch(course, quizzes, unit, came.found, into, now, force or again, allow_unisolated)
    try:
        with progress(len(came.found), "grading") as advance:
            batch.run(jobs, advance)
    except FolderInUse as error:
        who = f"process {error}" if str(error) else "it has only just begun"
        raise GraderError(
            f"--out: another batch is writing to {into} ({who}): wait for its end, or name another folder."
        ) from None
    except SandboxUnavailable as error:
        raise SandboxUnavailable([*error.missing, "To grade without isolation: --allow-unisolated"]) from None
    if batch.reports:
        print_reading(came, batch.ignored, batch.reports)
    print_table(batch.reports, batch.missed, course, into)
    _print_notes(batch, came)
    if batch.faults:
        rest = f"{len(batch.missed)} of {len(came.found)} were not graded: the same command again continues with them."
        raise stop(INTERNAL, *came.problems, *batch.faults, rest)
    if came.problems:
        raise stop(IMPERFECT, *came.problems, "All others were graded.")
    if strict and any(report.points < report.possible for report in batch.reports):
        raise typer.Exit(IMPERFECT)


def _print_notes(batch: Batch, came: Submissions) -> None:
    """Print which reports are up to date, which units changed, and which reports have no submission."""
    if batch.skipped:
        is_one = len(batch.skipped) == 1
        what, whom = ("report is up to date and was", "it") if is_one else ("reports are up to date and were", "them")
        say(f"{len(batch.skipped)} of {len(batch.found)} {what} skipped (--force regrades {whom}).")
    for name, students in batch.changed.items():
        say(
            f"{name} has changed since it was graded, and is no longer in the reports of {listed(students)}: "
            "grade without --unit."
        )
    # Single submissions of a class say nothing about its other students.
    if came.layouts != ["single"] and (others := batch.others()):
        say(f"{batch.into} also holds reports of students without a submission here: {listed(others)}.")
