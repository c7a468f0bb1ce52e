"""The students' commands that check answers: `grader check`, `grader show` and `grader` alone.

As a program it is a spare process, which does one of them. Without a spare process, the command line calls `run`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from grader.cli.check_output import print_progress, print_report
from grader.cli.console import PLAIN, err, say, write_named, writing
from grader.cli.quick import Command, CommandResult, Terminal
from grader.course.guidance import read_rules
from grader.course.model import Course, load_course
from grader.errors import IMPERFECT, GraderError
from grader.files import refuse_links
from grader.practice import spare
from grader.practice.check import (
    answers_folder,
    check_answers,
    exercises_to_draw,
    read_answers,
    too_few_decimals_in,
    unit_of,
    visible_grading,
)
from grader.practice.picture_files import pictures_of, require_picture, write_picture
from grader.practice.picture_text import print_pictures
from grader.practice.progress import Step, StudentProgress, next_step, received_code
from grader.practice.spare import Message
from grader.reports.exporters.html import page
from grader.reports.fingerprint import grader_digest
from grader.reports.folder import write_report

if TYPE_CHECKING:
    from grader.engine.grading import Grading

MORE = "Stuck? grader hint. Questions? grader practice, grader quiz. All commands: grader --help"

# A spare process loads its course before it is asked.
_course = functools.cache(load_course)


def run(command: Command, console: Console, grading: Grading | None = None) -> CommandResult:
    """Do what a student asks for, and print the result.

    Args:
        command: What is asked for.
        console: Where to print.
        grading: A grading by the visible tests that was prepared earlier; by default, one is started.

    Raises:
        GraderError: There is nothing to check or to draw, something cannot be read or written, or the grading failed.
    """
    course = _course(Path(command.root))
    match command.do:
        case "check":
            return _check(command, course, console, grading)
        case "show":
            return _show(command, course, console, grading)
        case "next":
            step = _next(command, course, grading)
            return CommandResult(0, exercise=step.exercise, unit=step.unit)
    print_progress(course, _steps(command, course, grading), console)
    console.print(MORE, style="dim", soft_wrap=True)
    return CommandResult(0)


def _check(command: Command, course: Course, console: Console, grading: Grading | None) -> CommandResult:
    """Check answers, print the result, and write the report and the page that are asked for."""
    here, names = Path(command.here), [command.name] if command.name else []
    into, html = (here / name if name else None for name in (command.into, command.html))
    # A workflow names the student. Then the current folder is the submission, even if it is empty.
    folder = answers_folder(course, here) if command.student is None else here
    if command.student is not None:
        for path in filter(None, (into, html)):
            refuse_links(path, here)
    # A report has all exercises of a unit.
    tested = [unit_of(name, course) for name in names] if into or html else names
    drawn = [*course.unit_of] if html else names if command.is_asking else []
    answers = read_answers(course, folder, command.student)
    graded = check_answers(course, answers, tested, grading, drawn)
    if command.student is None:
        with writing("What was found could not be kept for `grader`"):
            StudentProgress(course, folder, answers).remember(graded.report, answers.code)
    if into:
        with writing(f"The report could not be written to {into}"):
            into.mkdir(parents=True, exist_ok=True)
            write_report(graded.report, None, into)
    if html:
        write_named(html, page(graded.report, pictures_of(graded.drawings)), "--html")
    is_right = print_report(graded.report, read_rules(course), names, console)
    say(*too_few_decimals_in(answers, course, names), console=console)
    if html:
        say(f"{html} is written: open it in a browser.", console=console)
    questions = [vars(one) for one in graded.questions if command.is_asking and is_right and one.exercise in names]
    return CommandResult(0 if is_right else IMPERFECT, questions=questions)


def _show(command: Command, course: Course, console: Console, grading: Grading | None) -> CommandResult:
    """Check answers, print the result, and draw what the code computes; without a name, of the next exercise."""
    folder = answers_folder(course, Path(command.here))
    exercises = exercises_to_draw(course, command.name or _next(command, course, grading).exercise)
    picture = Path(command.picture) if command.picture else None
    if picture:
        require_picture(picture)
    graded = check_answers(course, read_answers(course, folder), exercises, grading, drawn=exercises)
    is_right = print_report(graded.report, read_rules(course), exercises, console)
    print_pictures(graded.drawings, console)
    if picture:
        with writing(f"The picture could not be written to {picture}"):
            write_picture(graded.drawings, picture)
        say(f"{picture} is written.", console=console)
    return CommandResult(0 if is_right else IMPERFECT)


def _next(command: Command, course: Course, grading: Grading | None) -> Step:
    step = next_step(_steps(command, course, grading))
    if step is None:
        raise GraderError("All exercises pass, so none is next: write the name of the one that you mean.")
    return step


def _steps(command: Command, course: Course, grading: Grading | None) -> list[Step]:
    """Return the state of each exercise, after a check of those that were changed since their last one."""
    folder = answers_folder(course, Path(command.here))
    with writing("What was found earlier cannot be read or kept"):
        known = StudentProgress(course, folder, read_answers(course, folder))
        if changed := [step.exercise for step in known.steps() if step.state == "changed"]:
            if grading is None:
                err.print(f"Checking what was changed since the last check: {len(changed)} of your exercises.")
            known.remember(check_answers(course, known.answers, changed, grading).report, known.answers.code)
    return known.steps()


def _prepare(root: Path) -> Callable[[Message], Message]:
    """Import torch, collect the visible tests of all units, and read what most likely stays as it is."""
    course = _course(root)
    grading = visible_grading(course)
    grading.rubric()
    grader_digest(course, "visible")
    received_code(course)  # most files of a student are still as they were received, and are not parsed again

    def reply_to(message: Message) -> Message:
        if not course.generated.are_up_to_date():
            raise ValueError("another process has to do this, with what is built anew")
        command, terminal = Command(**message["command"]), Terminal(**message["terminal"])
        file = TextIOWrapper(BytesIO(), encoding=terminal.encoding, errors=PLAIN)
        console = Console(
            file=file,
            force_terminal=terminal.is_terminal,
            width=terminal.width,
            color_system=terminal.colors,
            _environ=terminal.environment,
            legacy_windows=False,
            highlight=False,
        )
        try:
            result = run(command, console, grading)
        except GraderError as problem:
            result = CommandResult(problem.exit_code, error=str(problem))
        file.seek(0)
        return result._replace(printed=file.read())._asdict()

    return reply_to


if __name__ == "__main__":
    course_folder, key_file = map(Path, sys.argv[1:])
    spare.serve(key_file, lambda: _prepare(course_folder))
