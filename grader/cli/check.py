"""A student's own check: the visible tests on the answers in this folder, and what came out, in the terminal."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from grader.cli.console import safe
from grader.course.find import find_course
from grader.course.model import Course
from grader.documents import nearest
from grader.engine.client import Grading
from grader.errors import GraderError
from grader.quizzes.questions import FILENAME, Questions, read_questions
from grader.reports.model import NOT_WRITTEN, Exercise, Message, Report, Unit
from grader.reports.reading import NOTHING_YET, told
from grader.submissions.paths import require_folder, require_name
from grader.submissions.places import missing_unit
from grader.submissions.reader import read_submission

WIDTH = 100


class CheckError(GraderError):
    """There is nothing to check; the text says why, and what to do."""


def check_answers(named: Path | None, name: str | None, student: str | None) -> Report:
    """The report on the answers in this folder by the visible tests: on all units, or the one of that name.

    named: the course's folder. name: an exercise or a unit.

    Raises CheckError, CourseError, SubmissionError or InternalError.
    """
    course = find_course(named)
    units = list(course.units) if name is None else [_unit_of(name, course)]
    # A workflow names the student: then this folder is the submission, even if nothing is left in it.
    folder = _answers_folder(course) if student is None else _here()
    student = student or _as_name(folder)
    require_folder(folder)
    require_name(student, folder)
    asked = read_questions(course.exercises / FILENAME) if course.quizzes else {}
    quizzes: dict[str, Questions] = {unit: asked[unit] for unit in units if unit in asked and unit in course.quizzes}
    submission = read_submission(student, folder, units, course.exercises, course.units, quizzes)
    now = datetime.datetime.now(datetime.UTC)
    # A student's own code on their own machine: it is isolated where that works, and run in any case.
    with Grading(course, quizzes, allow_unisolated=True, suites="visible") as grading:
        [(_, graded)] = grading.reports([submission], at_once=1, now=now)
    if isinstance(graded, str):
        raise CheckError(f"Your answers could not be checked: {graded}.")
    return graded.report


def _unit_of(name: str, course: Course) -> str:
    for unit, described in course.units.items():
        if name == unit or name in described.exercises:
            return unit
    known = [*course.units, *(exercise for unit in course.units.values() for exercise in unit.exercises)]
    raise CheckError(f"There is no exercise or unit {name!r}.{nearest(name, known)}")


def _answers_folder(course: Course) -> Path:
    """This folder, or the nearest one around it, with answers in it or in its exercises/."""
    files = [f"{unit}{suffix}" for unit in course.units for suffix in (".py", ".ipynb")]
    here = _here()
    for folder in (here, *here.parents):
        places = (folder / "exercises", folder)
        if any((place / file).is_file() for place in places for file in files):
            return folder.parent if folder.name == "exercises" else folder
    raise CheckError(f"{here} holds none of the course's files, such as {files[0]}: go to your course's folder.")


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise CheckError("This folder no longer exists: go to your course's folder.") from None


def _as_name(folder: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", folder.name).lstrip("._-") or "me"


def show(report: Report, name: str | None, console: Console) -> bool:
    """Print what is right and what is not yet: of the exercise or unit of that name alone, else of what was begun.

    Returns whether all of it is right. Where nothing is handed in yet, only a name that was asked for can be wrong.
    """
    is_right, exercises = 0, 0
    for unit_name, unit in report.units.items():
        chosen = {exercise: found for exercise, found in unit.exercises.items() if name in (None, unit_name, exercise)}
        is_right += sum(_is_right(found) for found in chosen.values())
        exercises += len(chosen)
        if not chosen or (name is None and not _is_begun(unit_name, unit)):
            continue
        console.print(Text(unit_name, style="bold"))
        for remark in unit.remarks:
            _say(console, remark)
        messages = _messages(report, unit_name, chosen, name)
        # Problems of the whole file come first: they may be the cause of the others.
        for message in messages:
            if message.exercise is None:
                _say(console, _told(message))
        # Where the file could not be read, each exercise would only repeat why.
        for exercise, found in chosen.items() if unit.path else ():
            _show_exercise(exercise, found, console)
        for message in messages:
            if message.exercise is not None:
                _say(console, f"{message.exercise}: {_told(message)}")
        if unit.quiz and name in (None, unit_name):
            _say(console, f"quiz: {unit.quiz.summary}", indent=4)
            for item in unit.quiz.items.values():
                if item.problem:
                    _say(console, item.problem)
        console.print()
    untouched = [unit_name for unit_name, unit in report.units.items() if not _is_begun(unit_name, unit)]
    if untouched and name is None:
        _say(console, f"Not begun: {', '.join(untouched)}", indent=0)
        console.print()
    what = "exercise passes" if is_right == exercises == 1 else "exercises pass"
    console.print(Text(f"{is_right} of {exercises} {what} the visible tests.", style="bold"))
    if not report.isolation.enough:
        console.print("Your code was not isolated while it ran: this machine cannot isolate it.", style="dim")
    if not report.handed_in and name is None:
        _say(console, NOTHING_YET, indent=0)
        return True
    return is_right == exercises


def _is_right(exercise: Exercise) -> bool:
    return all(test.outcome == "passed" for test in exercise.tests)


def _is_written(exercise: Exercise) -> bool:
    """Or at least begun. What waits for another exercise gave no reason of its own."""
    return any(test.outcome == "passed" or test.reason not in (NOT_WRITTEN, None) for test in exercise.tests)


def _is_begun(name: str, unit: Unit) -> bool:
    if unit.path is None:
        return unit.remarks != [missing_unit(name)]
    return any(map(_is_written, unit.exercises.values()))


def _show_exercise(name: str, exercise: Exercise, console: Console) -> None:
    """One line, and below it the first thing that is not right."""
    passed = sum(test.outcome == "passed" for test in exercise.tests)
    count = f"{passed} of {len(exercise.tests)}"
    if _is_right(exercise):
        console.print(f"  [green]✓[/] {escape(name):32} {count}")
    elif not _is_written(exercise):
        console.print(
            f"  [dim]· {escape(name):32} {safe(exercise.waiting_for or 'not written yet', console)}[/]", soft_wrap=True
        )
    else:
        console.print(f"  [yellow]✗[/] {escape(name):32} {count}")
        first = next(test for test in exercise.tests if test.outcome == "failed")
        for sentence in (first.sentence, exercise.waiting_for or first.reason):
            if sentence:
                _say(console, sentence)


def _messages(report: Report, unit: str, exercises: dict[str, Exercise], name: str | None) -> list[Message]:
    """Where code of the unit failed, unless it waits for another; and, of one exercise alone, what it printed."""
    kinds = {"raised", "not run"} if name not in exercises else {"raised", "not run", "printed"}
    told = {None, *(exercise for exercise, found in exercises.items() if not found.waiting_for)}
    return [
        message
        for message in report.messages
        if message.unit == unit and message.kind in kinds and message.exercise in told
    ]


def _told(message: Message) -> str:
    if message.kind == "printed":
        return f"printed: {message.text}".strip()
    place = f"{message.file}, line {message.line}: " if message.file else ""
    return f"{place}{told(message)}"


def _say(console: Console, sentence: str, indent: int = 6) -> None:
    """A sentence in lines that are not too long to read; in one line where a program reads it."""
    if console.is_terminal:
        console.print(Padding(safe(sentence, console), (0, 0, 0, indent)), width=min(console.width, WIDTH))
    else:
        console.print(" " * indent + safe(sentence, console), soft_wrap=True)
