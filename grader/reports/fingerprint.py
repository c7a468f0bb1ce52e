"""The digests that decide whether a report is up to date."""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from grader.course.model import FILENAME, Course
from grader.course.modules import definitions_in, needed_names
from grader.files import PACKAGE, digest
from grader.quizzes.questions import Questions
from grader.quizzes.quiz_source import QuizSource
from grader.reports.report_model import Report, Suites
from grader.sandbox.statements import first_line
from grader.submissions.submission import Submission


def fingerprint(
    submission: Submission,
    course: Course,
    quizzes: Mapping[str, QuizSource | Questions],
    now: datetime.datetime,
    suites: Suites = "hidden",
    unit: str | None = None,
) -> str:
    """Return the SHA-256 of the submission's sources, the suites, the rest of the grader, the course and its quizzes.

    A quiz's answers are included after its due date. Before it, only its questions are, which students have: otherwise
    a student could find the right answer by comparing the digests of possible ones.

    Args:
        submission: The submission.
        course: The course.
        quizzes: The quizzes of its units.
        now: Decides which quizzes are over.
        suites: Which tests it is graded by.
        unit: If given, only this unit's own files are included, without those that it may import.
    """
    names = [unit] if unit else list(submission.units)
    dated = course.with_due(submission.due)
    handed_in = {
        "units": {name: asdict(submission.units[name]) for name in names if name in submission.units},
        "siblings": {} if unit else {name: asdict(source) for name, source in submission.siblings.items()},
        "quizzes": {name: _quiz_text(quizzes[name], dated.is_over(name, now)) for name in names if name in quizzes},
    }
    total = hashlib.sha256(json.dumps(handed_in, sort_keys=True).encode())
    total.update(grader_digest(course, suites))
    return total.hexdigest()


def is_up_to_date(
    report: Report, submission: Submission, course: Course, quizzes: Mapping[str, QuizSource], now: datetime.datetime
) -> bool:
    """Return whether grading by the hidden suites would give the same report, except for times and versions."""
    dated = course.with_due(submission.due)
    return (
        (report.student, report.commit) == (submission.student, submission.commit)
        and report.digest == fingerprint(submission, course, quizzes, now)
        # The level of feedback depends on the date.
        and {name: unit.feedback for name, unit in report.units.items()}
        == {name: dated.feedback_level(name, now) for name in submission.units}
    )


def up_to_date_part(
    report: Report,
    units: Iterable[str],
    submission: Submission,
    course: Course,
    quizzes: Mapping[str, QuizSource],
    now: datetime.datetime,
) -> Report | None:
    """Return an earlier report, reduced to those of `units` that are up to date; None if there are none.

    The submission must have been read with all of these units.
    """
    dated = course.with_due(submission.due)
    kept = {
        name: report.units[name]
        for name in units
        if report.units[name].digest == fingerprint(submission, course, quizzes, now, unit=name)
        and report.units[name].feedback == dated.feedback_level(name, now)
    }
    messages = [message for message in report.messages if message.unit in kept]
    return report.model_copy(update={"units": kept, "messages": messages}) if kept else None


def _quiz_text(quiz: QuizSource | Questions, is_over: bool) -> str:
    return quiz.text if is_over or isinstance(quiz, Questions) else quiz.questions.text


@cache
def suites_digest(course: Course, suites: Suites) -> bytes:
    """Return the SHA-256 of the grader and the course's tests. They are read once in a process."""
    grader = [*sorted(PACKAGE.rglob("*.py")), *sorted(PACKAGE.rglob("*.ini"))]
    visible = (path for pattern in ("*.py", "*.json") for path in course.checks.glob(pattern))
    tests = visible if suites == "visible" else course.suites.rglob("*.py")
    return hashlib.sha256(digest(grader, PACKAGE) + digest(sorted(tests), course.root)).digest()


@cache
def tests_digest(course: Course, unit: str) -> str:
    """Return the SHA-256 of a unit's hidden tests, with all that they need. They are read once in a process.

    Misconceptions, probes and answers in the same files change no points, so they are left out.
    """
    suites = course.hidden_tests(unit)
    others = [path for path in sorted((course.suites / unit).glob("*.py")) if path not in suites]
    # A suite among them is that of an exercise that the course leaves out.
    helpers = [path for path in others if path.name != "quiz_oracles.py" and not _tests_in(path)]
    total = hashlib.sha256(digest(helpers, course.root))
    for path in suites:
        total.update(_tests_in(path).encode() + b"\0")
    return total.hexdigest()


def _tests_in(path: Path) -> str:
    """Return the source of the tests in a suite and of the definitions in it that they need; "" if it is missing."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        definitions = definitions_in(ast.parse(text).body)
    except SyntaxError:  # nobody can be graded by it, so its text is no other report's
        return text
    needed = needed_names([name for name in definitions if name.startswith("test_")], definitions)
    # Not `ast.unparse`, which writes the same code in another way in another version of Python.
    lines = text.split("\n")
    return "\n".join(
        line
        for name, definition in definitions.items()
        if name in needed
        for line in lines[first_line(definition) - 1 : definition.end_lineno]
    )


def key_digest(quiz: QuizSource) -> str:
    """Return the SHA-256 of a quiz with its answers."""
    return hashlib.sha256(quiz.text.encode()).hexdigest()


def grader_digest(course: Course, suites: Suites) -> bytes:
    """Return the SHA-256 of the grader, the course's tests and autograder.yml."""
    return suites_digest(course, suites) + digest([course.root / FILENAME], course.root)


def answers_digest(submission: Submission, unit: str) -> str:
    """Return the SHA-256 of a unit's own files in a submission."""
    return hashlib.sha256(json.dumps(asdict(submission.units[unit]), sort_keys=True).encode()).hexdigest()
