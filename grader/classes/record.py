"""The grades of record of a class, and what a student reads of them, as Markdown and as a page.

On GitHub they are the reports on the commits that collected.json names.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.classes.collected import CollectedClass, CollectedStudent, CollectError
from grader.classes.decisions import Decisions, remembered
from grader.classes.differences import Current
from grader.course.model import Course
from grader.errors import GraderError
from grader.reports.exporters.html import Record, page
from grader.reports.exporters.job_summary import MOST_BYTES, markdown, sentence, summary
from grader.reports.folder import not_graded, read_report
from grader.reports.reading import in_zone
from grader.reports.report_model import Report, Unit
from grader.text import who

_COLUMNS = ("Unit", "Commit", "Handed in", "Due", "Graded", "Course")


@dataclass(frozen=True)
class Grade:
    """One student's report of record on each unit, or why there is none; and whether a group has the repository."""

    student: CollectedStudent
    reports: dict[str, Report | str]
    is_shared: bool = False

    @property
    def units(self) -> dict[str, Unit | str]:
        """The grade in each unit, or why there is none."""
        return {name: one if isinstance(one, str) else one.units[name] for name, one in self.reports.items()}

    @property
    def graded(self) -> list[Unit]:
        """The units that have a grade."""
        return [unit for unit in self.units.values() if isinstance(unit, Unit)]


def grades_in(reports: Mapping[str, Mapping[str, Report | str]]) -> list[Grade]:
    """Return the grade of every student of a class that is not on GitHub, from the reports on each unit."""
    return [Grade(CollectedStudent(student=student, repository=""), dict(own)) for student, own in reports.items()]


def grades(collected: CollectedClass, reports: Path) -> list[Grade]:
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
    reasons = {unit: not_graded(reports / unit) for unit in collected.units}
    # GitHub ignores case in names.
    repositories = [student.repository.casefold() for student in collected.students]
    return [
        Grade(
            student,
            {unit: _report(student, unit, reports / unit, reasons[unit]) for unit in collected.units},
            repositories.count(student.repository.casefold()) > 1,
        )
        for student in collected.students
    ]


def _report(student: CollectedStudent, name: str, folder: Path, reasons: Mapping[str, str]) -> Report | str:
    """Return the report on a unit in the collected commit, or why there is none."""
    if student.student in reasons:
        return reasons[student.student]
    work = student.units.get(name)
    if student.problem or work is None:
        return student.problem or "it was not collected."
    if work.problem:
        return work.problem
    found = read_report(student.student, folder)
    if found is None or name not in found.units:
        return f"there is no report of it in {folder}."
    if work.of(found.commit) is None:
        return f"the report in {folder} is of another commit: grade again."
    if found.suites != "hidden":
        return f"the report in {folder} is by the visible tests: grade with `grader grade`."
    return found


def feedback(
    grade: Grade, units: Collection[str], course: Course, now: datetime.datetime, most: int = MOST_BYTES
) -> str:
    """Return the reports of record on these units as Markdown: what was graded, then the summary.

    Args:
        grade: The student's grade.
        units: The units, at least one of them with a grade.
        course: The course.
        now: The time of sending, which the text does not contain.
        most: The most bytes of the summary.

    Raises:
        GraderError: A report shows more or less than autograder.yml says for this time.
    """
    record, report = _record(grade, units, course, now)
    columns, *rows = (f"| {' | '.join(map(sentence, row))} |" for row in (record.columns, *record.rows))
    table = "\n".join([columns, "|---" * len(record.columns) + "|", *rows])
    head = [f"# {sentence(record.title)}", markdown(who(report.student, report.name)), table]
    return "\n\n".join([*head, *map(sentence, record.notes), summary(report, most)])


def feedback_page(grade: Grade, units: Collection[str], course: Course, now: datetime.datetime) -> str:
    """Return the reports of record on these units as an HTML page. The arguments and errors are those of `feedback`."""
    record, report = _record(grade, units, course, now)
    return page(report, record=record)


def _record(grade: Grade, units: Collection[str], course: Course, now: datetime.datetime) -> tuple[Record, Report]:
    """Return what was graded, and one report on all of it. Raises GraderError."""
    reports = {name: report for name in units if isinstance(report := grade.reports[name], Report)}
    if outdated := [name for name, report in reports.items() if not _is_current(name, report, course, now)]:
        raise GraderError(
            f"the report on {', '.join(outdated)} was made before the due date, or with another autograder.yml: run "
            "`grader grade` again, and on GitHub `grader collect` before it."
        )
    rows = [_row(name, report, course) for name, report in reports.items()]
    notes = {
        "Not due yet, so this is not the grade": [
            name for name, report in reports.items() if not _dated(name, report, course).is_over(name, now)
        ],
        "Not graded yet": [name for name in units if name not in reports],
    }
    lines = [f"{note}: {', '.join(f'`{name}`' for name in names)}." for note, names in notes.items() if names]
    return Record(f"Feedback: {course.name}", _COLUMNS, rows, lines), _together(reports)


def _is_current(name: str, report: Report, course: Course, now: datetime.datetime) -> bool:
    """Return whether a report shows what the course shows at this time, with times in its zone."""
    if name not in course.units or report.timezone != (course.timezone or "UTC"):
        return False
    unit = report.units[name]
    dated = _dated(name, report, course)
    is_over, quiz = dated.is_over(name, now), unit.quiz
    if unit.feedback != dated.feedback_level(name, now) or any(_current(course).of_course(name, unit, is_over)):
        return False
    has_answers = any(item.answer is not None for item in quiz.items.values()) if quiz else False
    should_have = is_over and course.feedback.quiz_answers
    return quiz is None or ((quiz.points is not None) == is_over and has_answers == should_have)


def _dated(name: str, report: Report, course: Course) -> Course:
    """Return the course with the student's extension of the unit, if there is one."""
    unit = report.units[name]
    return course.with_due({name: datetime.datetime.fromisoformat(unit.due)} if unit.due and unit.extended else {})


@cache
def _current(course: Course) -> Current:
    """Return what is compared with the reports of all students; it reads each quiz once."""
    return Current(Decisions(course))


def _row(name: str, report: Report, course: Course) -> list[str]:
    unit = report.units[name]
    time = remembered(unit)
    return [
        f"{course.units[name].title} (`{name}`)",
        f"`{report.commit[:12]}`" if report.commit else "–",
        in_zone(time.at, course.timezone) if time and time.at else "–",
        in_zone(_dated(name, report, course).units[name].due, course.timezone),
        in_zone(report.started, course.timezone),
        f"version {report.versions.get('course', 'unknown')}",
    ]


def _together(reports: dict[str, Report]) -> Report:
    """Return one report on all of these units, each from the report on it."""
    units = {name: report.units[name] for name, report in reports.items()}
    least_isolated = min(reports.values(), key=lambda report: report.isolation.enough)
    comments = [comment for report in reports.values() for comment in report.comments]
    return least_isolated.with_units(units).model_copy(
        update={
            "handed_in": any(report.handed_in for report in reports.values()),
            "comments": [one for number, one in enumerate(comments) if one not in comments[:number]],
            "messages": [one for name, report in reports.items() for one in report.messages if one.unit == name],
        }
    )
