"""The work on one student: what came of several submissions."""

from __future__ import annotations

from typing import Any

from grader.classes.work import StudentWork, SubmissionWork
from grader.engine.grading import Graded
from grader.reports.folder import SUITE_FAULTS


def test_pytests_report_is_on_the_last_submission_and_keeps_what_suites_raised_with_all() -> None:
    results: list[dict[str, Any]] = [
        {"tests": [1], SUITE_FAULTS: {"a": ["first"], "b": ["second"]}},
        {"tests": [2], SUITE_FAULTS: {"a": ["first", "third"]}},
        {"tests": [3]},
    ]
    nothing: Any = None
    candidates = [SubmissionWork(nothing, {}, Graded(nothing, one)) for one in results]
    work = StudentWork("ada", None, None, candidates, ())
    assert work.pytest == {"tests": [3], SUITE_FAULTS: {"a": ["first", "third"], "b": ["second"]}}
