"""What a student reads of the grades of record, as Markdown."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.reports.exporters.escape import code, markdown
from grader.reports.exporters.summary import MOST_BYTES, summary
from grader.reports.model import Report, Unit

if TYPE_CHECKING:
    from collections.abc import Collection

    from grader.classes.collected import Work
    from grader.classes.gradebook import Grade
    from grader.course.model import Course


def feedback(
    grade: Grade, units: Collection[str], course: Course, now: datetime.datetime, most: int = MOST_BYTES
) -> str:
    """Return the reports of record on these units as one text: what was graded, then the summary.

    Args:
        grade: The student's grade.
        units: The units, at least one of them with a grade.
        course: The course.
        now: The time of sending, which the text does not contain.
        most: The most bytes of the summary.

    Raises:
        GraderError: A report shows more or less than autograder.yml says for this time.
    """
    reports = {name: report for name in units if isinstance(report := grade.reports[name], Report)}
    if outdated := [name for name, report in reports.items() if not _is_current(name, report.units[name], course, now)]:
        raise GraderError(
            f"the report on {', '.join(outdated)} was made before the due date, or with another autograder.yml: run "
            "`grader collect` and `grader grade` again."
        )
    rows = ["| Unit | Commit | On GitHub since | Due | Graded | Course |", "|---|---|---|---|---|---|"]
    rows += [_row(name, report, grade.student.units[name], course) for name, report in reports.items()]
    notes = {
        "Not due yet, so this is not the grade": [name for name in reports if not course.is_over(name, now)],
        "Not graded yet": [name for name in units if name not in reports],
    }
    blocks = [f"# Feedback: {markdown(course.name)}", "\n".join(rows)]
    blocks += [f"{note}: {', '.join(map(code, names))}." for note, names in notes.items() if names]
    return "\n\n".join([*blocks, summary(_together(reports), most)])


def _is_current(name: str, unit: Unit, course: Course, now: datetime.datetime) -> bool:
    """Return whether a report shows what the course shows at this time."""
    if name not in course.units or unit.feedback != course.feedback_level(name, now):
        return False
    is_over, quiz = course.is_over(name, now), unit.quiz
    has_answers = any(item.answer is not None for item in quiz.items.values()) if quiz else False
    should_have = is_over and course.feedback.quiz_answers
    return quiz is None or ((quiz.points is not None) == is_over and has_answers == should_have)


def _row(name: str, report: Report, work: Work, course: Course) -> str:
    cells = [
        f"{markdown(course.units[name].title)} ({code(name)})",
        code(work.commit[:12]) if work.commit else "nothing was there",
        _utc(work.pushed) if work.pushed else "–",
        _utc(course.units[name].due),
        _utc(datetime.datetime.fromisoformat(report.timing.started)),
        f"version {markdown(report.versions.get('course', 'unknown'))}",
    ]
    return f"| {' | '.join(cells)} |"


def _utc(time: datetime.datetime) -> str:
    return f"{time.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def _together(reports: dict[str, Report]) -> Report:
    """Return one report on all of these units, each from the report on it."""
    units = {name: report.units[name] for name, report in reports.items()}
    least_isolated = min(reports.values(), key=lambda report: report.isolation.enough)
    return least_isolated.model_copy(
        update={
            "handed_in": any(report.handed_in for report in reports.values()),
            "points": sum(unit.points for unit in units.values()),
            "possible": sum(unit.possible for unit in units.values()),
            "units": units,
            "messages": [one for name, report in reports.items() for one in report.messages if one.unit == name],
        }
    )
