"""`grader summary`: the class at a glance, as one page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import CourseFolder, one_of, say, stop, write_named
from grader.errors import IMPERFECT


def summary(
    reports: Annotated[Path, typer.Option(help="The folder of <student>.json, or of <unit>/<student>.json.")],
    into: Annotated[Path, typer.Option("--out", help="The HTML file to write.")],
    roster: Annotated[
        Path | None, typer.Option(help="The students, as CSV. Without it, all who have a report.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="This unit alone, even before its due date.")] = None,
    hides_names: Annotated[bool, typer.Option("--hide-names", help="Count students, and name none.")] = False,
    folder_of_course: CourseFolder = None,
) -> None:
    """Write a page for instructors: open cases, distribution, exercises, misconceptions, quiz items, who needs help.

    Exit 1 if somebody is not graded.
    """
    from grader.classes.decisions import Decisions, read_decisions
    from grader.classes.open_cases import NOT_GRADED
    from grader.classes.summary.page import page, read_class
    from grader.course.model import find_course

    course = find_course(folder_of_course)
    if unit is not None:
        one_of(unit, list(course.units))
    found = read_class(read_decisions(roster, course) if roster else Decisions(course), reports, unit)
    write_named(into, page(found, hides_names), "--out")
    say(f"{into}: {len(found.rows)} students; {', '.join(found.units)}.")
    if problems := [case.text for case in found.open_cases if case.kind == NOT_GRADED]:
        raise stop(IMPERFECT, *problems)
