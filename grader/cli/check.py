"""`grader check`: tests the answers, and prints which exercises pass and what is wrong with the others.

As a program it is the spare process that does this for the next `grader check`.
"""

from __future__ import annotations

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from grader.cli.console import safe, writing
from grader.course.model import load_course
from grader.course.rules import read_rules
from grader.errors import IMPERFECT, GraderError
from grader.practice import spare
from grader.practice.check import answers_folder, check_answers, unit_of, visible_grading
from grader.reports.model import write_report
from grader.reports.reading import NOTHING_YET, Entry, entries, sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.course.rules import Rules
    from grader.engine.grading import Grading
    from grader.practice.spare import Message as Asked
    from grader.reports.model import Message, Report

WIDTH = 100


def check(asked: Asked, console: Console, grading: Grading | None = None) -> int:
    """Check answers and print the result.

    Args:
        asked: The folder of the course (`root`), the current one (`here`), what to check (`name`), the student's name
            (`student`), and the folder of the report (`into`); the last three may be None.
        console: Where to print.
        grading: A grading by the visible tests that was prepared earlier.

    Returns:
        The exit code.

    Raises:
        GraderError: There is nothing to check, something cannot be read or written, or the grading failed.
    """
    course, here, name = load_course(Path(asked["root"])), Path(asked["here"]), asked["name"]
    # A workflow names the student. Then the current folder is the submission, even if it is empty.
    folder = answers_folder(course, here) if asked["student"] is None else here
    # A report has all exercises of a unit.
    names = [] if name is None else [unit_of(name, course) if asked["into"] else name]
    report = check_answers(course, folder, names, asked["student"], grading)
    if asked["into"]:
        with writing(f"The report could not be written to {asked['into']}"):
            Path(asked["into"]).mkdir(parents=True, exist_ok=True)
            write_report(report, None, Path(asked["into"]))
    return 0 if print_report(report, read_rules(course), name, console) else IMPERFECT


def print_report(report: Report, rules: Rules, name: str | None, console: Console) -> bool:
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


def _prepare(root: Path) -> Callable[[Asked], Asked]:
    """Prepare a check of any unit of this course."""
    course = load_course(root)
    grading = visible_grading(course)
    grading.rubric()  # starts the engine, which imports torch and collects the tests

    def reply_to(asked: Asked) -> Asked:
        file = TextIOWrapper(BytesIO(), encoding=asked["encoding"], errors="replace")
        console = Console(
            file=file,
            force_terminal=asked["is_terminal"],
            width=asked["width"],
            color_system=asked["colors"],
            legacy_windows=False,
            highlight=False,
        )
        code, error = 0, ""
        try:
            code = check(asked, console, grading)
        except GraderError as problem:
            code, error = problem.exit_code, str(problem)
        file.seek(0)
        return {"code": code, "error": error, "printed": file.read()}

    return reply_to


if __name__ == "__main__":
    course_folder, key_file = map(Path, sys.argv[1:])
    spare.serve(key_file, lambda: _prepare(course_folder))
