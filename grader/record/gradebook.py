"""The grades of a class: what was collected put together with the reports, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from grader import report
from grader.emit.escape import markdown
from grader.record.collected import Collected, Student

NOT_GRADED = "not graded"

# A spreadsheet takes what begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Grade:
    """One student's grade in each unit, or why there is none."""

    student: Student
    units: dict[str, report.Unit | str]

    @property
    def graded(self) -> list[report.Unit]:
        return [unit for unit in self.units.values() if isinstance(unit, report.Unit)]

    @property
    def total(self) -> int | None:
        """None where a unit is not graded: a sum of the others would look like a grade."""
        return sum(unit.points for unit in self.graded) if 0 < len(self.graded) == len(self.units) else None

    @property
    def noticed(self) -> list[str]:
        """What is to be known of this student, first of all why something is not graded."""
        if self.student.problem:
            return [self.student.problem]
        missing = [f"{unit}: {NOT_GRADED}: {why}" for unit, why in self.units.items() if isinstance(why, str)]
        return [*missing, *self.student.noticed]


def grades(collected: Collected, reports: Path) -> list[Grade]:
    """The grade of everyone who was collected, by reports/<unit>/<student>.json."""
    return [
        Grade(student, {unit: _unit(student, unit, reports / unit) for unit in collected.units})
        for student in collected.students
    ]


def csv_text(grades: list[Grade]) -> str:
    """One row a student: points by unit, their sum and what it is of, the commits, and what was noticed."""
    units = list(grades[0].units) if grades else []
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    details = [f"{unit} {what}" for unit in units for what in ("commit", "pushed", "commit date")]
    writer.writerow(["student", "repository", *units, "total", "possible", *details, "noticed"])
    possible = sum(_possible(grades, unit) for unit in units)
    for grade in grades:
        points = [unit.points if isinstance(unit, report.Unit) else "" for unit in grade.units.values()]
        works = [grade.student.units.get(unit) for unit in units]
        commits = [
            cell for work in works for cell in ((work.commit, work.pushed, work.committed) if work else ("", "", ""))
        ]
        student = grade.student
        row = [student.student, student.repository, *points, grade.total, possible, *commits, " ".join(grade.noticed)]
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def markdown_text(grades: list[Grade]) -> str:
    """A table with a row a student, and below it what was noticed."""
    units = list(grades[0].units) if grades else []
    if not units:
        return "## Grades of record\n\nNo unit is over yet.\n"
    of = {unit: _possible(grades, unit) for unit in units}
    lines = [
        "## Grades of record",
        "",
        f"| student | {' | '.join(markdown(unit) for unit in units)} | total |",
        f"| :-- | {'--: | ' * len(units)}--: |",
        f"| *of* | {' | '.join(f'*{of[unit]}*' for unit in units)} | *{sum(of.values())}* |",
    ]
    for grade in grades:
        points = [str(unit.points) if isinstance(unit, report.Unit) else NOT_GRADED for unit in grade.units.values()]
        total = NOT_GRADED if grade.total is None else f"**{grade.total}**"
        lines.append(f"| {markdown(grade.student.student)} | {' | '.join(points)} | {total} |")
    noticed = [grade for grade in grades if grade.noticed]
    if noticed:
        lines += [
            "",
            "### What was noticed",
            "",
            "It is for you to judge: no points were taken off for it.",
            "",
        ]
    for grade in noticed:
        lines.append(f"- **{markdown(grade.student.student)}** ({markdown(grade.student.repository)})")
        lines += [f"  - {markdown(sentence, 1000)}" for sentence in grade.noticed]
    return "\n".join(lines) + "\n"


def _unit(student: Student, name: str, folder: Path) -> report.Unit | str:
    """The unit of the report that belongs to what was collected, or why none does."""
    work = student.units.get(name)
    if student.problem or work is None:
        return student.problem or "it was not collected."
    if work.problem:
        return work.problem
    found = report.read_report(student.student, folder)
    if found is None or name not in found.units:
        return f"there is no report of it in {folder}."
    if found.commit != work.commit:
        return f"the report in {folder} is of another commit: grade again."
    if found.suites != "hidden":
        return f"the report in {folder} is by the visible tests: grade with `grader grade`."
    return found.units[name]


def _possible(grades: list[Grade], unit: str) -> int:
    """What a unit is worth, as any report of it says."""
    found = (grade.units[unit] for grade in grades)
    return next((one.possible for one in found if isinstance(one, report.Unit)), 0)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
