"""The grades of a class, from collected.json and the reports, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from grader.classes.collected import Collected, CollectError, Student, alike
from grader.reports import model
from grader.reports.exporters.escape import markdown

NOT_GRADED = "not graded"

# A spreadsheet reads text that begins like this as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Grade:
    """One student's report of record on each unit, or why there is none."""

    student: Student
    reports: dict[str, model.Report | str]

    @property
    def units(self) -> dict[str, model.Unit | str]:
        """The grade in each unit, or why there is none."""
        return {name: one if isinstance(one, str) else one.units[name] for name, one in self.reports.items()}

    @property
    def graded(self) -> list[model.Unit]:
        """The units that have a grade."""
        return [unit for unit in self.units.values() if isinstance(unit, model.Unit)]

    @property
    def total(self) -> int | None:
        """The points of all units; None if one is not graded, because a sum of the others would look like a grade."""
        return sum(unit.points for unit in self.graded) if 0 < len(self.graded) == len(self.units) else None

    @property
    def missing(self) -> list[str]:
        """Why something is not graded."""
        if self.student.problem:
            return [self.student.problem]
        return alike({unit: f"{NOT_GRADED}: {why}" for unit, why in self.units.items() if isinstance(why, str)})

    def points(self, unit: str) -> str:
        """Return the text of a cell of the table."""
        found, work = self.units[unit], self.student.units.get(unit)
        if not isinstance(found, model.Unit):
            return NOT_GRADED
        return f"{found.points}, may be late" if work and work.may_be_late else str(found.points)


def grades(collected: Collected, reports: Path) -> list[Grade]:
    """Return the grade of every collected student, from reports/<unit>/<student>.json.

    Raises:
        CollectError: There are no reports.
    """
    students = [student for student in collected.students if not student.problem]
    works = [work for student in students for unit, work in student.units.items() if unit in collected.units]
    is_wanted = any(not work.problem for work in works)
    if is_wanted and not any(path for unit in collected.units for path in (reports / unit).glob("*.json")):
        raise CollectError(
            f"{reports} holds no report of {', '.join(collected.units)}: run `grader grade` with --unit <unit> --out "
            f"{reports}/<unit> first."
        )
    return [
        Grade(student, {unit: _report(student, unit, reports / unit) for unit in collected.units})
        for student in collected.students
    ]


def csv_text(grades: list[Grade]) -> str:
    """Return one row for each student: points by unit, the total, the commits and the anomalies."""
    units = list(grades[0].units) if grades else []
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    details = [f"{unit} {what}" for unit in units for what in ("commit", "pushed", "commit date")]
    writer.writerow(["student", "repository", *units, "total", "possible", *details, "noticed"])
    possible = sum(_possible(grades, unit) for unit in units)
    for grade in grades:
        points = [unit.points if isinstance(unit, model.Unit) else "" for unit in grade.units.values()]
        works = [grade.student.units.get(unit) for unit in units]
        commits = [
            cell for work in works for cell in ((work.commit, work.pushed, work.committed) if work else ("", "", ""))
        ]
        student = grade.student
        notes = " ".join([*grade.missing, *student.noticed])
        row = [student.student, student.repository, *points, grade.total, possible, *commits, notes]
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def markdown_text(grades: list[Grade]) -> str:
    """Return a table with one row for each student, then who is not graded, then the anomalies."""
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
        points = [grade.points(unit) for unit in units]
        total = NOT_GRADED if grade.total is None else f"**{grade.total}**"
        lines.append(f"| {markdown(grade.student.student)} | {' | '.join(points)} | {total} |")
    lines += _section(
        "Not graded",
        "Here something is missing, and nobody gets a zero for that.",
        [(grade.student, grade.missing) for grade in grades],
    )
    judge = "It is for you to judge: no points were taken off for it."
    lines += _section("What was noticed", judge, [(grade.student, grade.student.noticed) for grade in grades])
    return "\n".join(lines) + "\n"


def _section(title: str, meaning: str, sentences: list[tuple[Student, list[str]]]) -> list[str]:
    """Return a section with the sentences on each student; nothing if there are none."""
    lines = []
    for student, own in sentences:
        if own:
            lines.append(f"- **{markdown(student.student)}** ({markdown(student.repository)})")
            lines += [f"  - {markdown(sentence, 1000)}" for sentence in own]
    return ["", f"### {title}", "", meaning, "", *lines] if lines else []


def _report(student: Student, name: str, folder: Path) -> model.Report | str:
    """Return the report on a unit in the collected commit, or why there is none."""
    work = student.units.get(name)
    if student.problem or work is None:
        return student.problem or "it was not collected."
    if work.problem:
        return work.problem
    found = model.read_report(student.student, folder)
    if found is None or name not in found.units:
        return f"there is no report of it in {folder}."
    if found.commit != work.commit:
        return f"the report in {folder} is of another commit: grade again."
    if found.suites != "hidden":
        return f"the report in {folder} is by the visible tests: grade with `grader grade`."
    return found


def _possible(grades: list[Grade], unit: str) -> int:
    """Return the points of a unit, from any report of it."""
    found = (grade.units[unit] for grade in grades)
    return next((one.possible for one in found if isinstance(one, model.Unit)), 0)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
