"""The work on one student: what came of several submissions."""

from __future__ import annotations

from typing import Any

from grader.classes.work import Work
from grader.reports.folder import SUITE_FAULTS


def test_pytests_report_is_on_the_last_submission_and_keeps_what_suites_raised_with_all() -> None:
    results: list[dict[str, Any]] = [
        {"tests": [1], SUITE_FAULTS: {"a": ["first"], "b": ["second"]}},
        {"tests": [2], SUITE_FAULTS: {"a": ["first", "third"]}},
        {"tests": [3]},
    ]
    candidates: list[Any] = [(None, {})] * len(results)
    work = Work("ada", None, None, candidates, (), done={number: (None, one) for number, one in enumerate(results)})
    assert work.pytest == {"tests": [3], SUITE_FAULTS: {"a": ["first", "third"], "b": ["second"]}}
