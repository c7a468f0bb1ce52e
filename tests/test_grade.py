"""Outcomes become a report: points by weight, as much feedback as the level allows, and text that is safe to show."""

from __future__ import annotations

import dataclasses
import datetime
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from courses import REPOSITORY

from grader import grade
from grader.course import Course
from grader.report import Exercise, Report
from grader.sandbox.lockdown import LAYERS
from grader.submission import Submission, UnitSource

DUE = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
BEFORE, AFTER = DUE, DUE + datetime.timedelta(seconds=1)
SUBMISSION = Submission("ada", Path(), "0" * 40, {"sums": UnitSource("sums.py", ("a = 1\n",), ("A remark.",))}, {})
CRITERIA = [
    {"unit": "sums", "exercise": "add", "name": "first", "sentence": "First."},
    {"unit": "sums", "exercise": "add", "name": "second", "sentence": "Second."},
    {"unit": "sums", "exercise": "Scale", "name": "third", "sentence": "Third."},
]
LAYERS_HELD = dict.fromkeys(LAYERS, True)


def course(before: str = "misconception", after: str = "misconception", version: str = "1") -> Course:
    exercises = {"add": 3, "Scale": 1}
    return Course.model_validate(
        {
            "course": "Small",
            "version": version,
            "limits": {
                "call_seconds": 1.0, "unit_seconds": 4.0, "cpu_seconds": 9, "memory_mb": 2048, "output_kb": 4,
            },
            "feedback": {"before_due": before, "after_due": after},
            "units": {"sums": {"title": "Sums", "due": DUE, "exercises": exercises}},
        }
    )  # fmt: skip


def outcome(exercise: str, name: str, passed: bool, **more: Any) -> dict[str, Any]:
    """What the engine tells of one criterion."""
    reason = "" if passed else f"{name} is wrong."
    given = {"unit": "sums", "exercise": exercise, "name": name, "passed": passed, "reason": reason}
    return {**given, "waiting": False, "stand_ins": [], "remarks": [], **more}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "outcomes": [outcome("add", "first", True), outcome("add", "second", False), outcome("Scale", "third", True)],
        "misconceptions": [{"unit": "sums", "exercise": "add", "name": "subtracts", "sentence": "Not so."}],
        "messages": [],
        "layers": LAYERS_HELD,
        "seconds": 0.5,
        "pytest": {},
        **changes,
    }


def report(
    submission: Submission = SUBMISSION,
    result: dict[str, Any] = result(),  # noqa: B008 - never changed
    course: Course = course(),  # noqa: B008
    missing: dict[str, str] | None = None,
    now: datetime.datetime = BEFORE,
) -> Report:
    return grade.make_report(submission, result, grade.Rubric(CRITERIA), course, missing or {}, {"torch": "2"}, now)


def add(report: Report) -> Exercise:
    return report.units["sums"].exercises["add"]


# -- points ---------------------------------------------------------------------------------------------------


def test_the_possible_points_are_the_criteria_times_the_weight() -> None:
    assert grade.Rubric(CRITERIA).possible(course()) == {"sums": {"add": 6, "Scale": 1}}


def test_each_criterion_earns_the_weight_or_nothing_and_all_adds_up() -> None:
    made = report()
    assert [(test.outcome, test.points, test.possible) for test in add(made).tests] == [
        ("passed", 3, 3),
        ("failed", 0, 3),
    ]
    assert (add(made).points, add(made).possible) == (3, 6)
    assert (made.units["sums"].points, made.units["sums"].possible) == (4, 7)
    assert (made.points, made.possible) == (4, 7)


def test_a_criterion_that_did_not_come_back_is_missed() -> None:
    made = report(result=result(outcomes=[]))
    assert (made.points, made.possible) == (0, 7)
    assert add(made).tests[0].reason == "It could not be tested."


def test_an_outcome_that_no_criterion_knows_earns_nothing() -> None:
    assert report(result=result(outcomes=[outcome("add", "invented", True)])).points == 0


def test_a_unit_that_could_not_be_read_earns_nothing_and_says_why() -> None:
    problem = "sums.py is empty: write your answers there and save it."
    made = report(
        Submission("ada", Path(), None, {}, {"sums": problem}), result(outcomes=[], misconceptions=[], layers={})
    )
    assert (made.points, made.possible) == (0, 7)
    assert made.units["sums"].remarks == [problem]
    assert {test.reason for test in add(made).tests} == {problem}


def test_remarks_on_what_was_read_are_passed_on() -> None:
    assert report().units["sums"].remarks == ["A remark."]


# -- exercises that build on others ---------------------------------------------------------------------------


def test_what_an_exercise_waits_for_is_said_once() -> None:
    waiting = {"waiting": True, "stand_ins": ["halve"], "reason": ""}
    outcomes = [outcome("add", "first", False, **waiting), outcome("add", "second", False, **waiting)]
    exercise = add(report(result=result(outcomes=outcomes)))
    assert exercise.points == 0
    assert exercise.waiting_for == "It builds on halve: mend that first."
    assert {test.reason for test in exercise.tests} == {None}


def test_several_of_them_are_named_together() -> None:
    outcomes = [
        outcome("add", "first", False, waiting=True, stand_ins=["halve", "double"]),
        outcome("add", "second", False, waiting=True, stand_ins=["double", "square"]),
    ]
    waiting_for = add(report(result=result(outcomes=outcomes))).waiting_for
    assert waiting_for == "It builds on halve, double and square: mend that first."


def test_a_stand_in_that_served_is_remarked_on() -> None:
    outcomes = [outcome("add", "first", True, stand_ins=["halve"]), outcome("add", "second", True)]
    exercise = add(report(result=result(outcomes=outcomes)))
    assert exercise.points == exercise.possible
    assert exercise.waiting_for is None
    [remark] = exercise.remarks
    assert "a stand-in for your halve" in remark


def test_a_remark_costs_nothing_and_is_made_once() -> None:
    outcomes = [outcome("add", name, True, remarks=["Done by torch."]) for name in ("first", "second")]
    exercise = add(report(result=result(outcomes=outcomes)))
    assert exercise.points == exercise.possible
    assert exercise.remarks == ["Done by torch."]


# -- feedback -------------------------------------------------------------------------------------------------


def test_at_the_level_points_only_points_are_told() -> None:
    exercise = add(report(course=course("points")))
    assert [(test.sentence, test.reason) for test in exercise.tests] == [(None, None), (None, None)]
    assert exercise.misconceptions == []
    assert exercise.points == 3


def test_at_the_level_sentence_what_was_expected_is_told_too() -> None:
    exercise = add(report(course=course("sentence")))
    assert [(test.sentence, test.reason) for test in exercise.tests] == [
        ("First.", None), ("Second.", "second is wrong."),
    ]  # fmt: skip
    assert exercise.misconceptions == []


def test_at_the_level_misconception_the_mistake_is_named_too() -> None:
    exercise = add(report(course=course("misconception")))
    assert exercise.tests[1].reason == "second is wrong."
    assert [(one.name, one.sentence) for one in exercise.misconceptions] == [("subtracts", "Not so.")]


def test_up_to_the_due_time_the_one_level_holds_and_then_the_other() -> None:
    two = course("points", "misconception")
    assert [report(course=two, now=now).units["sums"].feedback for now in (BEFORE, AFTER)] == [
        "points",
        "misconception",
    ]
    assert add(report(course=two, now=AFTER)).misconceptions


def test_the_level_changes_no_point() -> None:
    assert len({report(course=course(level)).points for level in ("points", "sentence", "misconception")}) == 1


# -- isolation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "enough"), [("seccomp", False), ("limits", False), ("landlock", True), ("user", True)]
)
def test_it_was_locked_in_only_where_every_needed_layer_held(layer: str, enough: bool) -> None:
    made = report(result=result(layers={**LAYERS_HELD, layer: False}))
    assert made.isolation.enough == enough
    assert made.isolation.layers[layer] is False


def test_where_no_process_was_needed_the_systems_own_layers_are_told() -> None:
    made = report(result=result(layers={}), missing={"seccomp": "is missing"})
    assert not made.isolation.enough
    assert made.isolation.layers["limits"]


# -- text of a student's making -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x9b", "\u200b", "\u202e", "\u2066", "\ufeff", "\ud800"],
    ids=ascii,
)
def test_what_steers_a_terminal_or_hides_text_is_replaced(character: str) -> None:
    assert grade.visible(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_plain_text_stays_as_it_is() -> None:
    text = "Zeile 1\n\tnaïve 🙂 日本語 [bold]"
    assert grade.visible(text) == text
    assert grade.visible(None) is None


def test_paths_of_this_machine_are_left_out() -> None:
    assert grade.visible(f"{REPOSITORY}/grader and {sys.base_prefix}/lib") == "…/grader and …/lib"


def test_long_text_is_cut_and_says_so() -> None:
    assert grade.visible("x" * 5000) == "x" * 4000 + "… (1000 more characters)"


def test_messages_and_reasons_are_made_safe() -> None:
    message = {"unit": "sums", "exercise": "add", "kind": "raised", "text": "\x1b[31m\ud800", "file": "\x1b", "line": 1}
    made = report(result=result(messages=[message], outcomes=[outcome("add", "first", False, reason="\ud800\x1b")]))
    text = made.to_json()
    assert "\x1b" not in text
    assert "u001b" not in text
    assert made.messages[0].text == "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
    assert add(made).tests[0].reason == "\N{REPLACEMENT CHARACTER}" * 2


# -- the digest -----------------------------------------------------------------------------------------------


def test_the_same_submission_gives_the_same_report_but_for_the_time() -> None:
    later = BEFORE - datetime.timedelta(days=1)
    first, second = report(), report(now=later)
    assert first.timing != second.timing
    assert first.model_copy(update={"timing": second.timing}) == second


def test_the_digest_does_not_change_with_the_name_the_commit_or_the_time() -> None:
    same = Submission("bob", Path("elsewhere"), None, SUBMISSION.units, SUBMISSION.problems)
    assert report(same, now=AFTER).digest == report().digest


@pytest.mark.parametrize(
    "changes",
    [
        {"units": {"sums": UnitSource("sums.py", ("a = 2\n",), ("A remark.",))}},
        {"units": {"sums": UnitSource("sums.ipynb", ("a = 1\n",), ("A remark.",))}},
        {"units": {"sums": UnitSource("sums.py", ("a = 1\n", ""), ("A remark.",))}},
        {"units": {}, "problems": {"sums": "It is empty."}},
        {"siblings": {"products": UnitSource("products.py", ("a = 1\n",))}},
    ],
    ids=["source", "name of the file", "cells", "problem", "sibling"],
)
def test_the_digest_changes_with_what_was_handed_in(changes: dict[str, Any]) -> None:
    assert report(dataclasses.replace(SUBMISSION, **changes)).digest != report().digest


@pytest.mark.parametrize(
    "changed", ["autograder.yml", "grader/suites/sums/test_sums.py", "grader/suites/pytest.ini", "grader/grade.py"]
)
def test_the_digest_changes_with_the_course_the_suites_and_the_grader(
    small_course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    def digest(root: Path) -> str:
        monkeypatch.setattr(grade, "ROOT", root)
        grade._grader_digest.cache_clear()
        return report().digest

    copy = tmp_path / "copy"
    shutil.copytree(small_course, copy)
    before = digest(copy)
    assert before == digest(small_course)
    with open(copy / changed, "a") as file:
        file.write("\n")
    assert digest(copy) != before
    grade._grader_digest.cache_clear()


# -- a report from before -------------------------------------------------------------------------------------


def test_a_report_holds_as_long_as_the_same_would_be_written_again() -> None:
    assert grade.still_holds(report(), SUBMISSION, course(), BEFORE - datetime.timedelta(days=1))


@pytest.mark.parametrize(
    "now_handed_in",
    [
        dataclasses.replace(SUBMISSION, student="Ada"),
        dataclasses.replace(SUBMISSION, commit="1" * 40),
        dataclasses.replace(SUBMISSION, units={"sums": UnitSource("sums.py", ("a = 2\n",))}),
        dataclasses.replace(SUBMISSION, units={}, problems={"sums": "It is empty."}),
        dataclasses.replace(SUBMISSION, problems={"products": "It is missing."}),
    ],
    ids=["name", "commit", "source", "problem", "one more unit"],
)
def test_a_report_does_not_hold_for_another_submission(now_handed_in: Submission) -> None:
    assert not grade.still_holds(report(), now_handed_in, course(), BEFORE)


def test_a_report_does_not_hold_once_the_date_changes_how_much_is_told() -> None:
    two = course("misconception", "points")
    assert grade.still_holds(report(course=two), SUBMISSION, two, BEFORE)
    assert not grade.still_holds(report(course=two), SUBMISSION, two, AFTER)
    assert grade.still_holds(report(), SUBMISSION, course(), AFTER)
