"""Outcomes become a report: points by weight, as much feedback as the level allows, and text that is safe to show."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from courses import SMALL_COURSE
from made_reports import RIGHT_ANSWERS, made_course

from grader.course.model import Course, load_course
from grader.quizzes.quiz_source import QuizSource, load_quiz
from grader.quizzes.sheet import write_sheet
from grader.reports import fingerprint, scoring
from grader.reports.reading import entries
from grader.reports.report_model import Described, Exercise, Judged, Message, Report, Result
from grader.reports.report_model import Quiz as QuizReport
from grader.sandbox.lockdown import LAYERS
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

DUE = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
BEFORE, AFTER = DUE, DUE + datetime.timedelta(seconds=1)
UNIT = UnitSubmission(UnitSource("sums.py", ("a = 1\n",), ("A remark.",)))
SUBMISSION = Submission("ada", "0" * 40, {"sums": UNIT})
CRITERIA = [
    Described("sums", "add", "first", "First."),
    Described("sums", "add", "second", "Second."),
    Described("sums", "Scale", "third", "Third."),
]
LAYERS_HELD = dict.fromkeys(LAYERS, True)


def course(
    before: str = "misconception",
    after: str = "misconception",
    quiz: int | None = None,
    quiz_answers: bool = True,
) -> Course:
    exercises = {"add": 3, "Scale": 1}
    return Course.model_validate(
        {
            "course": "Small",
            "version": "1",
            "limits": {
                "call_seconds": 1.0, "unit_seconds": 4.0, "cpu_seconds": 9, "memory_mb": 2048, "output_kb": 4,
            },
            "feedback": {"before_due": before, "after_due": after, "quiz_answers": quiz_answers},
            "units": {"sums": {"title": "Sums", "due": DUE, "exercises": exercises, "quiz": quiz}},
        }
    )  # fmt: skip


def outcome(exercise: str, name: str, passed: bool, **more: Any) -> Judged:
    """The engine's outcome of one criterion."""
    reason = "" if passed else f"{name} is wrong."
    return Judged(**{"unit": "sums", "exercise": exercise, "name": name, "passed": passed, "reason": reason, **more})


RESULT = Result(
    outcomes=[outcome("add", "first", True), outcome("add", "second", False), outcome("Scale", "third", True)],
    misconceptions=[Described("sums", "add", "subtracts", "Not so.")],
    layers=LAYERS_HELD,
    seconds=0.5,
)


def result(**changes: Any) -> Result:
    return dataclasses.replace(RESULT, **changes)


def report(
    submission: Submission = SUBMISSION,
    result: Result = RESULT,
    course: Course = course(),  # noqa: B008
    missing: dict[str, str] | None = None,
    now: datetime.datetime = BEFORE,
) -> Report:
    return scoring.make_report(submission, result, scoring.Rubric(CRITERIA), course, missing or {}, {"torch": "2"}, now)


def add(report: Report) -> Exercise:
    return report.units["sums"].exercises["add"]


# -- points ---------------------------------------------------------------------------------------------------


def test_the_possible_points_are_the_criteria_times_the_weight() -> None:
    assert scoring.Rubric(CRITERIA).possible(course()) == {"sums": {"add": 6, "Scale": 1}}


def test_each_criterion_earns_the_weight_or_nothing_and_the_sums_are_right() -> None:
    made = report()
    assert [(test.outcome, test.points, test.possible) for test in add(made).tests] == [
        ("passed", 3, 3),
        ("failed", 0, 3),
    ]
    assert (add(made).points, add(made).possible) == (3, 6)
    assert (made.units["sums"].points, made.units["sums"].possible) == (4, 7)
    assert (made.points, made.possible) == (4, 7)


def test_a_report_of_22_november_2026_is_read() -> None:
    """It has no digests of its units and no `handed_in`."""
    old = json.loads(report().to_json())
    del old["handed_in"], old["units"]["sums"]["digest"]
    read = Report.model_validate_json(json.dumps(old))
    assert (read.handed_in, read.points) == (True, 4)
    assert read.units["sums"].digest != report().units["sums"].digest  # so the unit is graded again when asked for


def test_a_criterion_without_an_outcome_fails() -> None:
    made = report(result=result(outcomes=[]))
    assert (made.points, made.possible) == (0, 7)
    assert add(made).tests[0].reason == "It could not be tested."


def test_an_outcome_of_an_unknown_criterion_earns_nothing() -> None:
    assert report(result=result(outcomes=[outcome("add", "invented", True)])).points == 0


def test_a_unit_that_could_not_be_read_earns_nothing_and_says_why() -> None:
    problem = "sums.py is empty: write your answers there and save it."
    made = report(
        Submission("ada", None, {"sums": UnitSubmission(problem=problem)}),
        result(outcomes=[], misconceptions=[], layers={}),
    )
    assert (made.points, made.possible) == (0, 7)
    assert made.units["sums"].remarks == [problem]
    assert {test.reason for test in add(made).tests} == {problem}


def test_remarks_on_the_submission_are_in_the_report() -> None:
    assert report().units["sums"].remarks == ["A remark."]


# -- exercises that build on others ---------------------------------------------------------------------------


def waiting(name: str, *substitutes: str) -> Judged:
    return outcome("add", name, False, waiting=True, substitutes=substitutes, reason="")


@pytest.mark.parametrize(
    ("outcomes", "waiting_for", "remarks"),
    [
        ([waiting("first", "halve"), waiting("second", "halve")], "Depends on `halve`; fix that first.", []),
        (
            [waiting("first", "halve", "double"), waiting("second", "double", "square")],
            "Depends on `halve`, `double` and `square`; fix those first.",
            [],
        ),
        (
            [waiting("first", "halve"), outcome("add", "second", False, reason="The sums are wrong.")],
            "Some of its tests need `halve`, which is not right yet.",
            [],
        ),
        (
            [outcome("add", "first", True, substitutes=["halve"]), outcome("add", "second", True)],
            None,
            ["It was tested with a substitute for your halve, so that mistakes there cost nothing here."],
        ),
        ([outcome("add", name, True, remarks=["Done."]) for name in ("first", "second")], None, ["Done."]),
    ],
)
def test_what_an_exercise_depends_on_is_said_once_and_a_remark_costs_nothing(
    outcomes: list[Judged], waiting_for: str | None, remarks: list[str]
) -> None:
    made = report(result=result(outcomes=outcomes))
    exercise = add(made)
    assert (exercise.waiting_for, exercise.remarks) == (waiting_for, remarks)
    assert exercise.points == 3 * sum(one.passed for one in outcomes)
    assert [test.reason or "" for test in exercise.tests] == [one.reason for one in outcomes]
    # With a mistake of its own, it does not wait.
    states = {entry.name: entry.state for entry in entries(made)}
    assert (states["add"] == "waiting") == (waiting_for is not None and not any(one.reason for one in outcomes))


# -- feedback -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "texts", "names"),
    [
        ("points", (None, None), []),
        ("sentence", ("Second.", "second is wrong."), []),
        ("misconception", ("Second.", "second is wrong."), ["subtracts"]),
    ],
)
def test_each_level_says_more_and_changes_no_point(level: str, texts: tuple[str | None, ...], names: list[str]) -> None:
    exercise = add(report(course=course(level)))
    assert (exercise.tests[1].sentence, exercise.tests[1].reason) == texts
    assert [one.name for one in exercise.misconceptions] == names
    assert exercise.points == 3


def test_the_level_changes_after_the_due_time() -> None:
    two = course("points", "misconception")
    assert [report(course=two, now=now).units["sums"].feedback for now in (BEFORE, AFTER)] == [
        "points",
        "misconception",
    ]
    assert add(report(course=two, now=AFTER)).misconceptions


# -- quizzes --------------------------------------------------------------------------------------------------

# As many, as long, and each of them wrong.
WRONG_ANSWERS = {
    "order_of_terms": "a", "even_sums": "b d", "is_larger": "a", "mean_of_two": "5.50", "how_many_terms": "13",
    "sum_over_rows": "(1,)", "long_addition": "d a c b", "no_sum": "a",
}  # fmt: skip
QUIZ_POINTS = 13


def handed_in(quiz: QuizSource, answers: dict[str, str], variant: int = 1) -> Submission:
    return with_quiz(UnitSource("sums_quiz.md", (write_sheet(quiz.questions, variant, answers),)))


def with_quiz(source: UnitSource | None, problem: str = "") -> Submission:
    unit = dataclasses.replace(UNIT, quiz=source, quiz_problem=problem)
    return dataclasses.replace(SUBMISSION, units={"sums": unit})


def quiz_report(
    quiz: QuizSource,
    submission: Submission,
    now: datetime.datetime,
    course: Course = course(quiz=1),  # noqa: B008
) -> Report:
    rubric = scoring.Rubric(CRITERIA, {"sums": quiz})
    return scoring.make_report(submission, result(), rubric, course, {}, {"torch": "2"}, now)


def of_quiz(report: Report) -> QuizReport:
    found = report.units["sums"].quiz
    assert found
    return found


def test_a_unit_without_a_quiz_has_none_in_its_report() -> None:
    assert report().units["sums"].quiz is None


def test_until_the_due_date_a_quiz_has_no_points_and_does_not_count(quiz: QuizSource) -> None:
    made = quiz_report(quiz, handed_in(quiz, RIGHT_ANSWERS), BEFORE)
    assert (made.points, made.possible) == (4, 7)
    assert (of_quiz(made).points, of_quiz(made).possible) == (None, QUIZ_POINTS)
    assert (of_quiz(made).summary, of_quiz(made).variant) == ("8 of 8 answered", 1)
    assert {item.points for item in of_quiz(made).items.values()} == {None}


def test_after_the_due_date_a_quiz_counts_in_the_unit_and_in_total(quiz: QuizSource) -> None:
    made = quiz_report(quiz, handed_in(quiz, RIGHT_ANSWERS), AFTER)
    assert (of_quiz(made).points, of_quiz(made).possible) == (QUIZ_POINTS, QUIZ_POINTS)
    assert (made.units["sums"].points, made.units["sums"].possible) == (4 + QUIZ_POINTS, 7 + QUIZ_POINTS)
    assert (made.points, made.possible) == (4 + QUIZ_POINTS, 7 + QUIZ_POINTS)
    assert quiz_report(quiz, handed_in(quiz, WRONG_ANSWERS), AFTER).points == 4


def test_answers_in_a_notebook_are_marked_like_those_in_a_sheet(quiz: QuizSource) -> None:
    cells = tuple(f"answer_{number} = {RIGHT_ANSWERS[name]!r}" for number, name in enumerate(quiz.items, 1))
    names = tuple(f"quiz_{name}" for name in quiz.items)
    right = with_quiz(UnitSource("sums.ipynb", cells, grade_ids=names))
    one = with_quiz(UnitSource("sums.ipynb", cells[:1], grade_ids=names[:1]))
    of_sheet = of_quiz(quiz_report(quiz, handed_in(quiz, RIGHT_ANSWERS, variant=0), AFTER))
    assert of_quiz(quiz_report(quiz, right, AFTER)) == of_sheet
    assert quiz_report(quiz, right, AFTER).digest != quiz_report(quiz, one, AFTER).digest


def test_the_weight_of_a_quiz_multiplies_the_points_of_its_items(quiz: QuizSource) -> None:
    made = of_quiz(quiz_report(quiz, handed_in(quiz, {"even_sums": "a"}), AFTER, course(quiz=3)))
    assert (made.points, made.possible) == (4, 3 * QUIZ_POINTS)  # half of nine points, rounded down once
    assert made.items["even_sums"].possible == 9


def test_until_the_due_date_right_and_wrong_answers_give_the_same_report(quiz: QuizSource) -> None:
    right, wrong = (quiz_report(quiz, handed_in(quiz, answers), BEFORE) for answers in (RIGHT_ANSWERS, WRONG_ANSWERS))
    assert right.digest != wrong.digest  # the digest of what was handed in, which is not the same
    digests = re.compile('(?<=st": "|rs": ")[0-9a-f]{64}')  # "digest" and "answers"
    assert digests.sub("", right.to_json()) == digests.sub("", wrong.to_json())
    assert of_quiz(right).items["mean_of_two"].model_dump() == {
        "answered": True, "points": None, "possible": 2, "problem": None, "sentences": [],
        "answer": None, "explanation": None,
    }  # fmt: skip


def test_until_the_due_date_a_report_does_not_depend_on_the_accepted_answers(quiz: QuizSource, tmp_path: Path) -> None:
    text = SMALL_COURSE["solutions/sums_quiz.yml"]
    for old, new in [
        ("answer: b c a d", "answer: d c b a"),
        ("answer: 2.75", "answer: 9.75"),
        ("{text: The sum.,", "{right: true, text: The sum.,"),
        ('commutative.", right: true', 'commutative."'),
        ("known as explanation dingo", "known as explanation echidna"),
    ]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "sums_quiz.yml").write_text(text, encoding="utf-8")
    other = load_quiz(tmp_path / "sums_quiz.yml")
    for answers in (RIGHT_ANSWERS, WRONG_ANSWERS, {}):
        first, second = (quiz_report(source, handed_in(quiz, answers), BEFORE) for source in (quiz, other))
        assert first.to_json() == second.to_json()
    assert quiz_report(quiz, handed_in(quiz, {}), AFTER).digest != quiz_report(other, handed_in(quiz, {}), AFTER).digest


def test_after_the_due_date_each_answer_has_feedback_and_an_explanation(quiz: QuizSource) -> None:
    items = of_quiz(quiz_report(quiz, handed_in(quiz, WRONG_ANSWERS), AFTER)).items
    assert items["even_sums"].sentences == ["Three is odd.", "Seven is odd."]
    assert items["mean_of_two"].sentences == ["5.5 is their sum: the mean is half of it."]
    assert items["mean_of_two"].answer == "2.75"
    assert items["mean_of_two"].explanation == "(2 + 3.5) / 2 is 2.75."


def test_if_the_course_does_not_show_answers_there_is_only_feedback(quiz: QuizSource) -> None:
    silent = course(quiz=1, quiz_answers=False)
    items = of_quiz(quiz_report(quiz, handed_in(quiz, WRONG_ANSWERS), AFTER, silent)).items
    assert items["is_larger"].sentences == ["So it is where all the terms are positive."]
    assert {(item.answer, item.explanation) for item in items.values()} == {(None, None)}


def test_a_blank_answer_earns_nothing_and_is_explained(quiz: QuizSource) -> None:
    made = of_quiz(quiz_report(quiz, handed_in(quiz, {"no_sum": "d"}), AFTER))
    assert (made.points, made.summary) == (1, "1 of 8 answered")
    blank = made.items["is_larger"]
    assert (blank.answered, blank.points, blank.sentences) == (False, 0, [])
    assert blank.explanation == "A negative term makes the sum smaller than the other one."


@pytest.mark.parametrize("now", [BEFORE, AFTER])
def test_an_unreadable_answer_is_reported_at_once_and_costs_no_other(quiz: QuizSource, now: datetime.datetime) -> None:
    submission = handed_in(quiz, {**RIGHT_ANSWERS, "mean_of_two": "2,75\x1b[31m"})
    made = of_quiz(quiz_report(quiz, submission, now))
    item = made.items["mean_of_two"]
    assert not item.answered
    assert item.points in (None, 0)
    assert item.problem
    assert item.problem.startswith("sums_quiz.md:")
    assert "\x1b" not in item.problem
    assert made.summary == "7 of 8 answered"
    assert made.points in (None, QUIZ_POINTS - 2)


@pytest.mark.parametrize("now", [BEFORE, AFTER])
def test_a_missing_sheet_is_a_quiz_without_points_and_a_remark(quiz: QuizSource, now: datetime.datetime) -> None:
    problem = "sums_quiz.md is missing: hand it in, in the folder itself or in exercises/."
    made = quiz_report(quiz, with_quiz(None, problem), now)
    assert of_quiz(made).remarks == [problem]
    assert (of_quiz(made).summary, of_quiz(made).points or 0) == ("0 of 8 answered", 0)
    assert made.units["sums"].exercises == report(now=now).units["sums"].exercises


def test_remarks_on_the_file_and_the_sheet_are_in_the_report(quiz: QuizSource) -> None:
    source = UnitSource("sums_quiz.md", ("no sheet",), ("A remark on the file.",))
    made = of_quiz(quiz_report(quiz, with_quiz(source), BEFORE))
    assert made.remarks[0] == "A remark on the file."
    assert made.remarks[1].startswith("sums_quiz.md has none of the quiz's headings")


# -- isolation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "enough"), [("seccomp", False), ("limits", False), ("landlock", True), ("user", True)]
)
def test_code_was_isolated_only_if_every_needed_layer_was_active(layer: str, enough: bool) -> None:
    made = report(result=result(layers={**LAYERS_HELD, layer: False}))
    assert made.isolation.enough == enough
    assert made.isolation.layers[layer] is False


def test_without_a_student_process_the_layers_of_the_system_are_reported() -> None:
    made = report(result=result(layers={}), missing={"seccomp": "is missing"})
    assert not made.isolation.enough
    assert made.isolation.layers["limits"]


# -- text of a student's making -------------------------------------------------------------------------------


def test_messages_and_reasons_are_sanitized() -> None:
    message = Message(unit="sums", exercise="add", kind="raised", text="\x1b[31m\ud800", file="\x1b", line=1)
    made = report(result=result(messages=[message], outcomes=[outcome("add", "first", False, reason="\ud800\x1b")]))
    text = made.to_json()
    assert "\x1b" not in text
    assert "u001b" not in text
    assert made.messages[0].text == "\N{REPLACEMENT CHARACTER}"
    assert add(made).tests[0].reason == "\N{REPLACEMENT CHARACTER}" * 2


# -- the digest -----------------------------------------------------------------------------------------------


def test_the_same_submission_gives_the_same_report_except_for_the_time() -> None:
    later = BEFORE - datetime.timedelta(days=1)
    first, second = report(), report(now=later)
    assert first.timing != second.timing
    assert first.model_copy(update={"timing": second.timing}) == second


def test_the_digest_does_not_change_with_the_name_the_commit_or_the_time() -> None:
    same = Submission("bob", None, SUBMISSION.units)
    assert report(same, now=AFTER).digest == report().digest


def test_the_digest_changes_with_each_part_of_the_submission() -> None:
    others: dict[str, dict[str, Any]] = {
        "source": {"units": {"sums": UnitSubmission(UnitSource("sums.py", ("a = 2\n",), ("A remark.",)))}},
        "name of the file": {"units": {"sums": UnitSubmission(UnitSource("sums.ipynb", ("a = 1\n",), ("A remark.",)))}},
        "cells": {"units": {"sums": UnitSubmission(UnitSource("sums.py", ("a = 1\n", ""), ("A remark.",)))}},
        "problem": {"units": {"sums": UnitSubmission(problem="It is empty.")}},
        "sibling": {"siblings": {"products": UnitSource("products.py", ("a = 1\n",))}},
    }
    digests = {name: report(dataclasses.replace(SUBMISSION, **changes)).digest for name, changes in others.items()}
    assert [name for name, digest in digests.items() if digest == report().digest] == []


def test_the_digest_changes_with_the_course_the_suites_and_the_grader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "course"
    made_course(root, {"sums": {"add": 1}})

    def digest(root: Path) -> str:
        monkeypatch.setattr(fingerprint, "PACKAGE", root / "grader")
        fingerprint.suites_digest.cache_clear()
        return fingerprint.fingerprint(SUBMISSION, load_course(root), {}, BEFORE)

    digests = [digest(root)]
    for name in ("autograder.yml", "suites/sums/add.py", "grader/pytest.ini", "grader/scoring.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with open(root / name, "a", encoding="utf-8") as file:
            file.write("\n")
        digests.append(digest(root))
    assert len({*digests}) == len(digests)
    assert digest(shutil.copytree(root, tmp_path / "copy")) == digests[-1]
    fingerprint.suites_digest.cache_clear()


# -- a report from before -------------------------------------------------------------------------------------


def test_a_report_is_up_to_date_if_nothing_changed() -> None:
    assert fingerprint.is_up_to_date(report(), SUBMISSION, course(), {}, BEFORE - datetime.timedelta(days=1))


def test_after_the_due_date_a_corrected_answer_outdates_a_report(quiz: QuizSource) -> None:
    submission = handed_in(quiz, RIGHT_ANSWERS)
    made = quiz_report(quiz, submission, AFTER)
    order = quiz.items["long_addition"].model_copy(update={"answer": "c b a d"})
    corrected = dataclasses.replace(quiz, items={**quiz.items, "long_addition": order})
    assert fingerprint.is_up_to_date(made, submission, course(quiz=1), {"sums": quiz}, AFTER)
    assert not fingerprint.is_up_to_date(made, submission, course(quiz=1), {"sums": corrected}, AFTER)


def test_a_report_is_outdated_by_another_submission() -> None:
    others: dict[str, dict[str, Any]] = {
        "name": {"student": "Ada"},
        "commit": {"commit": "1" * 40},
        "one more unit": {"units": {"sums": UNIT, "products": UnitSubmission(problem="It is missing.")}},
    }
    made = report()
    found = {name: dataclasses.replace(SUBMISSION, **changes) for name, changes in others.items()}
    kept = [name for name, one in found.items() if fingerprint.is_up_to_date(made, one, course(), {}, BEFORE)]
    assert kept == []


def test_a_report_is_outdated_if_the_date_changes_the_feedback() -> None:
    two = course("misconception", "points")
    assert fingerprint.is_up_to_date(report(course=two), SUBMISSION, two, {}, BEFORE)
    assert not fingerprint.is_up_to_date(report(course=two), SUBMISSION, two, {}, AFTER)
    assert fingerprint.is_up_to_date(report(), SUBMISSION, course(), {}, AFTER)


# -- one unit after the other ---------------------------------------------------------------------------------


def test_a_unit_that_is_graded_later_gives_the_same_report_as_all_at_once(tmp_path: Path) -> None:
    two = made_course(tmp_path, {"sums": {"add": 1}, "products": {"multiply": 1}})
    criteria = [Described("sums", "add", "first", "First."), Described("products", "multiply", "second", "Second.")]
    both = Submission("ada", None, {"sums": UNIT, "products": UnitSubmission(UnitSource("products.py", ("b = 1\n",)))})

    def graded(submission: Submission, *units: str) -> Report:
        outcomes = [
            Judged(one.unit, one.exercise, one.name, one.unit == "sums") for one in criteria if one.unit in units
        ]
        messages = [
            Message(unit=unit, exercise=None, kind="printed", text=unit, file=None, line=None) for unit in units
        ]
        found = result(outcomes=outcomes, messages=messages)
        return scoring.make_report(submission, found, scoring.Rubric(criteria), two, {}, {"torch": "2"}, BEFORE)

    first = graded(dataclasses.replace(both, units={"sums": UNIT}), "sums")
    kept = fingerprint.up_to_date_part(first, ["sums"], both, two, {}, BEFORE)
    assert graded(dataclasses.replace(both, kept=kept), "products") == graded(both, "sums", "products")


@pytest.mark.parametrize("change", ["file", "sheet", "quiz", "due date"])
def test_a_changed_unit_is_graded_again(quiz: QuizSource, change: str) -> None:
    submission, with_quiz = handed_in(quiz, RIGHT_ANSWERS), course(quiz=1)
    made, quizzes, now = quiz_report(quiz, submission, BEFORE), {"sums": quiz}, BEFORE
    assert fingerprint.is_up_to_date(made, submission, with_quiz, quizzes, now)
    assert fingerprint.up_to_date_part(made, ["sums"], submission, with_quiz, quizzes, now)
    if change == "file":
        submission = dataclasses.replace(
            submission, units={"sums": UnitSubmission(UnitSource("sums.py", ("a = 2\n",)))}
        )
    elif change == "sheet":
        submission = handed_in(quiz, WRONG_ANSWERS)
    elif change == "quiz":
        quizzes = {"sums": dataclasses.replace(quiz, items={"no_sum": quiz.items["no_sum"]})}
    else:
        now = AFTER
    assert not fingerprint.is_up_to_date(made, submission, with_quiz, quizzes, now)
    assert fingerprint.up_to_date_part(made, ["sums"], submission, with_quiz, quizzes, now) is None
