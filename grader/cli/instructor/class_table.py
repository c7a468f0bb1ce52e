"""The output of `grader grade`: how the submissions were read, and one line for each student."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from grader.cli import console
from grader.cli.console import say
from grader.text import listed, log_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grader.course.model import Course
    from grader.reports.model import Report
    from grader.submissions.find import Submissions
    from grader.submissions.tree import Ignored

MOST_IGNORED = 50


def print_reading(came: Submissions, ignored: dict[Ignored, list[str]], reports: list[Report]) -> None:
    """Print whether most submissions are empty, how they were read, and what was ignored."""
    from grader.reports.reading import is_missing
    from grader.submissions.layouts import described

    empty = [report.student for report in reports if all(is_missing(name, unit) for name, unit in report.units.items())]
    if 2 * len(empty) > len(reports) and came.layouts != ["single"]:
        say(
            f"{len(empty)} of {len(reports)} submissions hold none of the course's files and get no points: "
            "see whether this is the right folder, and the layout below the right one (--layout)."
        )
    say(f"Layout: {'; '.join(map(described, came.layouts))}.")
    if came.late:
        say(f"Marked as late by Canvas, and graded: {', '.join(came.late)}.")
    names = [(one, str(one)) for one in came.ignored]
    names += [(one, f"{one} ({_whose(students)})") for one, students in sorted(ignored.items())]
    # The list is cut, so files that could hold answers come first.
    names.sort(key=lambda name: not name[0].advice)
    if names:
        say(f"Ignored: {listed([name for _, name in names], MOST_IGNORED)}.")
    console.out.print()


def _whose(students: list[str]) -> str:
    return ", ".join(students) if len(students) < 4 else f"{len(students)} submissions"


def print_table(reports: list[Report], missed: set[str], course: Course, into: Path) -> None:
    """Print one line for each student: points by unit, and the main issue."""
    if not reports:
        return
    # Units have numbers, because their names would leave no room for anything else.
    # Where single units were graded, reports may have different units: take the first report with each unit.
    first = {unit: report.units[unit] for report in reversed(reports) for unit in report.units}
    units = {unit: str(number) for number, unit in enumerate(course.units, 1) if unit in first}
    table = Table("student", *units.values(), "total", "main issue", box=None, pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    rows = {name: [*"-" * (len(units) + 1), "[red]not graded[/]"] for name in missed}
    for report in reports:
        colour = "green" if report.points == report.possible else "yellow" if report.points else "red"
        colour = colour if report.possible else "dim"
        points = [str(report.units[unit].points) if unit in report.units else "-" for unit in units]
        total = f"[{colour}]{report.points}/{report.possible}[/]"
        rows[report.student] = [*points, total, escape(log_line(next(_issues(report), "")))]
    for student in sorted(rows, key=str.casefold):
        table.add_row(escape(student), *rows[student])
    console.out.print(table)
    console.out.print()
    for unit, number in units.items():
        possible, quiz = first[unit].possible, first[unit].quiz
        legend = f"{number}: {unit}, of {possible} points"
        if quiz and not quiz.possible:
            legend += "; its quiz is worth none"
        elif quiz and quiz.points is None:
            legend += f"; its quiz counts from {course.units[unit].due:%Y-%m-%d}"
        elif quiz:
            legend += f", {quiz.possible} of them the quiz's"
        console.out.print(legend)
    say(f"Reports: {into}/<student>.json")
    if not all(report.isolation.enough for report in reports):
        console.out.print("[bold red]These submissions were not isolated while they ran: the reports say so.[/]")


def _issues(report: Report) -> Iterator[str]:
    """Yield the issues of a report: misconceptions and unreadable files, then reasons, then the quizzes."""
    from grader.reports.reading import entries, entries_of

    if not report.handed_in:
        yield "nothing handed in yet"
    for name, unit in report.units.items():
        for entry in entries_of(report, name):
            for misconception in entry.exercise.misconceptions:
                yield f"{entry.name}: {misconception.name.replace('_', ' ')}"
        yield from unit.remarks
    for entry in entries(report):
        if entry.state != "done":
            reason = entry.issues[0].reason or entry.issues[0].tests[0].name.replace("_", " ") if entry.issues else None
            yield f"{entry.name}: {reason or entry.exercise.waiting_for}"
    for unit in report.units.values():
        if unit.quiz:
            yield from unit.quiz.remarks
            # The rest of the problem quotes the student, and a log could read that as a command.
            problems = [item.problem for item in unit.quiz.items.values() if item.problem]
            yield from (f"{problem.partition(': ')[0]}: this answer cannot be read" for problem in problems)
