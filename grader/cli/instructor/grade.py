"""`grader grade` and `grader regrade`: grade a class, and show first what another grading would change."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, can_ask, err, out, progress, read_course, require_folder, say, stop
from grader.cli.instructor.class_table import print_class, print_differences, print_open_cases, print_reading
from grader.errors import IMPERFECT, INTERNAL, GraderError
from grader.machine import RUNNING
from grader.text import listed

if TYPE_CHECKING:
    from grader.classes.batch import Batch
    from grader.classes.hand_ins import HandIns, Shard
    from grader.submissions.find import Submissions

Given = Annotated[
    list[Path], typer.Argument(metavar="SUBMISSIONS...", help="Folders or archives of submissions, or of classes.")
]
Unit = Annotated[str | None, typer.Option(help="Grade this unit alone.")]
Roster = Annotated[
    Path | None, typer.Option(help="The students, as CSV. times.csv and adjustments.csv beside it are read too.")
]
Layout = Annotated[
    str | None, typer.Option(help="How the submissions lie: moodle, canvas, gradescope, units, folders or single.")
]
Jobs = Annotated[int | None, typer.Option(min=1, help="How many to grade at once; by default, one for each processor.")]


def grade(
    submissions: Given,
    into: Annotated[Path, typer.Option("--out", help="The folder to write <student>.json to.")],
    unit: Unit = None,
    roster: Roster = None,
    student: Annotated[str | None, typer.Option(help="The student's name, where it is not the folder's.")] = None,
    layout: Layout = None,
    jobs: Jobs = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Grade on the workers of this Dask cluster.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="N/M", help="Grade the n-th of m parts of the class, such as 2/5.")
    ] = None,
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run student code even where it cannot be isolated.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 unless everyone has full marks.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also grade those whose report is up to date.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Grade submissions, and write one JSON report for each student. Reports that change are kept in OUT/earlier."""
    from grader.classes.hand_ins import Shard

    if scheduler is not None:
        from grader.cluster.connection import read_address

        read_address(scheduler)
        if jobs is not None:
            raise GraderError("--jobs: the workers of the cluster decide how many are graded at once: leave it out.")
    part = Shard.read(shard) if shard is not None else None
    came, handed_in, batch = _prepare(submissions, into, unit, roster, student, layout, folder_of_course, part)
    batch.force, batch.allow_unisolated = force, allow_unisolated
    _run(batch, jobs, scheduler)
    say(*handed_in.problems, *came.problems)
    if batch.reports:
        print_reading(came, handed_in, batch)
    if part:
        say(f"Part {part.number} of {part.count}: {len(batch.found)} students. The others are left out.")
    print_class(batch)
    _print_notes(batch, came, part)
    print_open_cases(batch)
    _stop_with_problems(batch, came, handed_in)
    if strict and any(report.points < report.possible for report in batch.reports):
        raise typer.Exit(IMPERFECT)


def regrade(
    submissions: Given,
    into: Annotated[Path, typer.Option("--out", help="The folder of the reports.")],
    unit: Unit = None,
    roster: Roster = None,
    layout: Layout = None,
    jobs: Jobs = None,
    write: Annotated[bool, typer.Option("--write", help="Write the new reports without a question.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Grade again, show whose points would change and why, and write the reports only then."""
    from grader.classes.differences import difference

    came, handed_in, batch = _prepare(submissions, into, unit, roster, None, layout, folder_of_course)
    batch.writes = False
    _run(batch, jobs)
    say(*handed_in.problems, *came.problems)
    print_reading(came, handed_in, batch)
    found = [one for made in batch.graded if (one := difference(made.before, made.report, batch.course))]
    print_differences(found, len(batch.reports))
    if not batch.faults:
        _offer_to_write(batch, {one.student for one in found}, write)
    _stop_with_problems(batch, came, handed_in)


def _offer_to_write(batch: Batch, shown: set[str], write: bool) -> None:
    """Write the reports that change if the instructor says so; the points of the students in `shown` change."""
    from grader.reports.folder import says_something_else

    changed = [one for one in batch.graded if one.before is None or says_something_else(one.before, one.report)]
    if others := [one.report.student for one in changed if one.report.student not in shown]:
        say(f"Reports that change without the points, such as in comments, times, tests or feedback: {listed(others)}.")
    if not changed:
        return
    if not write and not can_ask(out):
        raise stop(IMPERFECT, "Nothing was written: the same command with --write writes the reports.")
    if not write and not typer.confirm("Write these reports?"):
        say("Nothing was written.")
        return
    batch.write()
    say(f"Reports: {batch.into}/<student>.json. The earlier ones are in {batch.into}/earlier/<student>/.")


def _prepare(
    submissions: list[Path],
    into: Path,
    unit: str | None,
    roster: Path | None,
    student: str | None,
    layout: str | None,
    folder_of_course: Path | None,
    part: Shard | None = None,
) -> tuple[Submissions, HandIns, Batch]:
    """Read the course and the roster, and find the submissions; all of the class, or those of a part of it."""
    from grader.classes.batch import Batch
    from grader.classes.dating import Dating
    from grader.classes.decisions import read_decisions
    from grader.classes.hand_ins import groups, hand_ins
    from grader.classes.times import is_collected
    from grader.classes.work import named_otherwise
    from grader.quizzes.quiz_source import load_quizzes
    from grader.submissions.find import find_submissions

    course = read_course(folder_of_course, unit)
    if course.python != RUNNING:
        what = f"This is Python {RUNNING}, and autograder.yml names Python {course.python} for grading"
        err.print(f"{what}: install the grader for that one, or change `python` there.", soft_wrap=True)
    quizzes = load_quizzes(course.solutions, course.quizzes)
    decisions = read_decisions(roster, course, submissions)
    came = find_submissions(submissions, course.units, student, layout, decisions.folders)
    for found in came.found:
        if isinstance(found.tree, Path) and course.root.is_relative_to(found.tree.resolve()):
            raise GraderError(f"{course.root} lies in the submission {found.tree}: give your own course, --course DIR.")
    require_folder(into)
    handed_in = hand_ins(came, decisions, named_otherwise(decisions.entries, into))
    # A group is in one part, so that it is graded once.
    of = {one: handed_in.of[one] for group in groups(handed_in.of) if not part or part.has(min(group)) for one in group}
    dating = Dating(decisions, submissions, handed_in.of, [unit] if unit else course.units)
    batch = Batch(course, quizzes, unit, of, into, datetime.datetime.now(datetime.UTC), decisions, dating)
    # One submission of a class says nothing about its other students. `grader collect` makes an empty folder for those
    # who pushed nothing, and none for those whose repository could not be read.
    if came.layouts != ["single"] and not any(map(is_collected, submissions)):
        batch.add_absent((name for name in handed_in.absent if not part or part.has(name)), submissions)
    for name, reason in handed_in.unclear.items():
        if not part or part.has(name):
            batch.withdraw(name, reason)
    return came, handed_in, batch


def _run(batch: Batch, jobs: int | None, scheduler: str | None = None) -> None:
    """Grade, with a bar or a log. Raises GraderError."""
    from grader.engine.grading import SandboxUnavailable
    from grader.files import FolderInUse

    try:
        with progress(len(batch.found), "grading") as shown:
            batch.run(jobs or os.cpu_count() or 1, shown.begin, shown.advance, scheduler)
    except FolderInUse as error:
        who = f"process {error}" if str(error) else "it has only just begun"
        raise GraderError(
            f"--out: another batch is writing to {batch.into} ({who}): wait for its end, or name another folder."
        ) from None
    except SandboxUnavailable as error:
        option = "To grade without isolation: --allow-unisolated"
        raise SandboxUnavailable([*error.missing, option], error.where) from None


def _stop_with_problems(batch: Batch, came: Submissions, handed_in: HandIns) -> None:
    """Raise typer.Exit if somebody was not graded. Why was printed first."""
    unclear = {*handed_in.unclear, *batch.absent.waiting} & batch.reasons.keys()
    others = {name for name, why in came.refused.items() if why not in handed_in.unclear.values()}
    whose = listed(sorted(unclear | others), 50) or "what nobody of the class can have made"
    is_any = handed_in.problems or came.problems or batch.absent.waiting
    problems = [f"Not graded, for the reasons above: {whose}."] if is_any else []
    if batch.faults:
        missed, total = len(batch.missed), len(batch.missed) + len(batch.reports)
        rest = f"{missed} of {total} were not graded: remove the cause, and the same command continues with them."
        raise stop(INTERNAL, *problems, *batch.faults, rest)
    if problems:
        raise stop(IMPERFECT, *problems, *(["All others were graded."] if batch.reports else []))


def _print_notes(batch: Batch, came: Submissions, part: Shard | None) -> None:
    """Print which reports are up to date, which units changed, and which reports have no submission."""
    from grader.reports.folder import INSTRUCTOR, NOT_GRADED

    if batch.skipped:
        is_one = len(batch.skipped) == 1
        what, whom = ("is up to date and was", "it") if is_one else ("are up to date and were", "them")
        reports = "report" if len(batch.found) == 1 else "reports"
        say(f"{len(batch.skipped)} of {len(batch.found)} {reports} {what} skipped (--force regrades {whom}).")
    if batch.redated:
        reports = "1 report has" if batch.redated == 1 else f"{batch.redated} reports have"
        say(f"{reports} new dates, adjustments or groups, and the same results of tests: no code was run for this.")
    for name, students in batch.changed.items():
        say(
            f"{name} has changed since it was graded, and is no longer in the reports of {listed(students)}: "
            f"grade without --unit; or, if each download has one unit, with --out {batch.into}/<unit>."
        )
    if waiting := batch.absent.waiting:
        say(
            f"Not graded from an earlier download, and without a submission here: {listed(list(waiting))}. If nothing "
            f"of theirs is left to grade, remove their lines from {batch.into / INSTRUCTOR / NOT_GRADED}."
        )
    # Single submissions of a class, or a part of it, say nothing about its other students.
    if came.layouts != ["single"] and not part and (others := batch.others()):
        say(f"{batch.into} also holds reports of students without a submission here: {listed(others)}.")
