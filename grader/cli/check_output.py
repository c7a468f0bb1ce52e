"""Prints the result of a check, how far a student is, and the next thing to do."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from grader.cli.console import safe
from grader.course.guidance import Rules, efforts
from grader.course.model import Course
from grader.practice.progress import Step, next_step
from grader.reports.reading import NOTHING_YET, ExerciseEntry, entries, sentence_of
from grader.reports.report_model import Message, Report
from grader.submissions.submission import missing_file

WIDTH = 100

MARKS = {
    "passes": "[green]✓[/]",
    "fails": "[yellow]✗[/]",
    "waits": "[dim]·[/]",
    "changed": "[yellow]?[/]",
    "not written": "[dim]·[/]",
}


def print_report(report: Report, rules: Rules, names: Collection[str], console: Console) -> bool:
    """Print which exercises pass and which do not yet.

    Args:
        report: The report of a check.
        rules: The rules of the exercises.
        names: Print these exercises or units alone; if there are none, every unit that was begun.
        console: The terminal.

    Returns:
        Whether all exercises pass; also true if nothing is handed in yet.
    """
    shown = print_exercises(report, rules, names, console)
    count = sum(entry.state == "done" for entry in shown)
    what = "exercise passes" if count == len(shown) == 1 else "exercises pass"
    console.print(Text(f"{count} of {len(shown)} {what} the visible tests.", style="bold"))
    if not report.isolation.enough:
        console.print("Your code was not isolated while it ran: this machine cannot isolate it.", style="dim")
    if report.both_pythons:
        console.print(Text(report.both_pythons, style="dim"))
    if not report.handed_in:
        _say(console, NOTHING_YET, indent=0)
        return True
    return count == len(shown)


def print_exercises(report: Report, rules: Rules, names: Collection[str], console: Console) -> list[ExerciseEntry]:
    """Print the state of these exercises, or of those in these units, and return them.

    If there are no names, it prints all units that were begun, and names the others.
    """
    shown = [entry for entry in entries(report) if not names or {entry.unit_name, entry.name}.intersection(names)]
    untouched = []
    for unit_name, unit in report.units.items():
        own = [entry for entry in shown if entry.unit_name == unit_name]
        is_begun = any(entry.state in ("done", "in progress", "no answer found") for entry in own)
        if not names and not is_begun:
            untouched.append(unit_name)
        elif own:
            _show_unit(report, rules, unit_name, own, names, console)
            if unit.quiz and (not names or unit_name in names):
                _say(console, f"quiz: {unit.quiz.summary}", indent=4)
                known = {*unit.remarks, missing_file(unit_name, is_quiz=True)}
                problems = [*unit.quiz.remarks, *(item.problem for item in unit.quiz.items.values())]
                _say(console, *(problem for problem in problems if problem and problem not in known))
            console.print()
    if untouched:
        _say(console, f"Not begun: {', '.join(untouched)}", indent=0)
        console.print()
    return shown


def _show_unit(
    report: Report, rules: Rules, unit_name: str, own: list[ExerciseEntry], names: Collection[str], console: Console
) -> None:
    """Print the exercises of a unit and where its code failed; for an exercise that was named, also its output."""
    unit = report.units[unit_name]
    kinds = {"raised", "not run", "printed"} if unit.exercises.keys() & set(names) else {"raised", "not run"}
    messages = [one for one in report.messages if one.unit == unit_name and one.kind in kinds]
    console.print(Text(unit_name, style="bold"))
    # Problems of the whole file come first, because they may cause the others.
    _say(console, *unit.remarks)
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


def _show_exercise(entry: ExerciseEntry, rules: dict[str, bool], messages: list[Message], console: Console) -> None:
    """Print one line for an exercise, and below it its cause, the main issue, what its code did, and remarks.

    A tick says how many of the rules it is about, because the visible tests may not try all of them.
    """
    tests = entry.exercise.tests
    count = f"{sum(test.outcome == 'passed' for test in tests)} of {len(tests)} tests pass"
    if entry.state == "done":
        count = f"{sum(rules.values())} of {len(rules)} rules tried" if rules else count
        console.print(f"  [green]✓[/] {escape(entry.name):32} {count}")
        for message in messages:
            if message.kind == "printed":
                _show_message(message, console)
    elif entry.state == "in progress":
        console.print(f"  [yellow]✗[/] {escape(entry.name):32} {count}")
        reasons = [(entry.raised_for(issue.reason), issue.reason) for issue in entry.issues]
        first, reason = reasons[0]
        expected = f"Expected: {entry.expected}" if entry.issues[0].tests[0].sentence else entry.expected
        _say(console, *filter(None, (entry.advice, expected, None if first else reason)))
        for message in sorted(messages, key=lambda one: one is not first):
            _show_message(message, console, next((why for source, why in reasons if source is message), None))
    else:
        why = entry.exercise.waiting_for or "not written yet"
        is_partly = any(test.outcome == "passed" for test in tests)
        text = safe(count if is_partly else why, console)
        console.print(f"  [dim]· {escape(entry.name):32} {text}[/]", soft_wrap=not console.is_terminal)
        if is_partly:
            _say(console, why)
    _say(console, *entry.exercise.remarks)


def _show_message(message: Message, console: Console, reason: str | None = None) -> None:
    """Print a message, for an error with the reason that a test gives, and the lines that led to the error."""
    place = f"{message.file}, line {message.line}: " if message.file else ""
    is_output = message.kind == "printed"
    _say(console, f"printed: {message.text}".strip() if is_output else f"{place}{sentence_of(message, reason)}")
    _say(console, *message.trace, indent=10)


def _say(console: Console, *sentences: str, indent: int = 6) -> None:
    """Print each sentence in lines of readable length, or in one line if the output is not a terminal."""
    for sentence in sentences:
        if console.is_terminal:
            console.print(Padding(safe(sentence, console), (0, 0, 0, indent)), width=min(console.width, WIDTH))
        else:
            console.print(textwrap.indent(safe(sentence, console), " " * indent), soft_wrap=True)


def print_progress(course: Course, steps: Sequence[Step], console: Console) -> None:
    """Print each unit with the state of its exercises, and the next thing to do."""
    for unit, described in course.units.items():
        own = [step for step in steps if step.unit == unit]
        count = sum(step.state == "passes" for step in own)
        line = Text.assemble((unit, "bold"), f"  {count} of {len(own)}  ", (described.title, "dim"))
        console.print(line, no_wrap=True, overflow="ellipsis")
        if any(step.state != "not written" for step in own) and count < len(own):
            for step in own:
                console.print(f"  {MARKS[step.state]} {escape(step.exercise)}")
    console.print()
    print_next(course, steps, None, console)


def print_next(course: Course, steps: Sequence[Step], focus: str | None, console: Console) -> None:
    """Print how many exercises pass, and which one is next: the one in focus until it passes."""
    count = sum(step.state == "passes" for step in steps)
    console.print(Text(f"{count} of {len(steps)} exercises pass the visible tests.", style="bold"))
    in_focus = [step for step in steps if step.exercise == focus and step.state != "passes"]
    following = in_focus[0] if in_focus else next_step(steps, focus)
    if following is None:
        console.print("All exercises pass. Have you answered the quizzes? grader quiz UNIT")
    else:
        verb = {"fails": "fix", "waits": "fix", "changed": "check"}.get(following.state, "write")
        effort = efforts(course).get(following.unit, {}).get(following.exercise)
        time = f"{effort.minutes} minutes, {effort.difficulty}" if effort and verb == "write" else ""
        details = "; ".join(filter(None, [following.place, time]))
        console.print(
            safe(f"Next: {verb} {following.exercise}{f' ({details})' if details else ''}", console), soft_wrap=True
        )
