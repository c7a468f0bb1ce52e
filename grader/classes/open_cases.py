"""What an instructor has to decide about a class before its grades are final, as one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.reports.folder import suite_faults
from grader.reports.reading import attempts
from grader.text import listed

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from grader.classes.gradebook import Gradebook, Row
    from grader.course.model import Course

TIME_UNKNOWN, NOT_GRADED, FAULTS, ATTEMPTS = "time unknown", "not graded", "faults of suites", "attempts"
_MOST = 50


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
    found: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
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
    found: dict[tuple[str, str], list[Row]] = {}
    for row in (*gradebook.rows, *gradebook.strangers):
        for folder in (reports, *(reports / unit for unit in row.grades)):
            for unit, sentences in suite_faults(row.entry.student, folder).items():
                if unit in row.grades and row.grades[unit].state == "graded":
                    for sentence in sentences:
                        found.setdefault((unit, sentence), []).append(row)
    for (unit, sentence), rows in found.items():
        yield OpenCase(FAULTS, [unit], sentence, _names(rows))


def _names(rows: Sequence[Row]) -> list[str]:
    return sorted({str(row.entry) for row in rows}, key=str.casefold)
