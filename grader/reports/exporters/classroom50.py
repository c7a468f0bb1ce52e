"""Classroom 50: the result of one submission, and its commit status."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.reports.reading import Entry, counted_quizzes, entries, points
from grader.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.reports.model import Report

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
_SUBMISSION = "submit/"


class EnvironmentFault(GraderError):
    """A variable that Classroom 50 sets is missing or wrong; the text says which."""


def result(
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
        _test(f"{one.unit_name}/{one.name}", one.state == "done", one.exercise.points, one.exercise.possible)
        | _why(one)
        for one in entries(report)
    ]
    tests += [
        _test(f"{unit}/quiz", earned == quiz.possible, earned, quiz.possible)
        for unit, quiz, earned in counted_quizzes(report)
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


def outputs(report: Report) -> dict[str, str]:
    """Return the status and the summary of Classroom 50's commit status."""
    if not report.handed_in:
        return {"status": "success", "summary": "nothing handed in yet"}
    is_full = report.points == report.possible
    by = " by the visible tests" if report.suites == "visible" else ""
    return {
        "status": "success" if is_full else "failure",
        "summary": f"{report.points} of {points(report.possible)}{by}",
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
    if not found["submission"].startswith(_SUBMISSION):
        raise EnvironmentFault(
            f"SUBMISSION_TAG is {found['submission']!r}: the tag of a submission begins with {_SUBMISSION}."
        )
    return found


def _test(name: str, passed: bool, score: int, possible: int) -> dict[str, Any]:
    return {"test-name": name, "passed": passed, "score": score, "max-score": possible}


def _why(entry: Entry) -> dict[str, Any]:
    """Return what the report says about an exercise that lacks points."""
    if entry.state == "done":
        return {}
    named = ", ".join(one.name for one in entry.exercise.misconceptions) or None
    known = {"reason": plain(entry.found or ""), "misconception": named, "line": entry.place.line}
    return {key: value for key, value in known.items() if value}


def _utc(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
