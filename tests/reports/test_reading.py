"""The state of an exercise depends on its tests, even if nothing is worth points."""

from __future__ import annotations

import io

import pytest
from made_reports import exercise, quiz, report, unit
from rich.console import Console

from grader.cli.check_output import print_report
from grader.cli.instructor.class_table import _issues
from grader.integrations.nbgrader.nbgrader_grading import of_exercise
from grader.reports.exporters import job_summary as annotating
from grader.reports.exporters.autograder_results import classroom50_status, gradescope_results
from grader.reports.exporters.job_summary import summary
from grader.reports.reading import State, entries, sentence_of
from grader.reports.report_model import Message, Report

WITHOUT_POINTS = report(
    {
        "sums": unit(
            {"add": exercise(1, 1, weight=0), "scale": exercise(2, weight=0)},
            quiz=quiz(0, 0, sentences=["Addition is commutative."]),
        )
    },
    suites="hidden",
)


def checked(made: Report) -> tuple[bool, str]:
    """Whether all exercises pass, and what `grader check` prints."""
    console = Console(file=io.StringIO())
    passes = print_report(made, {}, [], console)
    return passes, console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("weight", [0, 1])
@pytest.mark.parametrize(("failed", "state"), [(0, "done"), (1, "in progress")])
def test_an_exercise_is_done_if_every_test_passed(weight: int, failed: int, state: State) -> None:
    [entry] = entries(report({"sums": unit({"add": exercise(1, failed, weight=weight)})}))
    assert entry.state == state


def test_a_failure_without_points_does_not_say_that_points_are_missing() -> None:
    failed = exercise(1, 1, weight=0, reason=None, sentence=None)
    [entry] = entries(report({"sums": unit({"add": failed})}))
    assert entry.expected == "Something is not right yet. It is worth no points, and the feedback says no more."


@pytest.mark.parametrize("cause", ["", " The cause is line 3 of a.py, which sets it: undo it there."])
def test_the_text_of_an_error_belongs_to_its_first_sentence(cause: str) -> None:
    text = f"It raised an AssertionError.{cause} no GPU"
    message = Message(unit="sums", exercise="add", kind="raised", text=text, file=None, line=None, hint="Do that.")
    assert sentence_of(message) == f"It raised an AssertionError: no GPU.{cause} Do that."


def test_every_exporter_accepts_a_report_without_points() -> None:
    assert annotating.annotation_commands(WITHOUT_POINTS)[0].endswith(
        "::0 of 0 points. By the hidden tests of the course."
    )
    assert summary(WITHOUT_POINTS).startswith("## 0 of 0 points\n\nBy the hidden tests")
    assert classroom50_status(WITHOUT_POINTS)["status"] == "success"
    shown = gradescope_results(WITHOUT_POINTS)
    assert [(one["score"], one["max_score"], one["status"]) for one in shown["tests"]] == [
        (0, 0, "failed"),
        (0, 0, "passed"),
    ]
    assert "sums, quiz: an_item: Addition is commutative." in shown["output"]


def test_what_costs_points_comes_first() -> None:
    made = report({"sums": unit({"add": exercise(1, 1, weight=0), "scale": exercise(1, 1)})})
    assert "### Look at this next\n\n**`scale`**" in summary(made)
    assert next(_issues(made, ["sums"])).startswith("scale: ")


@pytest.mark.parametrize(
    ("main", "first", "second"), [(None, "It is 2.", "It is 1."), ("cause", "It is 1.", "It is 2.")]
)
def test_the_main_issue_explains_most_or_else_costs_most_and_comes_first_everywhere(
    main: str | None, first: str, second: str
) -> None:
    [rare], common = (exercise(0, number, reason=f"It is {number}.").tests for number in (1, 2))
    tests = [*common, rare.model_copy(update={"name": "cause"})]
    graded = report({"sums": unit({"add": exercise(0, 3).model_copy(update={"tests": tests, "main": main})})})
    [entry] = entries(graded)
    assert [issue.reason for issue in entry.issues] == [first, second]
    assert entry.main_issue == f"{first} They should be right."
    assert first in annotating.annotation_commands(graded)[1]
    assert summary(graded).index(f"> {first}") < summary(graded).index(second)
    feedback = of_exercise(graded, "sums", "add").plain()
    assert feedback.index(first) < feedback.index(second)
    passes, printed = checked(graded)
    assert (passes, first in printed, second in printed) == (False, True, False)
    assert next(_issues(graded, ["sums"])) == f"add: {first}"


def test_the_check_says_the_name_of_a_mistake_before_what_a_test_found() -> None:
    made = exercise(0, 2, mistake="The last one is left out.", reason="It is 2.")
    passes, printed = checked(report({"sums": unit({"add": made})}))
    assert not passes
    assert printed.index("The last one is left out.") < printed.index("It is 2.")


def test_a_remark_on_an_exercise_that_passes_is_printed() -> None:
    made = exercise(1, remarks=["It makes use of torch's dot."])
    passes, printed = checked(report({"sums": unit({"add": made})}))
    assert passes
    assert "It makes use of torch's dot." in printed


def test_a_named_misconception_is_always_the_main_issue() -> None:
    [entry] = entries(report({"sums": unit({"add": exercise(0, 2, mistake="The last one is left out.")})}))
    assert entry.main_issue == "The last one is left out."
