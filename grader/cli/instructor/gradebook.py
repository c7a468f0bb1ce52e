"""`grader gradebook`: the grades of a class for a spreadsheet, a learning platform or nbgrader."""

from __future__ import annotations

import datetime
import enum
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import CourseFolder, can_ask, one_of, out, say, stop, write_named
from grader.errors import IMPERFECT, GraderError
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.classes.exports import Column
    from grader.classes.gradebook import Gradebook
    from grader.classes.unit_grades import State, UnitGrade
    from grader.course.model import Course
    from grader.integrations.nbgrader.gradebook import Update

MOST = 20


class Format(enum.StrEnum):
    """Who reads the grades."""

    csv = "csv"
    markdown = "markdown"
    xlsx = "xlsx"
    canvas = "canvas"
    moodle = "moodle"
    nbgrader = "nbgrader"


KNOWN_STUDENTS = (Format.canvas, Format.moodle, Format.nbgrader)
"""The formats for programs that have students of their own. They get nobody who is not in the roster."""


def gradebook(
    reports: Annotated[Path, typer.Option(help="The folder of <student>.json, or of <unit>/<student>.json.")],
    into: Annotated[Path, typer.Option("--out", help="The file to write, or nbgrader's gradebook.db.")],
    reader: Annotated[Format, typer.Option("--format", help="Who reads it.")] = Format.csv,
    roster: Annotated[
        Path | None, typer.Option(help="The students, as CSV. Without it, all who have a report.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="This unit alone, even before its due date.")] = None,
    has_total_only: Annotated[bool, typer.Option("--total", help="One column for all units.")] = False,
    is_percent: Annotated[bool, typer.Option("--percent", help="Percent, not points.")] = False,
    collected: Annotated[
        Path | None, typer.Option(help="The collected.json of `grader collect`: only reports on its commits count.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write into nbgrader's gradebook without a question.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Write the grades of the units that are over. Exit 1 if somebody is not graded.

    A unit that a student of the roster did not hand in counts as 0 points. What is exempt, not due for a student or not
    graded has no points. For nbgrader, show first what would change in its gradebook.
    """
    from grader.classes.collected import read_collected
    from grader.classes.decisions import Decisions, read_decisions
    from grader.classes.exports import columns
    from grader.classes.gradebook import read_gradebook
    from grader.course.find import find_course

    course = find_course(folder_of_course)
    if unit is not None:
        one_of(unit, list(course.units))
    _require_fitting(reader, roster, write, has_total_only or is_percent)
    found = read_gradebook(
        read_decisions(roster, course) if roster else Decisions(course),
        reports,
        datetime.datetime.now(datetime.UTC),
        unit,
        read_collected(collected) if collected else None,
    )
    if reader is Format.nbgrader:
        _write_to_nbgrader(found, course, into, roster is not None, write)
        return
    # A table for people shows also those who are not in the class, at its end.
    shown = found if reader in KNOWN_STUDENTS else replace(found, rows=[*found.rows, *found.strangers])
    grades = columns(shown, has_total_only, is_percent)
    write_named(into, _content(shown, grades, reader), "--out")
    _print_written(found, grades, reader, into)


def _require_fitting(reader: Format, roster: Path | None, write: bool, is_summed: bool) -> None:
    """Raise GraderError if an option is missing or has no meaning for a format."""
    if roster is None and reader in (Format.canvas, Format.moodle):
        raise GraderError(f"--roster: {reader} needs to know who the students are: give roster.csv, or its own export.")
    if write and reader is not Format.nbgrader:
        raise GraderError(f"--write is for --format nbgrader, which asks first: leave it out for {reader}.")
    if is_summed and reader is Format.nbgrader:
        raise GraderError("--total and --percent: nbgrader's gradebook has the points of each unit: leave them out.")


def _write_to_nbgrader(found: Gradebook, course: Course, into: Path, has_roster: bool, write: bool) -> None:
    """Show what changes in nbgrader's gradebook, then write it. Raises typer.Exit if somebody is not graded."""
    try:
        from grader.integrations.nbgrader.gradebook import update_gradebook
    except ModuleNotFoundError:
        raise GraderError("nbgrader is not installed: pip install 'attention-from-scratch[nbgrader]'.") from None
    update = update_gradebook(into, found, course, has_roster, writes=False)
    _print_update(update, into)
    problem = _print_states(found, Format.nbgrader)
    if update.changes or update.students:
        if not write and not can_ask(out):
            raise stop(IMPERFECT, "Nothing was written: the same command with --write writes it.")
        if not write and not typer.confirm("Write this?"):
            say("Nothing was written.")
            return
        update_gradebook(into, found, course, has_roster, writes=True)
        say(f"{into}: written.")
    if problem:
        raise problem


def _print_update(update: Update, into: Path) -> None:
    """Print what changes in nbgrader's gradebook, and what does not."""
    for one in update.changes:
        before = "no submission" if one.before is None else f"{one.before:g}"
        same = " (dates, or points of parts)" if one.before == one.after else ""
        say(f"{one.student}, {one.unit}: {before} → {one.after:g}{same}")
    say(f"{into}: {len(update.changes)} submissions change, {update.unchanged} do not.")
    if update.students:
        say(f"Students who are new, or get a name or an address: {listed(update.students, MOST)}.")
    if update.by_hand:
        say(
            "With scores that were entered in nbgrader, which stay, so the points may differ from the reports: "
            f"{listed(update.by_hand, MOST)}."
        )
    if update.credited:
        say(f"Extra credit in nbgrader that becomes that of the reports: {listed(update.credited, MOST)}.")
    if update.unknown:
        say(f"No assignments in nbgrader, and left out: {', '.join(update.unknown)}.")


def _content(found: Gradebook, grades: Sequence[Column], reader: Format) -> str | bytes:
    """Return the file; each format imports only what it needs."""
    from grader.classes.exports import cells, csv_text, markdown_text, xlsx_bytes
    from grader.integrations.lms import canvas, moodle

    match reader:
        case Format.csv:
            return csv_text(cells(found, grades))
        case Format.markdown:
            return markdown_text(found, grades)
        case Format.xlsx:
            return xlsx_bytes(cells(found, grades))
        case Format.canvas:
            return csv_text(canvas.cells(found, grades))
        case Format.moodle:
            return csv_text(moodle.cells(found, grades))
        case Format.nbgrader:
            raise AssertionError  # it is no file of ours


def _print_written(found: Gradebook, grades: Sequence[Column], reader: Format, into: Path) -> None:
    """Print what was written, and what an instructor has to know. Raises typer.Exit if somebody is not graded."""
    from grader.integrations.lms import canvas

    unknown = found.unknown
    headings = [f"{one.heading} of {'unknown points' if one.heading in unknown else one.possible}" for one in grades]
    say(f"{into}: {len(found.rows)} students; {', '.join(headings) or 'no unit is over yet'}.")
    renamed = [(one.heading, canvas.heading(one.heading)) for one in grades if reader is Format.canvas]
    for name, heading in renamed:
        if name != heading:
            say(f"Canvas ignores a column with `final` in its name, so {name} is {heading} there.")
    if problem := _print_states(found, reader):
        raise problem


def _print_states(found: Gradebook, reader: Format) -> typer.Exit | None:
    """Print who has no grade and why, and what is noticed. Return the exit to raise if somebody is not graded."""
    given = [row.entry.student for row in found.rows for one in row.grades.values() if _is_given(one)]
    nothing = f"0 points{', except by adjustments' if given else ''}"
    points: dict[State, str] = {"exempt": "no points", "not due": "no points", "not handed in": nothing}
    for state, meaning in points.items():
        if whom := _students(found, state):
            meaning = "left as it is in nbgrader" if reader is Format.nbgrader else meaning
            say(f"{state.capitalize()}, {meaning}: {whom}.")
    if found.strangers:
        where = "left out" if reader in KNOWN_STUDENTS else "at the end of the table"
        say(f"Not in the roster, {where}: {listed([row.entry.student for row in found.strangers], MOST)}.")
    if reader is Format.moodle:
        say("In Moodle, give each grade item the maximum above, and map the first column as the user.")
    for text in _notes(found, "graded"):
        say(f"{text} {_students(found, 'graded', text)}.")
    for row in found.rows:
        for sentence in row.noticed:
            say(f"{row.entry.student}: {sentence}")
    sentences = [f"{text} {_students(found, 'not graded', text)}." for text in _notes(found, "not graded")]
    if sentences:
        return stop(IMPERFECT, "Not graded, so without points:", *sentences)
    return None


def _is_given(grade: UnitGrade) -> bool:
    """Return whether an adjustment gives points for what is not handed in."""
    return grade.state == "not handed in" and bool(grade.points)


def _notes(found: Gradebook, state: State) -> list[str]:
    """Return the notes on grades in a state, each once."""
    grades = [grade for row in found.rows for grade in row.grades.values()]
    return list(dict.fromkeys(grade.note for grade in grades if grade.state == state and grade.note))


def _students(found: Gradebook, state: State, note: str | None = None) -> str:
    """Return the students with a grade in a state and with a note, each with the units."""
    students = []
    for row in found.rows:
        units = [name for name, one in row.grades.items() if one.state == state and note in (None, one.note)]
        students += [f"{row.entry.student} ({', '.join(units)})"] if units else []
    return listed(students, MOST)


def table() -> None:
    """`grader gradebook` has taken its place."""
    raise GraderError("`grader table` is `grader gradebook` now: grader gradebook --reports reports --out grades.csv")
