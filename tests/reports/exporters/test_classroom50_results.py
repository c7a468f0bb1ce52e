"""Classroom 50's result is one that its collector reads."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from classroom50_collector import ENVIRONMENT, check_result
from made_reports import exercise, of_exercises, quiz, report, unit, unwritten

from grader.reports.exporters.autograder_results import EnvironmentFault, classroom50_result, classroom50_status
from grader.reports.exporters.job_summary import opening
from grader.reports.report_model import Report

COMMITTED = datetime.datetime(2027, 1, 20, 1, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
GRADED = datetime.datetime(2027, 3, 1, tzinfo=datetime.UTC)
MIXED = report(
    {
        "sums": unit({"total": exercise(2, 1, weight=3), "mean": exercise(4)}, quiz=quiz(5, 7)),
        "more": unit({"zeta": unwritten(), "untested": exercise(0)}, quiz=quiz(None, 9)),
    }
)


def made(report: Report = MIXED, /, **changes: str) -> dict[str, Any]:
    return classroom50_result(report, ENVIRONMENT | changes, COMMITTED, GRADED)


def test_a_result_is_one_that_the_collector_reads() -> None:
    check_result(made(), "spring", "ada")


def test_each_exercise_and_each_quiz_that_counts_is_a_test() -> None:
    known = ("test-name", "passed", "score", "max-score")
    assert [{key: test[key] for key in known} for test in made()["tests"]] == [
        {"test-name": "sums/total", "passed": False, "score": 6, "max-score": 9},
        {"test-name": "sums/mean", "passed": True, "score": 4, "max-score": 4},
        {"test-name": "more/zeta", "passed": False, "score": 0, "max-score": 3},
        {"test-name": "sums/quiz", "passed": False, "score": 5, "max-score": 7},
    ]
    assert (made()["score"], made()["max-score"]) == (MIXED.points, MIXED.possible) == (15, 23)


def test_a_test_without_full_points_says_why_in_extra_keys() -> None:
    total, mean, zeta, of_quiz = made()["tests"]
    assert (total["reason"], total["line"], "misconception" in total) == ("The values are wrong.", 12, False)
    assert (zeta["reason"], "line" in of_quiz) == ("It is not written yet.", False)
    assert "reason" not in mean
    [known] = made(of_exercises(total=exercise(0, 1, mistake="It is the median.")))["tests"]
    assert known["misconception"] == "a_mistake"


def test_the_date_is_the_commits_in_utc() -> None:
    assert made()["datetime"] == "2027-01-19T23:30:00Z"
    assert made()["graded_at"] == "2027-03-01T00:00:00Z"


@pytest.mark.parametrize("kind", ["group", "team", "something new"])
def test_an_assignment_is_individual_by_default(kind: str) -> None:
    assert made()["assignment_type"] == "individual"
    assert made(ASSIGNMENT_TYPE=kind)["assignment_type"] == kind


def test_the_owner_may_have_either_variable() -> None:
    assert made()["owner"] == "ada"
    assert made(USERNAME="", OWNER="grace")["owner"] == "grace"


@pytest.mark.parametrize("name", sorted(ENVIRONMENT))
def test_a_missing_variable_is_named(name: str) -> None:
    with pytest.raises(EnvironmentFault, match=name):
        made(**{name: ""})


def test_a_tag_that_the_collector_would_refuse_is_named() -> None:
    with pytest.raises(EnvironmentFault, match="SUBMISSION_TAG is 'v1'"):
        made(SUBMISSION_TAG="v1")


def test_the_status_is_success_only_for_full_marks() -> None:
    assert classroom50_status(MIXED) == {"status": "failure", "summary": "15 of 23 points by the visible tests"}
    full = of_exercises(total=exercise(3))
    assert classroom50_status(full) == {"status": "success", "summary": "3 of 3 points by the visible tests"}


def test_if_nothing_is_handed_in_nothing_failed() -> None:
    made = report({"sums": unit({"total": unwritten()})}, handed_in=False)
    assert classroom50_status(made) == {"status": "success", "summary": "nothing handed in yet"}


def test_the_release_shows_the_points_and_the_next_thing_without_details() -> None:
    body = opening(MIXED)
    assert "15 of 23 points" in body
    assert "`total`" in body
    assert "<details>" not in body
