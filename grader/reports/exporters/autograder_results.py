"""What autograders read: results of one submission for Classroom 50, with its commit status, and for Gradescope.

A report holds only what `feedback` in autograder.yml shows at the time of grading, and students see it at once. The
exception is a quiz that counts: while Gradescope still takes work, its points would help to hand it in again. So they
are shown after the due date of Gradescope, and so is the total, which Gradescope hides as long as it hides any test.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from grader.errors import GraderError
from grader.reports import reading
from grader.reports.report_model import Quiz, Report
from grader.text import plain

# The keys of a result, each with the environment variables that may give it; the first that is set counts.
_FROM_ENVIRONMENT = {
    "classroom": ("CLASSROOM",),
    "assignment": ("ASSIGNMENT",),
    "assignment_type": ("ASSIGNMENT_TYPE",),
    "owner": ("USERNAME", "OWNER"),
    "submission": ("SUBMISSION_TAG",),
    "commit": ("COMMIT_URL",),
    "release": ("RELEASE_URL",),
    "review": ("REVIEW_URL",),
}


class EnvironmentFault(GraderError):
    """A variable that Classroom 50 sets is missing or wrong; the text says which."""


def classroom50_result(
    report: Report, environment: Mapping[str, str], committed: datetime.datetime, graded: datetime.datetime
) -> dict[str, Any]:
    """Return the content of result.json.

    Args:
        report: The report.
        environment: The variables that Classroom 50 sets.
        committed: The commit's committer date, with a zone.
        graded: The time of grading, with a zone.

    Raises:
        EnvironmentFault: A variable is missing or wrong.
    """
    tests = [
        _result_of_test(f"{one.unit_name}/{one.name}", one.state == "done", one.exercise.points, one.exercise.possible)
        | _why(one)
        for one in reading.entries(report)
    ]
    tests += [
        _result_of_test(f"{unit}/quiz", earned == quiz.possible, earned, quiz.possible)
        for unit, quiz, earned in reading.counted_quizzes(report)
    ]
    return {
        "schema": "classroom50/result/v1",
        **_identity(environment),
        "datetime": _utc(committed),
        "graded_at": _utc(graded),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def classroom50_status(report: Report) -> dict[str, str]:
    """Return the status and the summary of Classroom 50's commit status."""
    if not report.handed_in:
        return {"status": "success", "summary": "nothing handed in yet"}
    is_full = report.points == report.possible
    by = " by the visible tests" if report.suites == "visible" else ""
    return {
        "status": "success" if is_full else "failure",
        "summary": f"{report.points} of {reading.points(report.possible)}{by}",
    }


def _identity(environment: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, variables in _FROM_ENVIRONMENT.items():
        # Any type and owner are accepted: Classroom 50's runner overwrites both.
        default = "individual" if key == "assignment_type" else ""
        found[key] = next(filter(None, (environment.get(name, "").strip() for name in variables)), default)
        if not found[key]:
            raise EnvironmentFault(
                f"The environment variable {' or '.join(variables)} is missing: Classroom 50 sets it. Elsewhere, set "
                "it by hand."
            )
    if not found["submission"].startswith("submit/"):
        raise EnvironmentFault(
            f"SUBMISSION_TAG is {found['submission']!r}: the tag of a submission begins with submit/."
        )
    return found


def _result_of_test(name: str, passed: bool, score: int, possible: int) -> dict[str, Any]:
    return {"test-name": name, "passed": passed, "score": score, "max-score": possible}


def _why(entry: reading.ExerciseEntry) -> dict[str, Any]:
    """Return what the report says about an exercise that lacks points."""
    if entry.state == "done":
        return {}
    named = ", ".join(one.name for one in entry.exercise.misconceptions) or None
    known = {"reason": plain(entry.found or ""), "misconception": named, "line": entry.place.line}
    return {key: value for key, value in known.items() if value}


def _utc(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def gradescope_results(report: Report) -> dict[str, Any]:
    """Return the content of results.json. All text is plain text, and Gradescope shows it as such."""
    quizzes = {unit: _of_quiz(unit, quiz, earned) for unit, quiz, earned in reading.counted_quizzes(report)}
    tests = []
    for number, name in enumerate(report.units, 1):
        own = [_of_exercise(entry) for entry in reading.entries_of(report, name)]
        own += [quizzes[name]] if name in quizzes else []
        tests += [{"number": f"{number}.{position}", **test} for position, test in enumerate(own, 1)]
    return {
        "score": report.points,  # in place of the sum of the tests, which are without deductions and adjustments
        "execution_time": report.timing.seconds,
        "output": "\n".join(_opening(report)),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "student": report.student,
            "commit": report.commit,
            "suites": report.suites,
            "versions": report.versions,
            "digest": report.digest,
        },
        "tests": tests,
    }


def _opening(report: Report) -> list[str]:
    lines = [reading.meaning(report), *map(plain, reading.comments(report.comments))]
    lacking = reading.not_handed_in(report)
    if lacking:
        lines.append(f"Not handed in yet: {', '.join(lacking)}.")
    for name, unit in report.units.items():
        lines += [f"{name}: {plain(sentence)}" for sentence in reading.change_sentences(unit, report.timezone)]
        if name in lacking:
            continue
        lines += [f"{name}: {plain(remark)}" for remark in unit.remarks]
        for message in reading.not_run(report, name):
            where, why = reading.place_of(message, unit).words(), reading.sentence_of(message)
            lines.append(f"{name}: {plain(f'A line could not be run, {where}: {why}')}")
        if unit.quiz and not unit.quiz.possible:
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It is worth no points.")
            lines += [f"{name}, quiz: {plain(f'{item}: {text}')}" for item, text in reading.answer_feedback(unit.quiz)]
        elif unit.quiz and unit.quiz.points is None:
            worth = reading.points(unit.quiz.possible)
            lines.append(f"{name}, quiz: {plain(unit.quiz.summary)}. It counts after the due date, up to {worth}.")
        if unit.quiz:
            lines += [f"{name}, quiz: {plain(problem)}" for problem in reading.quiz_problems(unit.quiz)]
    if texts := reading.anomalies(report):
        lines += ["What the code was seen to try:", *(f"- {plain(text)}" for text in texts[:20])]
    return lines


def _of_exercise(entry: reading.ExerciseEntry) -> dict[str, Any]:
    exercise = entry.exercise
    lines = []
    if entry.state == "no answer found":
        lines += entry.unit.remarks
    elif entry.state in ("not written yet", "not handed in"):
        lines.append(f"It is {entry.state.removesuffix(' yet')} yet.")
    for one in entry.feedback():
        lines += [f"{one.text}{one.place.in_brackets()}"] if one.text else []
        lines += [f"- {line}" for line in (*one.trace, *one.expected)]
    lines += reading.exercise_comments(entry.unit, entry.name)
    name = f"{entry.unit_name}: {entry.name}"
    return _test(name, entry.state == "done", exercise.points, exercise.possible, lines)


def _of_quiz(unit: str, quiz: Quiz, earned: int) -> dict[str, Any]:
    lines = [quiz.summary, *(f"{item}: {sentence}" for item, sentence in reading.answer_feedback(quiz))]
    test = _test(f"{unit}: quiz", earned == quiz.possible, earned, quiz.possible, lines)
    return {**test, "visibility": "after_due_date"}


def _test(name: str, passed: bool, score: int, possible: int, lines: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "score": score,
        "max_score": possible,
        "status": "passed" if passed else "failed",
        "output": "\n".join(map(plain, lines)),
        "output_format": "text",
        "visibility": "visible",
    }
