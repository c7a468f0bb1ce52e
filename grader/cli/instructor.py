"""The instructor's command line. Exit codes: 0 done, 1 done but not as was asked, 2 bad input, 3 our own fault."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from grader.cli.console import err, out, run, safe, stop
from grader.cli.release import release
from grader.cli.student import app
from grader.errors import IMPERFECT, INTERNAL, GraderError, InternalError
from grader.text import log_line

if TYPE_CHECKING:
    from grader.audit.verdict import UnitTable
    from grader.course.model import Course
    from grader.quizzes.source import Quiz
    from grader.reports.model import Report
    from grader.submissions.archives import Files
    from grader.submissions.layouts import Submissions
    from grader.submissions.submission import Submission

MOST_NAMES = 20

app.add_typer(release, name="release")
app.info.help = "Grades the course, and builds what students receive."


def main() -> None:
    run(app)


@app.command()
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
        bool, typer.Option("--allow-unisolated", help="Run student code even where nothing locks it in.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 unless everyone has full marks.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Grade also those whose report in the folder would stay the same.")
    ] = False,
) -> None:
    """Grade submissions, and write one JSON report for each student."""
    from grader.course.model import ROOT, load_course
    from grader.engine.client import SandboxUnavailable
    from grader.files import FolderInUse
    from grader.quizzes.source import load_quizzes
    from grader.reports.grading import kept_part, still_holds
    from grader.reports.model import read_report, reports_folder, reports_of_others
    from grader.submissions.layouts import find_submissions
    from grader.submissions.submission import read_submission

    course = load_course()
    names = list(course.units) if unit is None else [_one_of(unit, list(course.units))]
    quizzes = load_quizzes(ROOT / "solutions", course.quizzes)
    came = find_submissions(submissions, course.units, student, layout)
    _require_folder(into)

    now = datetime.datetime.now(datetime.UTC)
    found = came.found
    ignored: dict[str, list[str]] = {}
    kept: list[Report] = []
    graded: list[Report] = []
    faults: list[str] = []
    changed: dict[str, list[str]] = {}
    # What lies within a submission may be the student's own making.
    is_ours = not any(isinstance(one, Path) and into.resolve().is_relative_to(one.resolve()) for _, one in found)

    def read(name: str, folder: Path | Files, units: list[str]) -> Submission:
        asked = [unit for unit in course.units if unit in units]
        sheets = [unit for unit in asked if unit in quizzes]
        return read_submission(name, folder, asked, ROOT / "exercises", course.units, sheets, unit)

    def waiting() -> Iterator[Submission]:
        """Those that have no report yet, or one that would change, with what stays of it where one unit is graded."""
        for name, folder in found:
            report = read_report(name, into) if is_ours else None
            if report and not (report.isolation.enough or allow_unisolated):
                report = None
            others = [one for one in course.units if report and one in report.units and one not in names]
            submission = read(name, folder, [*names, *others])
            if report and others:
                earlier = kept_part(report, others, submission, course, quizzes, now)
                lost = [one for one in others if earlier is None or one not in earlier.units]
                for one in lost:
                    changed.setdefault(one, []).append(name)
                if lost:
                    submission = read(name, folder, [one for one in [*names, *others] if one not in lost])
                submission = dataclasses.replace(submission, kept=earlier)
            for one in submission.ignored:
                ignored.setdefault(one, []).append(name)
            if report and not again and still_holds(report, submission, course, quizzes, now):
                kept.append(report)
                advance(name, "kept")
            else:
                yield submission

    try:
        with reports_folder(into), _progress(len(found), "grading") as advance:
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
        _print_reading(came, ignored, reports)
    _print_table(reports, missed, course, into)
    if kept:
        out.print(f"{len(kept)} of {len(found)} were kept, for they would stay the same. To grade all anew: --again")
    for name, students in changed.items():
        out.print(
            f"{name} has changed since it was graded, and is no longer in the reports of {_listed(students)}: "
            "grade without --unit.",
            soft_wrap=True,
        )
    # Of a class, not of single submissions out of one.
    is_class = came.layouts != ["single"]
    if is_ours and is_class and (gone := reports_of_others(into, {name for name, _ in found})):
        who = f"reports of students without a submission here: {_listed(gone)}."
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


@app.command()
def audit(
    unit: Annotated[str | None, typer.Option(help="Audit this unit alone.")] = None,
    into: Annotated[Path | None, typer.Option("--out", help="Folder of the tables.  [default: build/audit]")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Audit a sample, in a minute, and write nothing.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes to use.")] = os.cpu_count() or 1,
) -> None:
    """Prove the suites: grade answers known to be right or wrong, and write what became of them. Exit 1 on errors.

    Of all units, it writes docs/accuracy.md as well.
    """
    from grader.course.model import ROOT, describe_left_out, load_course
    from grader.files import write_atomically

    course = load_course()
    units = list(course.units) if unit is None else [_one_of(unit, list(course.units))]
    described = describe_left_out(course)

    # Only now, for they import torch.
    from grader.audit.cases import cases_of, sample
    from grader.audit.pages import accuracy_page, write_tables
    from grader.audit.run import criteria_names, run
    from grader.audit.verdict import idle_operators, problems_of, problems_of_a_sample, table_of
    from grader.engine import failure_matrix
    from grader.errors import InternalError
    from grader.testing.misconceptions import build as build_misconceptions

    folder = into or ROOT / "build" / "audit"
    try:
        build_misconceptions(units)
        failure_matrix.fill(course, units)
        cases = [case for name in units for case in cases_of(course, name)]
        cases = sample(cases) if quick else cases
        results = []
        with _progress(len(cases), "auditing") as advance:
            for found in run(cases, jobs):
                results += found
                advance(f"{found[0].case.unit}/{found[0].case.exercise}", "audited", len(found))
        tables = [
            table_of(name, [one for one in results if one.case.unit == name], criteria_names(name), course)
            for name in units
        ]
        written = []
        if quick:
            problems = [one for table in tables for one in problems_of_a_sample(table)]
        else:
            problems = [one for table in tables for one in problems_of(table)]
            # What is left out may be all that an operator applies to.
            problems += idle_operators(tables) if unit is None and not described else []
            written = write_tables(tables, folder, course)
        if not quick and unit is None and into is None:
            written.append(ROOT / "docs" / "accuracy.md")
            written[-1].parent.mkdir(exist_ok=True)
            write_atomically(written[-1], accuracy_page(tables, course))
    except OSError as error:
        raise InternalError(f"The tables could not be written to {folder}: {error.strerror or error}.") from None
    _print_audit(tables)
    for sentence in described:
        out.print(escape(sentence), soft_wrap=True)
    for path in written[-1:]:
        out.print(f"Written: {escape(str(path))}", soft_wrap=True)
    if problems:
        raise stop(IMPERFECT, *problems, f"{len(problems)} problems were found.")


@app.command()
def build() -> None:
    """Write exercises/ from solutions/, apply the misconceptions, and record what each of them loses."""
    from grader.course.build import build as build_exercises
    from grader.course.model import describe_left_out, load_course
    from grader.integrations.github.release import write_workflow
    from grader.testing.misconceptions import build as build_misconceptions

    try:
        course = load_course()
        written = [*build_exercises(), *write_workflow(course), *build_misconceptions(list(course.units))]
        for path in written:
            out.print(f"{'wrote' if path.exists() else 'removed'} {escape(str(path))}", soft_wrap=True)
        from grader.engine import failure_matrix

        missing = failure_matrix.outdated(course, course.units)
        with _progress(len(missing), "recording misconceptions") as advance:
            failure_matrix.fill(course, course.units, lambda exercise: advance(exercise, "recorded", 1))
        for sentence in describe_left_out(course):
            out.print(escape(sentence), soft_wrap=True)
    except OSError as error:
        raise InternalError(f"Not all could be written: {error}.") from None


@app.command()
def collect(
    roster: Annotated[Path, typer.Argument(help="A CSV file: student,repository.")],
    into: Annotated[Path, typer.Option("--out", help="The folder to write <unit>/<student>/ to.")],
    unit: Annotated[str | None, typer.Option(help="Collect this unit alone, even if it is not over.")] = None,
) -> None:
    """Get from GitHub what each student had pushed when a unit was due. Exit 1 if it is missing or may be late."""
    from grader.classes.collected import COLLECTED
    from grader.classes.roster import read_roster
    from grader.course.model import load_course
    from grader.files import FolderInUse
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.collect import collect as collect_class
    from grader.integrations.github.collect import folders, times

    if shutil.which("git") is None:
        raise GraderError("git is missing: install it first.")
    try:
        course = load_course()
        if unit is not None:
            _one_of(unit, list(course.units))
        entries = read_roster(roster, folders(course))
        github = GitHub.from_environment()
        _require_folder(into)
        units = times(course, unit, datetime.datetime.now(datetime.UTC))
        with _progress(len(entries), "collecting") as advance:
            collected = collect_class(entries, course, units, github, into, advance=advance)
    except FolderInUse:
        raise GraderError(f"--out: another `grader collect` is writing to {into}: wait for its end.") from None
    except OSError as error:
        raise InternalError(f"Not all could be written to {into}: {error.strerror or error}.") from None
    for name, time in collected.units.items():
        out.print(f"{escape(str(into / name))}: as of {time:%Y-%m-%d %H:%M:%S} UTC", soft_wrap=True)
    if not collected.units:
        out.print("No unit is over yet, so nothing was collected. What was there now is kept as a snapshot.")
    out.print(f"What was seen and noticed: {escape(str(into / COLLECTED))}", soft_wrap=True)
    told = [f"{student.student}: {problem}" for student in collected.students for problem in student.problems]
    undated = [f"{student.student}: {why}" for student in collected.students for why in student.undated]
    if missing := sum(bool(student.problems) for student in collected.students):
        told.append(f"{missing} of {len(entries)} students could not be collected, or not in full; all others were.")
    if late := sum(bool(student.undated) for student in collected.students):
        told += [
            *undated,
            f"{late} of {len(entries)} students may have been late; they are graded. Look at it yourself.",
        ]
    if told:
        raise stop(IMPERFECT, *told)


@app.command()
def table(
    reports: Annotated[Path, typer.Argument(help="The folder of <unit>/<student>.json.")],
    collected: Annotated[Path, typer.Option(help="The collected.json of `grader collect`.")],
    into: Annotated[Path, typer.Option("--out", help="The CSV file to write.")],
) -> None:
    """Write the grades of a class as CSV, and print them as Markdown."""
    from grader.classes.collected import read_collected
    from grader.classes.gradebook import csv_text, grades, markdown_text
    from grader.files import write_atomically

    try:
        found = grades(read_collected(collected), reports)
        write_atomically(into, csv_text(found))
    except OSError as error:
        raise GraderError(f"--out: {into} cannot be written ({error.strerror}): name another file.") from None
    typer.echo(markdown_text(found))


@app.command()
def status(
    reports: Annotated[Path, typer.Argument(help="The folder of <unit>/<student>.json.")],
    collected: Annotated[Path, typer.Option(help="The collected.json of `grader collect`.")],
) -> None:
    """Show students their points on GitHub, beside the commit that was graded. Exit 1 where one cannot be posted."""
    from grader.classes.collected import read_collected
    from grader.classes.gradebook import grades
    from grader.integrations.github.api import GitHub
    from grader.integrations.github.status import post_statuses

    posted = list(post_statuses(grades(read_collected(collected), reports), GitHub.from_environment()))
    problems = [f"{who}: {problem}" for who, problem in posted if problem]
    out.print(f"{len(posted) - len(problems)} of {len(posted)} statuses are posted.")
    if problems:
        raise stop(IMPERFECT, *problems)


def _one_of(name: str, allowed: list[str]) -> str:
    from grader.documents import nearest

    if name in allowed:
        return name
    hint = nearest(name, allowed)
    raise GraderError(f"--unit: there is no unit {name!r}; autograder.yml has {', '.join(allowed)}.{hint}")


def _require_folder(path: Path) -> None:
    """Finds out before any grading that reports can be written here."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GraderError(f"--out: {path} cannot be made a folder ({error.strerror}): name another.") from None
    if not os.access(path, os.W_OK):
        raise GraderError(f"--out: {path} cannot be written to: name another folder.")


@contextlib.contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Says who is done: by a bar where someone is watching, by a line each where it goes to a log."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    is_watched = sys.stderr.isatty()
    with Progress(*columns, console=err, transient=True, disable=not is_watched) as bar:
        task = bar.add_task("", total=total)

        def advance(name: str, what: str, count: int = 1) -> None:
            bar.update(task, advance=count, description=escape(name))
            if not is_watched:
                err.print(f"{what} {escape(name)} ({bar.tasks[task].completed:.0f} of {total})", soft_wrap=True)

        yield advance


def _print_audit(tables: list[UnitTable]) -> None:
    """One line a unit: what became of right answers, wrong ones and mutants, and how mistakes are named."""
    from grader.audit.pages import COLUMNS, totals
    from grader.audit.verdict import naming_of

    # What should be zero is a column only where it is not.
    shown = [n for n, cell in enumerate(totals(tables)) if cell != "0"]
    table = Table("unit", *(COLUMNS[n] for n in shown), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in tables:
        table.add_row(one.unit, *(totals([one])[n] for n in shown))
    if len(tables) > 1:
        table.add_row("all", *(totals(tables)[n] for n in shown), style="bold")
    out.print(table)
    naming = naming_of(tables)
    out.print(
        f"Names: {naming.named_rightly} of {naming.mistakes} known mistakes in other words, "
        f"{naming.others_named} of {naming.others} other mistakes; "
        f"recall {naming.recall:.1%}, precision {naming.precision:.1%}."
    )


def _print_reading(came: Submissions, ignored: dict[str, list[str]], reports: list[Report]) -> None:
    """What the submissions were taken for, and what of them was left out; first of all, if most hold nothing."""
    from grader.submissions.layouts import described
    from grader.submissions.submission import TO_BE_GRADED, missing_unit

    def say(text: str) -> None:
        out.print(safe(text, out), soft_wrap=True)

    empty = [
        report.student
        for report in reports
        if all(unit.path is None and unit.remarks == [missing_unit(name)] for name, unit in report.units.items())
    ]
    if 2 * len(empty) > len(reports) and came.layouts != ["single"]:
        say(
            f"{len(empty)} of {len(reports)} submissions hold none of the course's files and get no points: "
            "see whether this is the right folder, and the layout below the right one (--layout)."
        )
    say(f"Layout: {'; '.join(map(described, came.layouts))}.")
    if came.late:
        say(f"Marked as late by Canvas, and graded: {', '.join(came.late)}.")
    names = [*came.ignored, *(f"{name} ({_whose(students)})" for name, students in sorted(ignored.items()))]
    # Files that could hold answers come first, because the list is cut.
    names.sort(key=lambda name: TO_BE_GRADED not in name)
    if names:
        more = f", and {len(names) - 50} more names" if len(names) > 50 else ""
        say(f"Ignored: {', '.join(names[:50])}{more}.")
    out.print()


def _whose(students: list[str]) -> str:
    return ", ".join(students) if len(students) < 4 else f"{len(students)} submissions"


def _listed(names: list[str]) -> str:
    """The first names of many."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return escape(", ".join(names[:MOST_NAMES])) + more


def _print_table(reports: list[Report], missed: set[str], course: Course, into: Path) -> None:
    """One line a student: points by unit, and the first thing worth knowing; of those missed, that they were."""
    if not reports:
        return
    # Units by their numbers: the names of eight would leave no room for anything else.
    # The first report of each unit, for where single units were graded, some reports have more of them than others.
    first = {unit: report.units[unit] for report in reversed(reports) for unit in report.units}
    units = {unit: str(number) for number, unit in enumerate(course.units, 1) if unit in first}
    table = Table("student", *units.values(), "total", "what stands out", box=None, pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    rows = {name: [*"-" * (len(units) + 1), "[red]not graded[/]"] for name in missed}
    for report in reports:
        colour = "green" if report.points == report.possible else "yellow" if report.points else "red"
        colour = colour if report.possible else "dim"
        points = [str(report.units[unit].points) if unit in report.units else "-" for unit in units]
        total = f"[{colour}]{report.points}/{report.possible}[/]"
        rows[report.student] = [*points, total, escape(log_line(_stands_out(report)))]
    for student in sorted(rows, key=str.casefold):
        table.add_row(escape(student), *rows[student])
    out.print(table)
    out.print()
    for unit, number in units.items():
        possible, quiz = first[unit].possible, first[unit].quiz
        legend = f"unit {number}: {unit}, of {possible} points"
        if quiz and not quiz.possible:
            legend += "; its quiz is worth none"
        elif quiz and quiz.points is None:
            legend += f"; its quiz counts from {course.units[unit].due:%Y-%m-%d}"
        elif quiz:
            legend += f", {quiz.possible} of them the quiz's"
        out.print(legend)
    out.print(f"Reports: {escape(str(into))}/<student>.json", soft_wrap=True)
    if not all(report.isolation.enough for report in reports):
        out.print("[bold red]These submissions were not locked in while they ran: the reports say so.[/]")


def _stands_out(report: Report) -> str:
    """That nothing was handed in, a file that could not be read, a misconception, or the first reason."""
    if not report.handed_in:
        return "nothing handed in yet"
    for unit in report.units.values():
        for name, exercise in unit.exercises.items():
            for misconception in exercise.misconceptions:
                return f"{name}: {misconception.name.replace('_', ' ')}"
        if unit.remarks:
            return unit.remarks[0]
    for unit in report.units.values():
        for name, exercise in unit.exercises.items():
            for test in exercise.tests:
                if test.outcome == "failed":
                    return f"{name}: {test.reason or exercise.waiting_for or test.name.replace('_', ' ')}"
    for unit in report.units.values():
        if unit.quiz:
            for remark in unit.quiz.remarks:
                return remark
            for item in unit.quiz.items.values():
                if item.problem:
                    # Only where it is: the rest repeats what the student wrote, and a log may take that for commands.
                    return f"{item.problem.partition(': ')[0]}: this answer cannot be read"
    return ""
