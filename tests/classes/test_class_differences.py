"""What another grading changes in a report: every student whose points or percent change, with the true causes."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from made_reports import exercise, quiz, report, unit

from grader.classes.decisions import Decisions
from grader.classes.differences import ReportDifference, difference, outranked
from grader.classes.roster import RosterEntry
from grader.classes.times import Time
from grader.classes.work import NewReport
from grader.course.model import Course, Late
from grader.course.model import UnitSettings as CourseUnit
from grader.reports.report_model import Change, Report, Unit

DUE = datetime.datetime(2027, 1, 25, 23, 59, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


def course(percent: float = 10) -> Course:
    units = {"sums": CourseUnit(title="Sums", due=DUE, exercises={"add": 1})}
    late = Late(percent_per_day=percent, most_percent=50)
    made: Course = Course.model_construct(units=units, late=late, timezone=None)
    return made


def decided(made: Unit, at: datetime.datetime = DUE, percent: float = 10, **entry: Any) -> Report:
    """The report on a unit that was handed in at a time."""
    return Decisions(course(percent), [RosterEntry("ada", **entry)]).applied(
        report({"sums": made}), {"sums": Time(at, "push")}
    )


ANSWER = unit({"add": exercise(6, 4)}, quiz=quiz(3, 4))
BEFORE = decided(ANSWER)
OTHER_ANSWERS = {"answers": "1" * 64}


@pytest.mark.parametrize(
    ("after", "points", "reasons"),
    [
        (decided(unit({"add": exercise(6, 4, weight=2)}, quiz=quiz(3, 4))), (15, 24), ["weights"]),
        (decided(unit({"add": exercise(6, 4)}, quiz=quiz(6, 8))), (12, 18), ["weights"]),
        (decided(unit({"add": exercise(6, 4)}, quiz=quiz(None, 4))), (6, 10), ["dates"]),
        (decided(unit({"add": exercise(6, 4)}, quiz=quiz(4, 4))), (10, 14), ["quiz"]),
        (decided(unit({"add": exercise(6, 4), "scale": exercise(0, 2)}, quiz=quiz(3, 4))), (9, 16), ["exercises"]),
        (
            decided(unit({"add": exercise(7, 3)}, quiz=quiz(3, 4)).model_copy(update=OTHER_ANSWERS)),
            (10, 14),
            ["answers"],
        ),
        (decided(ANSWER, DUE + HOUR), (8, 14), ["times"]),
        (decided(ANSWER, DUE, due={"sums": DUE - HOUR}), (8, 14), ["dates"]),
        (decided(ANSWER, exempt=frozenset({"sums"})), (0, 0), ["exemptions"]),
        (BEFORE.model_copy(update={"units": {}, "points": 0, "possible": 0}), (0, 0), ["units"]),
    ],
)
def test_a_change_of_points_or_percent_has_its_cause(
    after: Report, points: tuple[int, int], reasons: list[str]
) -> None:
    found = difference(BEFORE, after, course())
    assert found
    assert (found.before, found.after, found.reasons) == ((9, 14), points, reasons)


def test_other_answers_and_another_key_of_a_quiz_are_two_causes() -> None:
    before, after = (
        decided(
            unit({"add": exercise(6, 4)}, quiz=quiz(points, 4)).model_copy(
                update={"key": key * 64, "answers": key * 64}
            )
        )
        for points, key in ((3, "1"), (4, "2"))
    )
    found = difference(before, after, course())
    assert found
    assert found.reasons == ["answers", "quiz"]


def test_more_tests_are_another_suite_and_not_other_weights() -> None:
    more = decided(unit({"add": exercise(6, 5)}, quiz=quiz(3, 4)))
    found = difference(BEFORE, more.model_copy(update={"versions": {"suites": "1"}}), course())
    assert found
    assert (found.after, found.reasons) == ((9, 15), ["suite"])


def test_other_rules_for_late_work_are_a_cause_and_a_smaller_grade_alone_is_not() -> None:
    late = decided(ANSWER, DUE + HOUR)
    rules = difference(late, decided(ANSWER, DUE + HOUR, percent=50), course())
    assert rules
    assert rules.reasons == ["rules for late work"]
    fewer = unit({"add": exercise(1, 9)}, quiz=quiz(3, 4)).model_copy(update=OTHER_ANSWERS)
    answers = difference(late, decided(fewer, DUE + HOUR), course())
    assert answers
    assert answers.reasons == ["answers"]


def test_what_does_not_change_the_grade_is_no_difference() -> None:
    comment = Change(kind="comment", points=0, reason="Well done.", exercise=None, by="Ms Roe")
    commented = BEFORE.units["sums"].model_copy(update={"changes": [comment], "feedback": "points"})
    assert difference(BEFORE, BEFORE.with_units({"sums": commented}), course()) is None
    exempt = decided(ANSWER, exempt=frozenset({"sums"}))
    assert difference(exempt, decided(unit({"add": exercise(0, 10)}), exempt=frozenset({"sums"})), course()) is None


def test_an_adjustment_is_shown_at_its_exercise() -> None:
    one = Change(kind="adjustment", points=2, reason="The text did not say this.", exercise="add", by="Ms Roe")
    unit_of_ada = BEFORE.units["sums"]
    more = unit_of_ada.model_copy(update={"changes": [one], "points": unit_of_ada.points + 2})
    found = difference(BEFORE, BEFORE.with_units({"sums": more}), course())
    assert found
    assert "sums/add: +2, The text did not say this." in found.lines


def test_a_better_report_on_a_submission_that_is_not_given_now_is_named() -> None:
    worse = decided(unit({"add": exercise(5, 5)}, quiz=quiz(3, 4)).model_copy(update={"answers": "2" * 64}))
    before = decided(ANSWER.model_copy(update=OTHER_ANSWERS))
    found = NewReport(worse, None, (), before, {"2" * 64})
    assert "another submission, which has more points: ada (sums: 9, now 8)." in outranked([found], "best")
    # It is given and does not count any more, or the unit was not graded now.
    for same in (found._replace(given={"1" * 64, "2" * 64}), found._replace(kept=["sums"])):
        assert outranked([same], "best") == ""


def test_without_an_earlier_report_that_is_the_cause() -> None:
    assert difference(None, BEFORE, course()) == ReportDifference("ada", None, (9, 14), (), ("there was no report",))
