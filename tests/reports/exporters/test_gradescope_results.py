"""Gradescope's results."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from courses import REPOSITORY
from made_reports import exercise, made_course, of_exercises, quiz, raised, report, unit, unwritten

from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet
from grader.reports.exporters.autograder_results import gradescope_results
from grader.reports.report_model import Change, Described, Judged, Result
from grader.reports.scoring import Rubric, make_report
from grader.submissions.submission import Submission, UnitSource, UnitSubmission, missing_file

_TABLE = re.compile(r"(?m)^\| (before|after) the due date \| `(\w+)` \| (.+) \|$")
SHOWN = _TABLE.findall((REPOSITORY / "docs" / "gradescope.md").read_text(encoding="utf-8"))
"""The table of the page on Gradescope: when it is graded, the level of feedback, and what students see when."""


def test_each_exercise_and_each_quiz_that_counts_is_a_numbered_test() -> None:
    made = gradescope_results(
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
    made = gradescope_results(
        report({"sums": changed}).model_copy(update={"comments": [well.model_copy(update={"exercise": None})]})
    )
    assert made["score"] == 2
    assert "sums: -2 points: Copied. (Ms Roe)" in made["output"]
    assert "Comment by Ms Roe: Short." in made["output"]
    assert made["tests"][0]["output"] == "Comment by Ms Roe: Short."


def test_an_exercise_shows_its_misconception_and_failed_tests() -> None:
    (test,) = gradescope_results(of_exercises(total=exercise(0, 2, mistake="The last one is left out.")))["tests"]
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
    (test,) = gradescope_results(report(lost, messages))["tests"]
    assert test["output"].split("\n") == [
        "It raised a SystemExit: 0. (exercises/sums.py, line 9)",
        "- They should be right.",
        "Your code said: It raised a ValueError: no. (sums.ipynb, cell 5, line 2)",
    ]


def test_an_unwritten_exercise_says_so_once() -> None:
    (test,) = gradescope_results(of_exercises(total=unwritten()))["tests"]
    assert test["output"] == "It is not written yet."


def test_a_file_that_could_not_be_read_is_reported() -> None:
    lost = unit({"total": exercise(0, 1)}, path=None, remarks=["sums.py is empty: write there."])
    made = gradescope_results(report({"sums": lost}))
    assert made["tests"][0]["output"] == "sums.py is empty: write there."
    assert "sums: sums.py is empty: write there." in made["output"].split("\n")


def test_a_line_that_could_not_be_run_is_reported() -> None:
    made = report({"sums": unit({"total": unwritten()})}, [raised(None, "It is not valid Python. invalid syntax", 3)])
    where = "A line could not be run, exercises/sums.py, line 3"
    assert gradescope_results(made)["output"].split("\n")[1:] == [
        f"sums: {where}: It is not valid Python: invalid syntax."
    ]


def test_units_that_are_not_handed_in_are_listed_on_one_line() -> None:
    lost = {name: unit({name: exercise(0, 1)}, path=None, remarks=[missing_file(name)]) for name in ("sums", "means")}
    made = gradescope_results(report(lost))
    assert made["output"].split("\n")[1:] == ["Not handed in yet: sums, means."]
    assert {test["output"] for test in made["tests"]} == {"It is not handed in yet."}


def test_a_quiz_before_its_due_date_says_how_many_are_answered() -> None:
    made = gradescope_results(report({"sums": unit({}, quiz=quiz(None, 9))}))
    assert "sums, quiz: 1 of 1 answered. It counts after the due date, up to 9 points." in made["output"].split("\n")


def test_after_its_due_date_a_quiz_shows_feedback_on_each_answer() -> None:
    [test] = gradescope_results(report({"sums": unit({}, quiz=quiz(5, 9, sentences=["That is the median."]))}))["tests"]
    assert test["output"].split("\n") == ["1 of 1 answered", "an_item: That is the median."]


def graded(root: Path, when: str, level: str) -> dict[str, Any]:
    """The results of an answer with a known mistake, with a quiz, at this level before or after the due date."""
    feedback = {"before_due": "points", "after_due": "points", f"{when}_due": level}
    course = made_course(root, {"sums": {"add": 2}}, quizzes=["sums"])
    course = course.model_copy(update={"feedback": course.feedback.model_copy(update=feedback)})
    asked = load_quiz(root / "solutions" / "sums_quiz.yml")
    sheet = UnitSource("sums_quiz.md", (write_sheet(asked.questions, 1, {"is_larger": "a"}),))
    handed_in = UnitSubmission(UnitSource("sums.py", ("a = 1\n",)), quiz=sheet)
    rubric = Rubric([Described("sums", "add", "sum_of_two", "It should be the sum.")], {"sums": asked})
    found = Result(
        outcomes=[Judged("sums", "add", "sum_of_two", False, "It is the difference.")],
        misconceptions=[Described("sums", "add", "subtracts", "Adding is not taking away.")],
    )
    second = datetime.timedelta(seconds=1 if when == "after" else -1)
    submission = Submission("submission", None, {"sums": handed_in})
    return gradescope_results(make_report(submission, found, rubric, course, {}, {}, course.units["sums"].due + second))


# docs/specs.md of gradescope/autograder_samples, "Controlling Test Case Visibility", read on 29 November 2026: students
# see a test with the visibility `after_due_date` after the due date, or the late one if there is one; and no total as
# long as a test is hidden from them. They see the text above the tests at once.
@pytest.mark.parametrize(("when", "level", "shown"), SHOWN)
def test_students_see_at_each_time_what_the_table_says(tmp_path: Path, when: str, level: str, shown: str) -> None:
    made = graded(tmp_path, when, level)
    texts = {"at once": made["output"], "from Gradescope's due date on": ""}
    for test in made["tests"]:
        time = {"visible": "at once", "after_due_date": "from Gradescope's due date on"}[test["visibility"]]
        texts[time] += f"\n{test['name']} {test['score']} of {test['max_score']}\n{test['output']}"
    parts = (
        "add 0 of 2",
        "It is the difference.\n- It should be the sum.",
        "Adding is not taking away.",
        "quiz 0 of 13",
    )
    found = [[time for time, text in texts.items() if part in text] for part in parts]
    assert [" and ".join(times) or "no" for times in found] == shown.split(" | ")
    assert ("So it is where all" in "".join(texts.values())) is (when == "after")  # the feedback on the answer
    assert "So it is where all" not in texts["at once"]


def test_the_table_has_every_level_before_and_after_the_due_date() -> None:
    levels = ("points", "sentence", "misconception")
    assert [(when, level) for when, level, _ in SHOWN] == [
        (one, level) for one in ("before", "after") for level in levels
    ]


def test_students_see_the_tests_as_plain_text_and_never_the_output_of_the_program() -> None:
    made = gradescope_results(of_exercises(total=exercise(1)))
    assert {made["output_format"], *(test["output_format"] for test in made["tests"])} == {"text"}
    assert (made["stdout_visibility"], made["tests"][0]["visibility"]) == ("hidden", "visible")
    assert made["execution_time"] == 1.5
    assert made["extra_data"]["commit"] == "0" * 40
