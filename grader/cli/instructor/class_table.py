"""What `grader grade` and `grader regrade` print: how submissions were read, a line for each student, and changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from grader.cli import console
from grader.cli.console import say
from grader.text import in_words, listed, log_line, who

if TYPE_CHECKING:
    from grader.classes.batch import Batch
    from grader.classes.differences import ReportDifference
    from grader.classes.hand_ins import HandIns
    from grader.reports.report_model import Report
    from grader.submissions.find import Submissions

MOST_IGNORED = 50
MOST_OF_A_CASE = 2000
NOTHING = "-"


def print_reading(came: Submissions, handed_in: HandIns, batch: Batch) -> None:
    """Print whether most submissions are empty, how they were read, and what was ignored."""
    from grader.classes.differences import outranked
    from grader.reports.reading import is_missing
    from grader.submissions.contents import another_unit, other_units
    from grader.submissions.layouts import described

    given = [report for report in batch.reports if report.student not in handed_in.absent]
    asked = {
        one.student: {name: unit for name, unit in one.units.items() if batch.unit in (None, name)} for one in given
    }
    unread = {student for student, units in asked.items() if all(unit.path is None for unit in units.values())}
    wrong = {other: students & unread for other, students in other_units(batch.ignored).items()}
    missing = {student for student, units in asked.items() if all(is_missing(name, one) for name, one in units.items())}
    right = len(given) - len(missing.union(*wrong.values()))
    empty = (missing | wrong.pop("", set())).difference(*wrong.values())
    if batch.unit and (sentence := another_unit(wrong, batch.unit, len(given), right)):
        say(sentence)
    if 2 * len(empty) > len(given) and came.layouts != ["single"]:
        say(
            f"{len(empty)} of {len(given)} submissions hold none of the course's files and get no points: "
            "see whether this is the right folder, and the layout below the right one (--layout)."
        )
    say(f"Layout: {'; '.join(map(described, came.layouts))}.")
    _print_matches(came, handed_in, batch)
    say(*filter(None, [*batch.dating.notes, outranked(batch.graded, batch.course.late.counts)]))
    names = [(one, str(one)) for one in came.ignored]
    names += [(one, f"{one} ({_whose(students)})") for one, students in sorted(batch.ignored.items())]
    # The list is cut, so files that could hold answers come first.
    names.sort(key=lambda name: not name[0].advice)
    if names:
        say(f"Ignored: {listed([name for _, name in names], MOST_IGNORED)}.")
    console.out.print()


def _print_matches(came: Submissions, handed_in: HandIns, batch: Batch) -> None:
    """Print how submissions were matched to the roster, and who has several."""
    from grader.classes.hand_ins import described_matches

    say(*described_matches(handed_in, batch.decisions.entries, came))
    several = [f"{student} ({len(own)})" for student, own in handed_in.of.items() if len(own) > 1]
    if several:
        which = "the last one counts" if batch.course.late.counts == "last" else "the best one counts, by unit"
        say(f"Several submissions, of which {which}: {listed(several, MOST_IGNORED)}.")
    if together := sorted({tuple(report.together) for report in batch.reports if report.together}):
        say(f"Handed in together: {'; '.join(map(in_words, together))}.")


def _whose(students: list[str]) -> str:
    return ", ".join(students) if len(students) < 4 else f"{len(students)} submissions"


def print_class(batch: Batch) -> None:
    """Print one line for each student: points by unit and the main issue; then the units."""
    from grader.reports.reading import undated

    reports, course = batch.reports, batch.course
    if not reports:
        return
    # Units have numbers, because their names would leave no room for anything else.
    numbers = {unit: str(number) for number, unit in enumerate(course.units, 1) if unit in _shown(batch)}
    table = Table("student", *numbers.values(), "total", "main issue", box=None, pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    rows = {name: [*[NOTHING] * (len(numbers) + 1), "[red]not graded[/]"] for name in batch.missed}
    for report in reports:
        units = [report.units[name] for name in numbers if name in report.units]
        counted = [unit for unit in units if not unit.exempt]
        points, possible = (sum(getattr(unit, what) for unit in counted) for what in ("points", "possible"))
        colour = "green" if points == possible else "yellow" if points else "red"
        total = f"[{colour if possible else 'dim'}]{points}/{possible}[/]"
        issue = escape(log_line(next(_issues(report, list(numbers)), "")))
        rows[report.student] = [*(_cell(report, name) for name in numbers), total, issue]
    first = {report.student for report in reports if any(map(undated, report.units.values()))}
    for student in sorted(rows, key=lambda name: (name not in first, name.casefold())):
        table.add_row(escape(log_line(str(batch.decisions.entry(student)))), *rows[student])
    console.out.print(table)
    console.out.print()
    for unit, number in numbers.items():
        say(_legend(batch, unit, number))
    say(f"Reports: {batch.into}/<student>.json")
    if not all(report.isolation.enough for report in reports):
        console.out.print("[bold red]These submissions were not isolated while they ran: the reports say so.[/]")


def _shown(batch: Batch) -> list[str]:
    """Return the units to show: those that are over; before the first one is, those that somebody has begun."""
    from grader.classes.gradebook import units_begun

    if batch.unit:
        return [batch.unit]
    units = list(dict.fromkeys(name for report in batch.reports for name in report.units))
    over = [name for name in units if batch.course.is_over(name, batch.now)]
    return over or units_begun(batch.reports)


def _cell(report: Report, name: str) -> str:
    from grader.classes.gradebook import is_handed_in

    unit = report.units.get(name)
    if unit is None or unit.exempt:
        return "exempt" if unit else NOTHING
    # An adjustment can give points for what was handed in elsewhere.
    return str(unit.points) if is_handed_in(report, name) or unit.points else NOTHING


def print_open_cases(batch: Batch) -> None:
    """Print what is to be decided about the students of this grading."""
    from grader.classes.gradebook import Reports, gradebook_of
    from grader.classes.open_cases import open_cases

    found: Reports = {one.student: dict.fromkeys(one.units, one) for one in batch.reports}
    units = _shown(batch) or [*batch.course.units]
    found |= {student: dict.fromkeys(units, reason) for student, reason in batch.reasons.items()}
    if not found:
        return
    decisions = replace(batch.decisions, entries=[one for one in batch.decisions.entries if one.student in found])
    gradebook = gradebook_of(decisions, found, batch.now, units, graded=units)
    cases = open_cases(gradebook, batch.course, batch.now, batch.into)
    if cases:
        say(f"Open cases ({len(cases)}), to decide before the grades are final:")
    say(*(f"- {log_line(case.text, MOST_OF_A_CASE)}" for case in cases))


def _legend(batch: Batch, name: str, number: str) -> str:
    """Return what a unit's number means. A report from before an extended due date has fewer points."""
    units = [report.units[name] for report in batch.reports if name in report.units]
    unit = max(units, key=lambda one: one.possible)
    legend = f"{number}: {name}, of {unit.possible} points"
    if unit.quiz and not unit.quiz.possible:
        return f"{legend}; its quiz is worth none"
    if unit.quiz and unit.quiz.points is None:
        return f"{legend}; its quiz counts from {batch.course.units[name].due:%Y-%m-%d}"
    return f"{legend}, {unit.quiz.possible} of them the quiz's" if unit.quiz else legend


def _issues(report: Report, shown: Sequence[str]) -> Iterator[str]:
    """Yield the issues of a report: late work without a time, then those that cost most points."""
    from grader.reports.reading import not_handed_in, undated

    yield from (f"{name}: {text}" for name, unit in report.units.items() if (text := undated(unit)))
    asked = {name for name, unit in report.units.items() if not unit.exempt}
    if not report.handed_in or (asked and asked <= {*not_handed_in(report)}):
        yield "nothing handed in yet"
    issues = [issue for name in shown if name in asked for issue in _unit_issues(report, name)]
    yield from (text for _, text in sorted(issues, key=lambda issue: -issue[0]))


def _unit_issues(report: Report, name: str) -> Iterator[tuple[float, str]]:
    """Yield what each issue of a unit costs, and its text."""
    from grader.reports.reading import entries_of, is_handed_in, is_missing
    from grader.reports.report_model import NOT_WRITTEN

    unit = report.units[name]
    if is_handed_in(name, unit):
        # Without answers in the unit's file, what to hand in comes first, whatever the quiz is worth.
        tests = [test for exercise in unit.exercises.values() for test in exercise.tests]
        is_begun = any(test.points or test.reason not in (NOT_WRITTEN, None) for test in tests)
        unread = 0 if unit.path and is_begun else unit.possible
        yield from ((unread, remark) for remark in unit.remarks)
    if not is_missing(name, unit):
        for entry in entries_of(report, name):
            if entry.state != "done":
                named = [one.name.replace("_", " ") for one in entry.exercise.misconceptions]
                found = entry.issues[0] if entry.issues else None
                reason = (found.reason or found.tests[0].name.replace("_", " ")) if found else None
                text = ", ".join(named) or reason or entry.exercise.waiting_for
                # What is not written yet shows in the points already.
                lost = entry.exercise.possible - entry.exercise.points
                yield 0 if entry.state == "not written yet" else lost, f"{entry.name}: {text}"
    yield from ((-change.points, f"{name}: {change.reason}") for change in unit.changes if change.points < 0)
    if unit.quiz and is_handed_in(name, unit):
        lost = unit.quiz.possible - unit.quiz.points if unit.quiz.points is not None else 0
        yield from ((lost, remark) for remark in unit.quiz.remarks)
        # The rest of the problem quotes the student, and a log could read that as a command.
        problems = [(item, item.problem.partition(": ")[0]) for item in unit.quiz.items.values() if item.problem]
        for item, problem in problems:
            yield (0 if item.points is None else item.possible), f"{problem}: this answer cannot be read"


def print_differences(differences: Sequence[ReportDifference], total: int) -> None:
    """Print whose points or possible points change, by exercise and test, and why."""
    for one in sorted(differences, key=lambda one: one.student.casefold()):
        is_same = one.before is None or one.before[1] == one.after[1]
        before, after = (
            "no report" if points is None else str(points[0]) if is_same else f"{points[0]} of {points[1]}"
            for points in (one.before, one.after)
        )
        console.out.print(
            f"[bold]{escape(who(one.student, one.name))}[/]: {before} → {after} ({', '.join(one.reasons)})"
        )
        for line in one.lines:
            say(f"  {log_line(line)}" if not line.startswith("  ") else f"    {log_line(line.strip())}")
    say(f"The points or possible points of {len(differences)} of {total} students change.")
