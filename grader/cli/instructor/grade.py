"""`grader grade`: grades submissions and prints the class."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from grader.cli.console import CourseFolder, listed, one_of, out, progress, require_folder, stop
from grader.cli.instructor.class_table import print_reading, print_table
from grader.errors import IMPERFECT, INTERNAL, GraderError, InternalError

if TYPE_CHECKING:
    from grader.course.model import Course
    from grader.quizzes.source import Quiz
    from grader.reports.model import Report
    from grader.submissions.ignored import Ignored
    from grader.submissions.source import Submission
    from grader.submissions.tree import Files


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
    from grader.course.find import find_course
    from grader.engine.client import SandboxUnavailable
    from grader.files import FolderInUse
    from grader.quizzes.source import load_quizzes
    from grader.reports.fingerprint import is_up_to_date, up_to_date_part
    from grader.reports.model import read_report, reports_folder, reports_of_others
    from grader.submissions.find import find_submissions
    from grader.submissions.reader import read_submission

    course = find_course(folder_of_course)
    names = list(course.units) if unit is None else [one_of(unit, list(course.units))]
    quizzes = load_quizzes(course.solutions, course.quizzes)
    came = find_submissions(submissions, course.units, student, layout)
    require_folder(into)
    for _, submission in came.found:
        if isinstance(submission, Path) and course.root.is_relative_to(submission.resolve()):
            raise GraderError(f"{course.root} lies in the submission {submission}: give your own course, --course DIR.")

    now = datetime.datetime.now(datetime.UTC)
    found = came.found
    ignored: dict[Ignored, list[str]] = {}
    kept: list[Report] = []
    graded: list[Report] = []
    faults: list[str] = []
    changed: dict[str, list[str]] = {}
    # What lies within a submission may be the student's own making.
    is_ours = not any(isinstance(one, Path) and into.resolve().is_relative_to(one.resolve()) for _, one in found)

    def read(name: str, folder: Path | Files, units: list[str]) -> Submission:
        asked = [unit for unit in course.units if unit in units]
        sheets = [unit for unit in asked if unit in quizzes]
        return read_submission(name, folder, asked, course.exercises, course.units, sheets, unit)

    def waiting() -> Iterator[Submission]:
        """Those that have no report yet, or one that would change, with what stays of it where one unit is graded."""
        for name, folder in found:
            report = read_report(name, into) if is_ours else None
            if report and not (report.isolation.enough or allow_unisolated):
                report = None
            others = [one for one in course.units if report and one in report.units and one not in names]
            submission = read(name, folder, [*names, *others])
            if report and others:
                earlier = up_to_date_part(report, others, submission, course, quizzes, now)
                lost = [one for one in others if earlier is None or one not in earlier.units]
                for one in lost:
                    changed.setdefault(one, []).append(name)
                if lost:
                    submission = read(name, folder, [one for one in [*names, *others] if one not in lost])
                submission = dataclasses.replace(submission, kept=earlier)
            for left_out in submission.ignored:
                ignored.setdefault(left_out, []).append(name)
            if report and not (force or again) and is_up_to_date(report, submission, course, quizzes, now):
                kept.append(report)
                advance(name, "skipped")
            else:
                yield submission

    try:
        with reports_folder(into), progress(len(found), "grading") as advance:
            for name, outcome in _grade(waiting(), course, quizzes, into, jobs, allow_unisolated, now):
                if isinstance(outcome, str):
                    faults.append(f"{name} was not graded: {outcome}.")
                else:
                    graded.append(outcome)
                    advance(name, "graded")
    except FolderInUse as error:
        who = f"process {error}" if str(error) else "it has only just begun"
        raise GraderError(
            f"--out: another batch is writing to {into} ({who}): wait for its end, or name another folder."
        ) from None
    except SandboxUnavailable:
        raise
    except InternalError as error:
        faults.append(str(error))
    except OSError as error:
        faults.append(f"A report could not be written to {into}: {error.strerror or error}. Those before it are whole.")

    reports = [*kept, *graded]
    missed = {name for name, _ in found} - {report.student for report in reports}
    if reports:
        print_reading(came, ignored, reports)
    print_table(reports, missed, course, into)
    if kept:
        is_one = len(kept) == 1
        what, whom = ("report is up to date and was", "it") if is_one else ("reports are up to date and were", "them")
        out.print(f"{len(kept)} of {len(found)} {what} skipped (--force regrades {whom}).")
    for name, students in changed.items():
        out.print(
            f"{name} has changed since it was graded, and is no longer in the reports of {escape(listed(students))}: "
            "grade without --unit.",
            soft_wrap=True,
        )
    # Of a class, not of single submissions out of one.
    is_class = came.layouts != ["single"]
    if is_ours and is_class and (gone := reports_of_others(into, {name for name, _ in found})):
        who = f"reports of students without a submission here: {escape(listed(gone))}."
        out.print(f"{escape(str(into))} also holds {who}", soft_wrap=True)
    if faults:
        rest = f"{len(missed)} of {len(found)} were not graded: the same command again continues with them."
        raise stop(INTERNAL, *came.problems, *faults, rest)
    if came.problems:
        raise stop(IMPERFECT, *came.problems, "All others were graded.")
    if strict and any(report.points < report.possible for report in reports):
        raise typer.Exit(IMPERFECT)


def _grade(
    submissions: Iterator[Submission],
    course: Course,
    quizzes: dict[str, Quiz],
    into: Path,
    jobs: int,
    allow_unisolated: bool,
    now: datetime.datetime,
) -> Iterator[tuple[str, Report | str]]:
    """Each student with the report, once it is written, or with why there is none.

    Raises InternalError; and OSError where a report cannot be written.
    """
    from grader.engine.client import Grading, SandboxUnavailable
    from grader.reports.model import write_report

    with Grading(course, quizzes, allow_unisolated) as grading:
        try:
            for submission, graded in grading.reports(submissions, jobs, now):
                if isinstance(graded, str):
                    yield submission.student, graded
                else:
                    earlier = submission.kept.units if submission.kept else ()
                    write_report(graded.report, graded.pytest, into, earlier)
                    yield submission.student, graded.report
        except SandboxUnavailable as error:
            raise SandboxUnavailable([*error.missing, "To grade without isolation: --allow-unisolated"]) from None
