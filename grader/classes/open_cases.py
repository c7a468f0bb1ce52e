"""What a class asks of its instructor: the cases to decide before grades are final, and the students who need help."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from grader.classes.gradebook import Gradebook, StudentRow
from grader.course.model import Course
from grader.reports.folder import suite_faults
from grader.reports.reading import attempts, undated
from grader.reports.report_model import Unit
from grader.text import in_words, listed

TIME_UNKNOWN, NOT_GRADED, FAULTS, ATTEMPTS = "time unknown", "not graded", "faults of suites", "attempts"
_MOST = 50
LOW, FALL = 50, 30
"""In percent of the points."""
RULES = (
    "at least half of the units are not handed in",
    f"less than {LOW} % of the points in what is handed in",
    f"the newest unit is at least {FALL} percentage points below the one before",
    "the quiz of a unit is answered, and no exercise is handed in",
    "a file could not be read",
    "the time of a unit is unknown: it may be late",
    "a unit is not graded",
)
"""By which a student needs help."""


@dataclass(frozen=True)
class OpenCase:
    """One case: its kind, the units, what it is, with what to do, and the students; none if it is the whole class."""

    kind: str
    units: Sequence[str]
    sentence: str
    students: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The case in words."""
        where = f"{', '.join(self.units)}: " if self.units else ""
        return f"{where}{self.sentence}{f' {listed(self.students, _MOST)}.' if self.students else ''}"


def open_cases(gradebook: Gradebook, course: Course, now: datetime.datetime, reports: Path) -> list[OpenCase]:
    """Return the open cases: work without a time, what is not graded, faults of suites, and attempts.

    Args:
        gradebook: The class.
        course: The course.
        now: Decides which units are over.
        reports: The folder of the reports, which has what suites raised.
    """
    return [
        *_undated_units(gradebook, course, now),
        *_noted(gradebook, "graded", TIME_UNKNOWN),
        *_noted(gradebook, "not graded", NOT_GRADED),
        *_suite_faults(gradebook, reports),
        *(OpenCase(ATTEMPTS, (), line) for line in attempt_lines(gradebook)),
    ]


def attempt_lines(gradebook: Gradebook) -> list[str]:
    """Return a line on each student whose code tried something beyond the exercises."""
    lines = []
    for row in (*gradebook.rows, *gradebook.strangers):
        reports = {id(grade.report): grade.report for grade in row.grades.values() if grade.report}
        lines += [line for report in reports.values() if (line := attempts(report))]
    return sorted(lines, key=str.casefold)


def _undated_units(gradebook: Gradebook, course: Course, now: datetime.datetime) -> Iterator[OpenCase]:
    """Yield a case for the units that are over, of which nothing says when anybody handed in what may lose points."""
    units = [
        name
        for name in gradebook.possible
        if course.is_over(name, now)
        and (earned := [unit for row in gradebook.rows if (unit := row.grades[name].unit) and unit.earned])
        and all(unit.received is None for unit in earned)
    ]
    if units and course.late.percent(1):
        sentence = "Time unknown: nothing says when this was handed in, so all counts as in time. Write times.csv."
        yield OpenCase(TIME_UNKNOWN, units, sentence)


def _noted(gradebook: Gradebook, state: str, kind: str) -> Iterator[OpenCase]:
    """Yield a case for each note on grades in a state, and the units that it is about."""
    found: dict[tuple[str, tuple[str, ...]], list[StudentRow]] = {}
    # Nobody waits for the grade of somebody who is not in the class.
    rows = gradebook.rows if kind == NOT_GRADED else (*gradebook.rows, *gradebook.strangers)
    for row in rows:
        by_note: dict[str, list[str]] = {}
        for unit, grade in row.grades.items():
            if grade.state == state and grade.note:
                by_note.setdefault(grade.note, []).append(unit)
        for note, units in by_note.items():
            found.setdefault((note, tuple(units)), []).append(row)
    for (note, affected), rows in found.items():
        sentence = f"not graded. {note}" if kind == NOT_GRADED else note
        yield OpenCase(kind, affected, sentence, _names(rows))


def _suite_faults(gradebook: Gradebook, reports: Path) -> Iterator[OpenCase]:
    """Yield a case for each line of a suite that raised with some answers and not with the solution."""
    found: dict[tuple[str, str], list[StudentRow]] = {}
    for row in (*gradebook.rows, *gradebook.strangers):
        for folder in (reports, *(reports / unit for unit in row.grades)):
            for unit, sentences in suite_faults(row.entry.student, folder).items():
                if unit in row.grades and row.grades[unit].state == "graded":
                    for sentence in sentences:
                        found.setdefault((unit, sentence), []).append(row)
    for (unit, sentence), rows in found.items():
        yield OpenCase(FAULTS, [unit], sentence, _names(rows))


def _names(rows: Sequence[StudentRow]) -> list[str]:
    return sorted({str(row.entry) for row in rows}, key=str.casefold)


@dataclass(frozen=True)
class NeedsHelp:
    """A student, the total in percent, and why: by the rule, in words."""

    row: StudentRow
    percent: float | None
    reasons: Mapping[str, str]


def total_percent(gradebook: Gradebook, row: StudentRow) -> float | None:
    """Return a student's points in percent of the possible ones; None if no unit counts, or one is not graded."""
    total, possible = gradebook.total(row), gradebook.total_possible(row)
    return 100 * total / possible if total is not None and possible else None


def handed_in_nothing(row: StudentRow) -> bool:
    """Return whether a student handed in no unit that counts."""
    asked = [grade for grade in row.grades.values() if grade.state not in ("exempt", "not due")]
    return bool(asked) and all(grade.state == "not handed in" for grade in asked)


def needs_help(gradebook: Gradebook) -> list[NeedsHelp]:
    """Return the students whom a rule fits: the lowest total first, then the most reasons, then by name."""
    found = []
    for row in gradebook.rows:
        reasons = {rule: text for rule, text in zip(RULES, _reasons(row), strict=True) if text}
        if reasons:
            found.append(NeedsHelp(row, total_percent(gradebook, row), reasons))
    return sorted(found, key=_urgency)


def _urgency(one: NeedsHelp) -> tuple[float, int, str]:
    return (-1.0 if one.percent is None else one.percent, -len(one.reasons), one.row.entry.student.casefold())


def _reasons(row: StudentRow) -> Iterator[str]:
    """Yield for each rule why it fits a student; "" if it does not."""
    graded = {name: one.unit for name, one in row.grades.items() if one.state == "graded" and one.unit}
    missing = [name for name, one in row.grades.items() if one.state == "not handed in"]
    without_file = {name: unit for name, unit in graded.items() if unit.path is None}
    answered = [name for name, unit in without_file.items() if _has_answers(unit)]
    is_half = len(missing) >= len(graded)
    yield "Nothing is handed in." if handed_in_nothing(row) else _sentence(missing, "not handed in") if is_half else ""
    yield _low(graded.values())
    yield _falling(row)
    yield _sentence(answered, "only the quiz, no exercise")
    yield _sentence([name for name in without_file if name not in answered], "the file could not be read")
    yield _sentence([name for name, unit in graded.items() if undated(unit)], "time unknown, perhaps late")
    yield _sentence([name for name, one in row.grades.items() if one.state == "not graded"], "not graded")


def _has_answers(unit: Unit) -> bool:
    return unit.quiz is not None and any(item.answered for item in unit.quiz.items.values())


def _sentence(units: Sequence[str], what: str) -> str:
    return f"{in_words(units)}: {what}." if units else ""


def _low(graded: Collection[Unit]) -> str:
    points, possible = sum(unit.points for unit in graded), sum(unit.possible for unit in graded)
    is_low = possible and 100 * points < LOW * possible
    return f"{points} of {possible} points in what is handed in." if is_low else ""


def _falling(row: StudentRow) -> str:
    shares = [
        (name, 100 * grade.points / grade.unit.possible)
        for name, grade in row.grades.items()
        if grade.unit and grade.points is not None and grade.unit.possible
    ]
    for (before, first), (name, last) in list(pairwise(shares))[-1:]:
        if first - last >= FALL:
            return f"{name}: {last:.0f} %, after {first:.0f} % in {before}."
    return ""
