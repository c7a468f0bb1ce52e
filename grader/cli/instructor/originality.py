"""`grader originality`: exports the code of a class for Dolos and JPlag."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.console import CourseFolder, one_of, require_folder, say, stop, writing
from grader.cli.instructor.grade import Given, Layout, Roster
from grader.errors import IMPERFECT


def originality(
    submissions: Given,
    unit: Annotated[str, typer.Option(help="The unit to compare.")],
    into: Annotated[Path, typer.Option("--out", help="The folder to write, empty or from an earlier export.")],
    roster: Roster = None,
    layout: Layout = None,
    folder_of_course: CourseFolder = None,
) -> None:
    """Export what each student wrote of a unit, for Dolos and JPlag. It runs nothing and judges nobody."""
    from grader.classes.decisions import Decisions, read_decisions
    from grader.classes.hand_ins import hand_ins
    from grader.classes.originality.export import BASE_CODE, INFO, SUBMISSIONS, read_class, require_own, write
    from grader.course.model import find_course
    from grader.submissions.find import find_submissions
    from grader.submissions.layouts import described
    from grader.text import in_words

    course = find_course(folder_of_course)
    one_of(unit, list(course.units))
    require_own(into)
    decisions = read_decisions(roster, course, submissions) if roster else Decisions(course)
    came = find_submissions(submissions, course.units, layout=layout, folders=decisions.folders)
    handed_in = hand_ins(came, decisions)
    export = read_class(handed_in.of, course, unit)
    require_folder(into)
    with writing(f"Not all could be written to {into}"):
        write(export, into)
    say(f"Layout: {'; '.join(map(described, came.layouts))}.")
    students = len(export.code) + sum(len(members) - 1 for members in export.together.values())
    say(f"{into}: what {students} students wrote of {unit}, without the stub.")
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
