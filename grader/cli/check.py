"""`grader check`: run the visible tests on the answers in this folder, and print the results."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from grader.cli.console import safe
from grader.course.find import find_course
from grader.course.rules import read_rules
from grader.documents import nearest
from grader.engine.grading import Grading
from grader.errors import GraderError
from grader.quizzes.questions import FILENAME, Questions, read_questions
from grader.reports.reading import NOTHING_YET, Entry, entries, sentence_of
from grader.submissions.names import require_folder, require_name
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from rich.console import Console

    from grader.course.model import Course
    from grader.course.rules import Rules
    from grader.reports.model import Message, Report
    from grader.submissions.source import Submission

WIDTH = 100
# Where code has the name of a unit.
IMPORT = r"^\s*(?:from|import)\s+{}\b"
MENTION = r"\b{}\b"


def check_answers(named: Path | None, name: str | None, student: str | None) -> tuple[Report, Rules]:
    """Grade the answers in this folder by the visible tests.

    Args:
        named: The folder of the course that --course names.
        name: An exercise or a unit to check alone; by default, all units.
        student: The student's name; by default the folder's.

    Returns:
        The report, and the rules of the exercises with whether a visible test tries them.

    Raises:
        GraderError: There is nothing to check, the course or the submission cannot be read, or the grading failed.
    """
    course = find_course(named)
    units = list(course.units) if name is None else [_unit_of(name, course)]
    # A workflow names the student. Then this folder is the submission, even if it is empty.
    folder = _answers_folder(course) if student is None else _here()
    student = student or _as_name(folder)
    require_folder(folder)
    require_name(student, folder)
    asked = read_questions(course.exercises / FILENAME) if course.quizzes else {}
    quizzes: dict[str, Questions] = {unit: asked[unit] for unit in units if unit in asked and unit in course.quizzes}
    submission = read_submission(student, folder, units, course.exercises, course.units, quizzes)
    if name is not None:
        # Which exercises of an imported unit are right decides where a mistake is.
        imported = _reached(submission, course, IMPORT)
        units = [unit for unit in course.units if unit in imported or unit in units]
        # A file that nothing mentions could only cost time: what it needs of torch would be imported for it.
        mentioned = _reached(submission, course, MENTION)
        submission = read_submission(student, folder, units, course.exercises, mentioned, quizzes)
    now = datetime.datetime.now(datetime.UTC)
    # A student's own code on their own machine is isolated if possible, and run in any case.
    with Grading(course, quizzes, allow_unisolated=True, suites="visible", units=units) as grading:
        [(_, graded)] = grading.reports([submission], at_once=1, now=now)
    if isinstance(graded, str):
        raise GraderError(f"Your answers could not be checked: {graded}.")
    return graded.report, read_rules(course)


def _unit_of(name: str, course: Course) -> str:
    for unit, described in course.units.items():
        if name == unit or name in described.exercises:
            return unit
    known = [*course.units, *(exercise for unit in course.units.values() for exercise in unit.exercises)]
    raise GraderError(f"There is no exercise or unit {name!r}.{nearest(name, known)}")


def _reached(submission: Submission, course: Course, pattern: str) -> set[str]:
    """Return the units whose names occur like this in a submission's code, directly or in the code of such a unit."""
    sources = {**submission.siblings, **submission.sources}
    found, new = set[str](), set(submission.units)
    while new:
        text = "\n".join(cell for name in new & sources.keys() for cell in sources[name].cells)
        here = {name for name in course.units if re.search(pattern.format(name), text, re.MULTILINE)}
        new = here - found - set(submission.units)
        found |= new
    return found


def _answers_folder(course: Course) -> Path:
    """Return this folder or the nearest one around it with answers in it or in its exercises/."""
    files = [f"{unit}{suffix}" for unit in course.units for suffix in (".py", ".ipynb")]
    here = _here()
    for folder in (here, *here.parents):
        places = (folder / "exercises", folder)
        if any((place / file).is_file() for place in places for file in files):
            return folder.parent if folder.name == "exercises" else folder
    raise GraderError(f"{here} holds none of the course's files, such as {files[0]}: go to your course's folder.")


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise GraderError("This folder no longer exists: go to your course's folder.") from None


def _as_name(folder: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", folder.name).lstrip("._-") or "me"


def show(report: Report, rules: Rules, name: str | None, console: Console) -> bool:
    """Print which exercises pass and which do not yet.

    Args:
        report: The report of a check.
        rules: The rules of the exercises.
        name: Print this exercise or unit alone; by default, every unit that was begun.
        console: The terminal.

    Returns:
        Whether all exercises pass; also true if nothing is handed in yet and no name was given.
    """
    shown = [entry for entry in entries(report) if name in (None, entry.unit_name, entry.name)]
    untouched = []
    for unit_name, unit in report.units.items():
        own = [entry for entry in shown if entry.unit_name == unit_name]
        is_begun = any(entry.state in ("done", "in progress", "not graded") for entry in own)
        if name is None and not is_begun:
            untouched.append(unit_name)
        elif own:
            _show_unit(report, rules, unit_name, own, name, console)
            if unit.quiz and name in (None, unit_name):
                _say(console, f"quiz: {unit.quiz.summary}", indent=4)
                for problem in filter(None, [item.problem for item in unit.quiz.items.values()]):
                    _say(console, problem)
            console.print()
    if untouched:
        _say(console, f"Not begun: {', '.join(untouched)}", indent=0)
        console.print()
    count = sum(entry.state == "done" for entry in shown)
    what = "exercise passes" if count == len(shown) == 1 else "exercises pass"
    console.print(Text(f"{count} of {len(shown)} {what} the visible tests.", style="bold"))
    if not report.isolation.enough:
        console.print("Your code was not isolated while it ran: this machine cannot isolate it.", style="dim")
    if not report.handed_in and name is None:
        _say(console, NOTHING_YET, indent=0)
        return True
    return count == len(shown)


def _show_unit(
    report: Report, rules: Rules, unit_name: str, own: list[Entry], name: str | None, console: Console
) -> None:
    """Print the exercises of a unit and where its code failed; for a single exercise, also its output."""
    unit = report.units[unit_name]
    kinds = {"raised", "not run", "printed"} if name in unit.exercises else {"raised", "not run"}
    messages = [one for one in report.messages if one.unit == unit_name and one.kind in kinds]
    console.print(Text(unit_name, style="bold"))
    # Problems of the whole file come first, because they may cause the others.
    for problem in unit.remarks:
        _say(console, problem)
    for message in messages:
        if message.exercise is None:
            _show_message(message, console)
    # If the file could not be read, each exercise would only repeat why.
    for entry in own if unit.path else ():
        _show_exercise(
            entry,
            rules.get(unit_name, {}).get(entry.name, {}),
            [one for one in messages if one.exercise == entry.name],
            console,
        )


def _show_exercise(entry: Entry, rules: dict[str, bool], messages: list[Message], console: Console) -> None:
    """Print one line for an exercise, and below it the main issue and what its code raised and printed.

    A tick says how many of the rules it is about, because the visible tests may not try all of them.
    """
    tests = entry.exercise.tests
    count = f"{sum(test.outcome == 'passed' for test in tests)} of {len(tests)} tests pass"
    if entry.state == "done":
        count = f"{sum(rules.values())} of {len(rules)} rules tried" if rules else count
        console.print(f"  [green]✓[/] {escape(entry.name):32} {count}")
    elif entry.state == "in progress":
        console.print(f"  [yellow]✗[/] {escape(entry.name):32} {count}")
        reasons = [(entry.raised_for(issue.reason), issue.reason) for issue in entry.issues]
        first, reason = reasons[0]
        for sentence in filter(None, (entry.expected, None if first else reason, entry.advice)):
            _say(console, sentence)
        for message in sorted(messages, key=lambda one: one is not first):
            _show_message(message, console, next((why for source, why in reasons if source is message), None))
    else:
        why = safe(entry.exercise.waiting_for or "not written yet", console)
        console.print(f"  [dim]· {escape(entry.name):32} {why}[/]", soft_wrap=True)


def _show_message(message: Message, console: Console, reason: str | None = None) -> None:
    """Print a message, for an error with the reason that a test gives, and the lines that led to the error."""
    _say(console, _text(message, reason))
    for line in message.trace:
        _say(console, line, indent=10)


def _text(message: Message, reason: str | None) -> str:
    if message.kind == "printed":
        return f"printed: {message.text}".strip()
    place = f"{message.file}, line {message.line}: " if message.file else ""
    return f"{place}{sentence_of(message, reason)}"


def _say(console: Console, sentence: str, indent: int = 6) -> None:
    """Print a sentence in lines of readable length, or in one line if the output is not a terminal."""
    if console.is_terminal:
        console.print(Padding(safe(sentence, console), (0, 0, 0, indent)), width=min(console.width, WIDTH))
    else:
        console.print(" " * indent + safe(sentence, console), soft_wrap=True)
