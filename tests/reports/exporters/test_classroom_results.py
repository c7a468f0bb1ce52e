"""How GitHub Classroom's reporter shows a report: its table, its notice, and whether it fails the job."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from made_reports import exercise, of_exercises, quiz, raised, report, unit, unwritten

from grader.reports.exporters.classroom import environment
from grader.reports.model import Report


def decoded(report: Report) -> dict[str, dict[str, Any]]:
    """The results of each runner, found as the reporter finds them: in the order of RUNNERS, by their ids."""
    made = environment(report)
    runners = made["RUNNERS"].split(",")
    assert made.keys() == {"RUNNERS", *(f"{name.upper()}_RESULTS" for name in runners)}
    return {name: json.loads(base64.b64decode(made[f"{name.upper()}_RESULTS"], validate=True)) for name in runners}


def test_each_exercise_is_a_runner_in_the_order_of_the_course() -> None:
    made = report({"sums": unit({"total": exercise(1), "mean": exercise(1)}), "more": unit({"zeta": unwritten()})})
    assert list(decoded(made)) == ["total", "mean", "zeta"]


def test_the_table_and_the_notice_give_the_points_of_the_report() -> None:
    made = report(
        {
            "sums": unit({"total": exercise(2, 1, weight=3), "mean": exercise(4)}, quiz=quiz(5, 7)),
            "more": unit({"zeta": unwritten()}, quiz=quiz(None, 9)),
        }
    )
    table = notice = 0.0
    for one in decoded(made).values():
        passed = [test for test in one["tests"] if test["status"] == "pass"]
        table += len(passed) / len(one["tests"]) * one["max_score"]
        notice += sum(test["score"] for test in one["tests"])
    assert table == notice == made.points
    assert sum(one["max_score"] for one in decoded(made).values()) == made.possible


def test_a_quiz_that_counts_is_a_runner_with_a_test_for_each_point() -> None:
    found = decoded(report({"sums": unit({}, quiz=quiz(2, 3)), "more": unit({}, quiz=quiz(None, 3))}))
    assert list(found) == ["sumsQuiz"]
    assert [test["score"] for test in found["sumsQuiz"]["tests"]] == [1, 1, 0]
    assert found["sumsQuiz"]["status"] == "fail"


def test_without_a_submission_there_is_no_runner() -> None:
    assert environment(report({"sums": unit({"total": unwritten()})}, handed_in=False)) == {"RUNNERS": ""}


def test_an_exercise_without_tests_has_no_runner() -> None:
    assert list(decoded(of_exercises(total=exercise(1), untested=exercise(0)))) == ["total"]


def test_a_failed_test_says_why_and_where() -> None:
    one = decoded(of_exercises(total=exercise(0, 1, line=7)))["total"]
    assert one["status"] == "fail"
    assert one["tests"][0] | {"duration": 0} == {
        "name": "rule 1",
        "status": "fail",
        "score": 0,
        "message": "The values are wrong. They should be right.",
        "test_code": "",
        "filename": "exercises/sums.py",
        "line_no": 7,
        "duration": 0,
    }


def test_a_test_that_raised_shows_the_text_of_the_error() -> None:
    lost = {"sums": unit({"total": exercise(0, 1, reason="It raised a SystemExit.")})}
    one = decoded(report(lost, [raised("total", "It raised a SystemExit. 0", 9)]))["total"]
    assert one["tests"][0]["message"] == "It raised a SystemExit: 0. They should be right."


def test_an_unknown_line_is_zero() -> None:
    assert decoded(of_exercises(total=exercise(1, line=None)))["total"]["tests"][0]["line_no"] == 0


def test_ids_are_letters_and_digits_and_differ_even_in_upper_case() -> None:
    made = of_exercises(**{name: exercise(1) for name in ("scaled_dot-product", "ScaledDotProduct", "Head", "head")})
    assert list(decoded(made)) == ["scaledDotProduct", "ScaledDotProductx", "Head", "headx"]


@pytest.mark.parametrize("weight", [1, 2, 3])
@pytest.mark.parametrize("tests", range(1, 60))
def test_the_reporters_table_shows_whole_points_whatever_passes(tests: int, weight: int) -> None:
    for passed in range(tests + 1):
        in_table = 0.0
        for one in decoded(of_exercises(total=exercise(passed, tests - passed, weight=weight))).values():
            share = sum(test["status"] == "pass" for test in one["tests"]) / len(one["tests"]) * one["max_score"]
            assert share.is_integer()
            in_table += share
        assert in_table == passed * weight


def test_a_runner_is_split_only_if_a_fraction_would_be_shown() -> None:
    assert list(decoded(of_exercises(total=exercise(21), mean=exercise(0, 22)))) == ["total", "mean1", "mean2"]


def test_all_outputs_together_are_small_for_any_messages() -> None:
    huge = {f"exercise_{number}": exercise(0, 8, reason="\N{SNAKE}" * 5000) for number in range(53)}
    made = environment(of_exercises(**huge))
    assert max(map(len, made.values())) < 100_000
    assert sum(map(len, made.values())) < 600_000
