"""Gradescope's results."""

from __future__ import annotations

from made_reports import exercise, of_exercises, quiz, raised, report, unit, unwritten

from grader.reports.exporters.gradescope import results
from grader.reports.model import Change
from grader.submissions.names import missing_unit


def test_each_exercise_and_each_quiz_that_counts_is_a_numbered_test() -> None:
    made = results(
        report(
            {
                "sums": unit({"total": exercise(2, 1), "mean": exercise(4)}, quiz=quiz(5, 7)),
                "more": unit({"zeta": unwritten()}, quiz=quiz(None, 9)),
            }
        )
    )
    assert [(one["number"], one["name"], one["score"], one["max_score"], one["status"]) for one in made["tests"]] == [
        ("1.1", "sums: total", 2, 3, "failed"),
        ("1.2", "sums: mean", 4, 4, "passed"),
        ("1.3", "sums: quiz", 5, 7, "failed"),
        ("2.1", "more: zeta", 0, 3, "failed"),
    ]
    assert made["score"] == 11


def test_the_score_is_that_of_the_report_with_what_an_instructor_changed() -> None:
    less = Change(kind="adjustment", points=-2, reason="Copied.", exercise=None, by="Ms Roe")
    well = Change(kind="comment", points=0, reason="Short.", exercise="total", by="Ms Roe")
    changed = unit({"total": exercise(4)}).model_copy(update={"points": 2, "earned": 4, "changes": [less, well]})
    made = results(
        report({"sums": changed}).model_copy(update={"comments": [well.model_copy(update={"exercise": None})]})
    )
    assert made["score"] == 2
    assert "sums: -2 points: Copied. (Ms Roe)" in made["output"]
    assert "Comment by Ms Roe: Short." in made["output"]
    assert made["tests"][0]["output"] == "Comment by Ms Roe: Short."


def test_an_exercise_shows_its_misconception_and_failed_tests() -> None:
    (test,) = results(of_exercises(total=exercise(0, 2, mistake="The last one is left out.")))["tests"]
    assert test["output"].split("\n") == [
        "The last one is left out.",
        "The values are wrong.",
        "- They should be right.",
        "- They should be right.",
    ]


def test_an_error_is_shown_once_with_its_text_and_place() -> None:
    lost = {"sums": unit({"total": exercise(0, 1, reason="It raised a SystemExit.")})}
    messages = [
        raised("total", "It raised a SystemExit. 0", 9),
        raised("total", "It raised a ValueError. no", 2, file="sums.ipynb, cell 5"),
    ]
    (test,) = results(report(lost, messages))["tests"]
    assert test["output"].split("\n") == [
        "It raised a SystemExit: 0. (exercises/sums.py, line 9)",
        "- They should be right.",
        "Your code said: It raised a ValueError: no. (sums.ipynb, cell 5, line 2)",
    ]


def test_an_unwritten_exercise_says_so_once() -> None:
    (test,) = results(of_exercises(total=unwritten()))["tests"]
    assert test["output"] == "It is not written yet."


def test_a_file_that_could_not_be_read_is_reported() -> None:
    lost = unit({"total": exercise(0, 1)}, path=None, remarks=["sums.py is empty: write there."])
    made = results(report({"sums": lost}))
    assert made["tests"][0]["output"] == "sums.py is empty: write there."
    assert "sums: sums.py is empty: write there." in made["output"].split("\n")


def test_units_that_are_not_handed_in_are_listed_on_one_line() -> None:
    lost = {name: unit({name: exercise(0, 1)}, path=None, remarks=[missing_unit(name)]) for name in ("sums", "means")}
    made = results(report(lost))
    assert made["output"].split("\n")[1:] == ["Not handed in yet: sums, means."]
    assert {test["output"] for test in made["tests"]} == {"It is not handed in yet."}


def test_a_quiz_before_its_due_date_says_how_many_are_answered() -> None:
    made = results(report({"sums": unit({}, quiz=quiz(None, 9))}))
    assert "sums, quiz: 1 of 1 answered. It counts after the due date." in made["output"].split("\n")


def test_after_its_due_date_a_quiz_shows_feedback_on_each_answer() -> None:
    [test] = results(report({"sums": unit({}, quiz=quiz(5, 9, sentences=["That is the median."]))}))["tests"]
    assert test["output"].split("\n") == ["1 of 1 answered", "an_item: That is the median."]


def test_all_text_for_gradescope_is_plain() -> None:
    made = results(of_exercises(total=exercise(1)))
    assert {made["output_format"], *(test["output_format"] for test in made["tests"])} == {"text"}


def test_students_see_the_tests_and_never_the_output_of_the_program() -> None:
    made = results(of_exercises(total=exercise(1)))
    assert (made["stdout_visibility"], made["tests"][0]["visibility"]) == ("hidden", "visible")
    assert made["execution_time"] == 1.5
    assert made["extra_data"]["commit"] == "0" * 40
