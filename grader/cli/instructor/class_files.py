"""`grader gradebook`, `summary`, `originality` and `forget`: what instructors take from reports and submissions."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.cli.console import CourseFolder, can_ask, out, read_course, require_folder, say, stop, write_named, writing
from grader.cli.instructor.grade import Given, Layout, Roster
from grader.errors import IMPERFECT, GraderError
from grader.text import listed

if TYPE_CHECKING:
    from grader.classes.exports import Column, Export
    from grader.classes.gradebook import Gradebook, State


Reports = Annotated[Path, typer.Option(help="The folder of <student>.json, or of <unit>/<student>.json.")]
Class = Annotated[Path | None, typer.Option(help="The students, as CSV. Without it, all who have a report.")]
EarlyUnit = Annotated[str | None, typer.Option(help="This unit alone, even before its due date.")]

MOST = 20

MOST_NAMED = 100


Format = Literal["csv", "markdown", "xlsx", "canvas", "moodle", "classroom50"]
"""Who reads the grades."""
KNOWN_STUDENTS = ("canvas", "moodle", "classroom50")
"""The formats for programs that have students of their own. They get nobody who is not in the roster."""


def gradebook(
    reports: Reports,
    into: Annotated[Path, typer.Option("--out", help="The file to write; for classroom50, CLASSROOM/scores.json.")],
    reader: Annotated[Format, typer.Option("--format", help="Who reads it.")] = "csv",
    roster: Class = None,
    unit: EarlyUnit = None,
    has_total_only: Annotated[bool, typer.Option("--total", help="One column for all units.")] = False,
    is_percent: Annotated[bool, typer.Option("--percent", help="Percent, not points.")] = False,
    collected: Annotated[
        Path | None, typer.Option(help="The collected.json of `grader collect`: only reports on its commits count.")
    ] = None,
    folder_of_course: CourseFolder = None,
) -> None:
    """Write the grades of the units that are over. Exit 1 if somebody is not graded.

    A unit that a student of the roster did not hand in counts as 0 points. What is exempt, not due for a student or not
    graded has no points.
    """
    from grader.classes.collected import read_collected
    from grader.classes.decisions import read_decisions
    from grader.classes.exports import columns
    from grader.classes.gradebook import gradebook_of, read_reports
    from grader.classes.record import grades

    course = read_course(folder_of_course, unit)
    if roster is None and reader in KNOWN_STUDENTS:
        raise GraderError(f"--roster: {reader} needs to know who the students are: give roster.csv, or its own export.")
    decisions, now = read_decisions(roster, course), datetime.datetime.now(datetime.UTC)
    commits = read_collected(collected) if collected else None
    read = read_reports(course, reports)
    found = gradebook_of(decisions, read, now, [unit] if unit else [], grades(commits, reports) if commits else ())
    # A table for people shows also those who are not in the class, at its end.
    shown = found if reader in KNOWN_STUDENTS else replace(found, rows=[*found.rows, *found.strangers])
    table = columns(shown, has_total_only, is_percent)
    export = _export(shown, table, reader, into, course.units)
    write_named(into, export.content, "--out")
    _print_written(found, export, reader, into)


def _export(found: Gradebook, grades: Sequence[Column], reader: Format, into: Path, units: Collection[str]) -> Export:
    """Return the file; each format imports only what it needs."""
    from grader.classes.exports import Export, cells, csv_text, markdown_text, xlsx_bytes
    from grader.integrations import learning_platforms

    match reader:
        case "csv":
            return Export(csv_text(cells(found, grades)), grades)
        case "markdown":
            return Export(markdown_text(found, grades), grades)
        case "xlsx":
            return Export(xlsx_bytes(cells(found, grades)), grades)
        case "canvas":
            return Export(csv_text(learning_platforms.canvas_table(found, grades)), grades)
        case "moodle":
            return Export(csv_text(learning_platforms.moodle_table(found, grades)), grades)
        case "classroom50":
            return learning_platforms.classroom50_scores(into, found, grades, units)


def _print_written(found: Gradebook, export: Export, reader: Format, into: Path) -> None:
    """Print what was written, and what an instructor has to know. Raises typer.Exit if somebody lacks a grade."""
    from grader.integrations import learning_platforms

    points = {one.heading: str(one.possible) for one in export.columns} | dict.fromkeys(found.unknown, "unknown points")
    headings = [f"{one.heading} of {points[one.heading]}" for one in export.columns]
    say(f"{into}: {len(found.rows)} students; {', '.join(headings) or 'no unit is over yet'}.")
    for name in [one.heading for one in export.columns if reader == "canvas"]:
        if name != (heading := learning_platforms.canvas_heading(name)):
            say(f"Canvas ignores a column with `final` in its name, so {name} is {heading} there.")
    say(*export.noticed)
    problem = _print_states(found, reader)
    if export.left_out:
        problem = stop(IMPERFECT, f"With a grade, but without one in {into}:", *export.left_out)
    if problem:
        raise problem


def _print_states(found: Gradebook, reader: Format) -> typer.Exit | None:
    """Print who has no grade and why, and what is noticed. Return the exit to raise if somebody is not graded."""
    grades = [grade for row in found.rows for grade in row.grades.values()]
    is_given = any(grade.state == "not handed in" and grade.points for grade in grades)
    nothing = f"0 points{', except by adjustments' if is_given else ''}"
    points: dict[State, str] = {"exempt": "no points", "not due": "no points", "not handed in": nothing}
    for state, meaning in points.items():
        if whom := _students(found, state):
            say(f"{state.capitalize()}, {meaning}: {whom}.")
    if found.strangers:
        where = "left out" if reader in KNOWN_STUDENTS else "at the end of the table"
        say(f"Not in the roster, {where}: {listed([str(row.entry) for row in found.strangers], MOST)}.")
    if reader == "moodle":
        say("In Moodle, give each grade item the maximum above, and map the first column as the user.")
    say(*(f"{text} {_students(found, 'graded', text)}." for text in _notes(found, "graded")))
    say(*(f"{row.entry}: {sentence}" for row in found.rows for sentence in row.noticed))
    sentences = [f"{text} {_students(found, 'not graded', text)}." for text in _notes(found, "not graded")]
    if sentences:
        return stop(IMPERFECT, "Not graded, so without points:", *sentences)
    return None


def _notes(found: Gradebook, state: State) -> list[str]:
    """Return the notes on grades in a state, each once."""
    grades = [grade for row in found.rows for grade in row.grades.values()]
    return list(dict.fromkeys(grade.note for grade in grades if grade.state == state and grade.note))


def _students(found: Gradebook, state: State, note: str | None = None) -> str:
    """Return the students with a grade in a state and with a note, each with the units."""
    students = []
    for row in found.rows:
        units = [name for name, one in row.grades.items() if one.state == state and note in (None, one.note)]
        students += [f"{row.entry} ({', '.join(units)})"] if units else []
    return listed(students, MOST)


def summary(
    reports: Reports,
    into: Annotated[Path, typer.Option("--out", help="The HTML file to write.")],
    roster: Class = None,
    unit: EarlyUnit = None,
    hides_names: Annotated[bool, typer.Option("--hide-names", help="Count students, and name none.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Write a page for instructors: open cases, distribution, exercises, misconceptions, quiz items, who needs help.

    Exit 1 if somebody is not graded.
    """
    from grader.classes.decisions import read_decisions
    from grader.classes.open_cases import NOT_GRADED
    from grader.classes.summary_page import page, read_class

    course = read_course(folder_of_course, unit)
    found = read_class(read_decisions(roster, course), reports, unit)
    write_named(into, page(found, hides_names), "--out")
    say(f"{into}: {len(found.rows)} students; {', '.join(found.units)}.")
    if problems := [case.text for case in found.open_cases if case.kind == NOT_GRADED]:
        raise stop(IMPERFECT, *problems)


def originality(
    submissions: Given,
    unit: Annotated[str, typer.Option(help="The unit to compare.")],
    into: Annotated[Path, typer.Option("--out", help="The folder to write, empty or from an earlier export.")],
    roster: Roster = None,
    layout: Layout = None,
    folder_of_course: CourseFolder = None,
) -> None:
    """Export each student's code of a unit, for Dolos and JPlag. It runs nothing and judges nobody."""
    from grader.classes.decisions import read_decisions
    from grader.classes.hand_ins import hand_ins
    from grader.classes.originality import BASE_CODE, INFO, SUBMISSIONS, read_code, require_own
    from grader.submissions.find import find_submissions
    from grader.submissions.layouts import described
    from grader.text import in_words

    course = read_course(folder_of_course, unit)
    require_own(into)
    decisions = read_decisions(roster, course, submissions)
    came = find_submissions(submissions, course.units, layout=layout, folders=decisions.folders)
    handed_in = hand_ins(came, decisions)
    export = read_code(handed_in.of, course, unit)
    require_folder(into)
    with writing(f"Not all could be written to {into}"):
        export.write(into)
    say(f"Layout: {'; '.join(map(described, came.layouts))}.")
    students = len(export.code) + sum(len(members) - 1 for members in export.together.values())
    say(f"{into}: the code of {students} students in {unit}, and the stub, which both programs leave out.")
    if export.together:
        groups = "; ".join(map(in_words, export.together.values()))
        say(f"Handed in together, and exported once, as the first one's: {groups}.")
    if export.without:
        say(f"Without code of {unit}: {', '.join(export.without)}.")
    if export.not_python:
        say(f"Not Python in every line, so that JPlag may leave them out: {', '.join(export.not_python)}.")
    problems = [*came.problems, *handed_in.problems, *export.problems]
    failed = stop(IMPERFECT, *problems, "All others were exported.") if problems else None
    info, base_code, root = (shlex.quote(str(into / name)) for name in (INFO, BASE_CODE, SUBMISSIONS))
    say(f"Next, with Dolos: dolos run --language python {info}")
    say(f"Next, with JPlag: java -jar jplag.jar --language python3 --base-code {base_code} {root}")
    if failed:
        raise failed


def forget(
    student: Annotated[str, typer.Argument(help="The student's name in reports.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders that the grader wrote, and tables.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without a question.")] = False,
) -> None:
    """Remove one student from reports, pages and tables. Exit 1 where the student is still named, or may be.

    It opens the tables that you name, and in the folders that you name what the grader wrote: nothing that was handed
    in.
    """
    from grader.classes.forget import Forgetting

    with writing("Not all could be read"):
        forgetting = Forgetting(student, paths)
        changes = forgetting.changes()
    say(*map(str, changes))
    if changes:
        if not yes and not can_ask(out):
            raise GraderError("Nothing was changed: give --yes to do all of this. It cannot be undone.")
        if not yes and not typer.confirm("Do all of this? It cannot be undone."):
            say("Nothing was changed.")
            return
        with writing("Not all was changed, so give the same command again"):
            forgetting.run()
    if left := forgetting.left():
        more = [f"and {len(left) - MOST_NAMED} more."] if len(left) > MOST_NAMED else []
        raise stop(IMPERFECT, *left[:MOST_NAMED], *more)
    say(f"The tables there, and the names of files and folders, do not have {student} now.")
