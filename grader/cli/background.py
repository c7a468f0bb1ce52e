"""What a spare process does for `grader check`, `grader show` and `grader`, and what these do without one.

As a program it is that process.
"""

from __future__ import annotations

import functools
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from grader.cli.check import print_report
from grader.cli.console import PLAIN, err, safe, write_named, writing
from grader.cli.progress import print_progress
from grader.course.guidance import read_rules
from grader.course.model import load_course
from grader.errors import IMPERFECT, GraderError
from grader.files import refuse_links
from grader.practice import spare
from grader.practice.check import (
    answers_folder,
    check_answers,
    read_answers,
    too_few_decimals_in,
    unit_of,
    visible_grading,
)
from grader.practice.pictures.files import pictures_of, require_picture, write_picture
from grader.practice.pictures.show import exercises_to_draw, print_pictures
from grader.practice.progress import Progress, next_step, received_code
from grader.reports.exporters.html import page
from grader.reports.fingerprint import grader_digest
from grader.reports.folder import write_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.course.model import Course
    from grader.engine.grading import Grading
    from grader.practice.progress import Step
    from grader.practice.spare import Message

MORE = "Stuck? grader hint. Questions? grader practice, grader quiz. All commands: grader --help"

# A spare process loads its course before it is asked.
_course = functools.cache(load_course)


def check(asked: Message, console: Console, grading: Grading | None = None) -> Message:
    """Check answers and print the result.

    Args:
        asked: The folder of the course (`root`), the current one (`here`), what to check (`name`), the student's name
            (`student`), the folder of the report (`into`), and the file of the page (`html`); the last four may be
            None. `is_asking` says whether questions on the student's code are wanted.
        console: Where to print.
        grading: A grading by the visible tests that was prepared earlier.

    Returns:
        The exit code (`code`), and the questions (`questions`).

    Raises:
        GraderError: There is nothing to check, something cannot be read or written, or the grading failed.
    """
    course, here, name = _course(Path(asked["root"])), Path(asked["here"]), asked["name"]
    # A workflow names the student. Then the current folder is the submission, even if it is empty.
    folder = answers_folder(course, here) if asked["student"] is None else here
    # A report has all exercises of a unit.
    names = [name] if name else []
    is_kept = asked["into"] or asked["html"]
    if asked["student"] is not None:
        for kept in filter(None, (asked["into"], asked["html"])):
            refuse_links(here / kept, here)
    wanted = [unit_of(name, course)] if name and is_kept else names
    drawn = [exercise for unit in course.units.values() for exercise in unit.exercises] if asked["html"] else []
    drawn = drawn or (names if asked["is_asking"] else [])
    answers = read_answers(course, folder, asked["student"])
    graded = check_answers(course, answers, wanted, grading, drawn)
    report = graded.report
    if asked["student"] is None:
        with writing("What was found could not be kept for `grader`"):
            Progress(course, folder, answers).remember(report, answers.code)
    if asked["into"]:
        with writing(f"The report could not be written to {asked['into']}"):
            Path(asked["into"]).mkdir(parents=True, exist_ok=True)
            write_report(report, None, Path(asked["into"]))
    if asked["html"]:
        write_named(Path(asked["html"]), page(report, pictures_of(graded.drawings)), "--html")
    is_right = print_report(report, read_rules(course), names, console)
    for sentence in too_few_decimals_in(answers, course, names):
        console.print(safe(sentence, console), soft_wrap=True)
    if asked["html"]:
        console.print(safe(f"{asked['html']} is written: open it in a browser.", console), soft_wrap=True)
    is_asked = asked["is_asking"] and is_right
    questions = [vars(one) for one in graded.questions if is_asked and one.exercise in names]
    return {"code": 0 if is_right else IMPERFECT, "questions": questions}


def show(asked: Message, console: Console, grading: Grading | None = None) -> Message:
    """Check answers, print the result, and draw what the code computes.

    Args:
        asked: The folder of the course (`root`), the current one (`here`), what to draw (`name`), and the file of the
            picture (`picture`); the last two may be None. Without a name, it is the next exercise.
        console: Where to print.
        grading: A grading by the visible tests that was prepared earlier.

    Returns:
        The exit code (`code`).

    Raises:
        GraderError: There is nothing to draw, something cannot be read or written, or the grading failed.
    """
    course = _course(Path(asked["root"]))
    folder = answers_folder(course, Path(asked["here"]))
    exercises = exercises_to_draw(course, asked["name"] or _next(course, folder, grading).exercise)
    picture = Path(asked["picture"]) if asked["picture"] else None
    if picture:
        require_picture(picture)
    graded = check_answers(course, read_answers(course, folder), exercises, grading, drawn=exercises)
    is_right = print_report(graded.report, read_rules(course), exercises, console)
    print_pictures(graded.drawings, console)
    if picture:
        with writing(f"The picture could not be written to {picture}"):
            write_picture(graded.drawings, picture)
        console.print(safe(f"{picture} is written.", console), soft_wrap=True)
    return {"code": 0 if is_right else IMPERFECT}


def progress(asked: Message, console: Console, grading: Grading | None = None) -> Message:
    """Check the exercises that were changed since their last check, and print how far the student is.

    Args:
        asked: The folder of the course (`root`) and the current one (`here`).
        console: Where to print.
        grading: A grading by the visible tests that was prepared earlier.

    Returns:
        The exit code 0 (`code`).

    Raises:
        GraderError: The folder has no answers, something cannot be read or written, or the grading failed.
    """
    course = _course(Path(asked["root"]))
    steps = _steps(course, answers_folder(course, Path(asked["here"])), grading)
    print_progress(course, steps, console)
    console.print(MORE, style="dim", soft_wrap=True)
    return {"code": 0}


def find_next(asked: Message, console: Console, grading: Grading | None = None) -> Message:  # noqa: ARG001
    """Find the exercise that `progress` calls next. Prints nothing.

    Args:
        asked: The folder of the course (`root`) and the current one (`here`).
        console: Not used.
        grading: A grading by the visible tests that was prepared earlier.

    Returns:
        The exit code 0 (`code`), the exercise (`exercise`) and its unit (`unit`).

    Raises:
        GraderError: All exercises pass, or as for `progress`.
    """
    course = _course(Path(asked["root"]))
    step = _next(course, answers_folder(course, Path(asked["here"])), grading)
    return {"code": 0, "exercise": step.exercise, "unit": step.unit}


def _next(course: Course, folder: Path, grading: Grading | None) -> Step:
    step = next_step(_steps(course, folder, grading))
    if step is None:
        raise GraderError("All exercises pass, so none is next: write the name of the one that you mean.")
    return step


def _steps(course: Course, folder: Path, grading: Grading | None) -> list[Step]:
    """Return the state of each exercise, after a check of those that were changed since their last one."""
    with writing("What was found earlier cannot be read or kept"):
        known = Progress(course, folder, read_answers(course, folder))
        if changed := [step.exercise for step in known.steps() if step.state == "changed"]:
            if grading is None:
                err.print(f"Checking what was changed since the last check: {len(changed)} of your exercises.")
            known.remember(check_answers(course, known.answers, changed, grading).report, known.answers.code)
    return known.steps()


COMMANDS = {"check": check, "show": show, "progress": progress, "next": find_next}


def _prepare(root: Path) -> Callable[[Message], Message]:
    """Import torch, collect the visible tests of all units, and read what most likely stays as it is."""
    course = _course(root)
    grading = visible_grading(course)
    grading.rubric()
    grader_digest(course, "visible")
    received_code(course)  # most files of a student are still as they were received, and are not parsed again

    def reply_to(asked: Message) -> Message:
        file = TextIOWrapper(BytesIO(), encoding=asked["encoding"], errors=PLAIN)
        console = Console(
            file=file,
            force_terminal=asked["is_terminal"],
            width=asked["width"],
            color_system=asked["colors"],
            _environ=asked.get("environment"),
            legacy_windows=False,
            highlight=False,
        )
        try:
            done = COMMANDS[asked["do"]](asked, console, grading)
        except GraderError as problem:
            done = {"code": problem.exit_code, "error": str(problem)}
        file.seek(0)
        return done | {"printed": file.read()}

    return reply_to


if __name__ == "__main__":
    course_folder, key_file = map(Path, sys.argv[1:])
    spare.serve(key_file, lambda: _prepare(course_folder))
