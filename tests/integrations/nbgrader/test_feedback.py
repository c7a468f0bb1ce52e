"""Feedback in nbgrader: it says everything that the report says, and no text of students is markup."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Sequence
from typing import Any

import pytest
from made_reports import exercise, quiz, report, unit

from grader.integrations.nbgrader.nbgrader_grading import CellFeedback, of_exercise, of_quiz_item, of_whole
from grader.reports.report_model import Exercise, Message

DUE = datetime.datetime(2027, 2, 1, 23, 59, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
HOSTILE = "</pre></div><script>alert(1)</script><img src=x onerror=alert(2)>"


def missed(name: str, sentence: str | None, reason: str | None, outcome: str = "failed") -> dict[str, Any]:
    return {"name": name, "outcome": outcome, "points": 0, "possible": 2, "sentence": sentence, "reason": reason}


def message(kind: str, text: str, exercise: str | None = "add", **place: Any) -> Message:
    return Message.model_validate(
        {"unit": "sums", "exercise": exercise, "kind": kind, "text": text, "file": None, "line": None} | place
    )


def read(feedback: CellFeedback | None) -> str:
    """What a reader sees of the page."""
    assert feedback
    return " ".join(html.unescape(re.sub(r"<.*?>", "", feedback.html())).split())


def of_add(messages: Sequence[Message] = (), **changes: Any) -> CellFeedback:
    add = Exercise.model_validate({**exercise(0).model_dump(), "points": 2, "possible": 6, **changes})
    return of_exercise(report({"sums": unit({"add": add})}, messages), "sums", "add")


def of_order(points: int | None = None, possible: int = 2, **changes: Any) -> CellFeedback:
    return of_quiz_item("order", quiz(points, possible, **changes).items["an_item"], DUE)


def of_notebook(
    messages: Sequence[Message] = (),
    *,
    remarks: Sequence[str] = (),
    of_sheet: Sequence[str] = (),
    isolated: bool = True,
) -> CellFeedback | None:
    sums = unit({"add": exercise(1)}, remarks=remarks, quiz=quiz(None, 2, remarks=of_sheet))
    return of_whole(report({"sums": sums}, messages, isolated=isolated), "sums")


def test_an_exercise_begins_with_its_points() -> None:
    assert read(of_add()) == "add: 2 of 6 points"
    assert of_add().plain() == "`add`: 2 of 6 points"


@pytest.mark.parametrize(("outcomes", "share"), [(("passed", "failed"), 0.5), (("passed", "passed"), 1)])
def test_without_points_the_share_is_that_of_the_criteria(outcomes: tuple[str, ...], share: float) -> None:
    tests = [missed(outcome, None, None, outcome) for outcome in outcomes]
    feedback = of_add(tests=tests, points=0, possible=0)
    assert (feedback.headline, feedback.share) == ("`add`: 0 of 0 points", share)
    assert of_order(points=0, possible=0).share is None
    assert "It is worth no points." in read(of_order(possible=0))


def test_each_failed_criterion_is_shown_and_each_reason_once() -> None:
    tests = [
        missed("a", "The sum should be right.", "It raised a TypeError."),
        missed("b", "This went well.", None, outcome="passed"),
        missed("c", "It should take a number.", "It raised a TypeError."),
    ]
    text = "It raised a TypeError. The sum should be right. It should take a number."
    assert read(of_add(tests=tests)) == f"add: 2 of 6 points {text}"


def test_without_a_sentence_the_criterion_is_still_named() -> None:
    assert "sum of two tensors" in read(of_add(tests=[missed("sum_of_two_tensors", None, None)]))


def test_the_misconception_comes_before_the_failed_tests() -> None:
    known = [{"name": "takes_away", "sentence": "Adding is not taking away."}]
    text = read(of_add(misconceptions=known, tests=[missed("a", "The sum should be right.", "It is not.")]))
    assert text.endswith("Takes away Adding is not taking away. It is not. The sum should be right.")


def test_dependencies_and_remarks_are_shown() -> None:
    text = read(of_add(waiting_for="Depends on zero; fix that first.", remarks=["A substitute was used."]))
    assert text.endswith("Depends on zero; fix that first. A substitute was used.")


def test_the_output_of_the_students_code_is_shown_at_its_exercise() -> None:
    messages = [
        message("printed", "in the exercise\n"),
        message("raised", "It raised a ValueError. no", file="sums.ipynb, cell 3", line=7),
        message("printed", "at the top", exercise=None),
        message("attempted", "It tried to start a process.", exercise=None),
    ]
    assert read(of_add(messages)) == (
        "add: 2 of 6 points Your code printed in the exercise "
        "Your code raised It raised a ValueError. no (sums.ipynb, cell 3, line 7)"
    )
    assert read(of_notebook(messages)) == (
        "About the notebook as a whole Your code printed at the top "
        "What your code was seen to try It tried to start a process."
    )


def test_code_in_a_sentence_is_shown_as_code_and_a_star_is_a_product() -> None:
    page = of_add(remarks=["`a * b` and 2*3*4"]).html()
    assert re.search(r"<code [^>]*>a \* b</code> and 2\*3\*4", page)


@pytest.mark.parametrize("answered", [True, False])
def test_until_the_due_date_a_quiz_item_says_when_it_counts(answered: bool) -> None:
    state = "answered" if answered else "not answered"
    assert read(of_order(answered=answered)) == (
        f"Order: {state} "
        "The quiz counts once its due date has passed, 2027-02-01 23:59 UTC+01:00: until then it shows 0 points."
    )


def test_an_unreadable_answer_is_reported_before_the_due_date() -> None:
    assert "cell 4: two letters" in read(of_order(answered=False, problem="cell 4: two letters"))


def test_after_the_due_date_a_quiz_item_shows_all_feedback() -> None:
    known: dict[str, Any] = {
        "sentences": ["Addition is *commutative*."],
        "answer": "a) `a + b`\nb) b + a",
        "explanation": "So it is.",
    }
    assert read(of_order(points=1, **known)) == (
        "Order: 1 of 2 points Addition is commutative. The right answer a) a + b b) b + a Why So it is."
    )


def test_after_the_due_date_a_missing_answer_is_reported() -> None:
    assert read(of_order(points=0, answered=False)) == "Order: 0 of 2 points It was not answered."


def test_a_notebook_without_problems_has_no_remarks() -> None:
    assert of_notebook() is None


def test_remarks_on_the_notebook_and_its_quiz_are_shown() -> None:
    text = read(of_notebook(remarks=["Cell 3 is damaged."], of_sheet=["answer_1 is there twice."]))
    assert text == "About the notebook as a whole Cell 3 is damaged. answer_1 is there twice."


def test_code_that_was_not_isolated_is_reported() -> None:
    assert "not isolated" in read(of_notebook(isolated=False))


@pytest.mark.parametrize(
    "feedback",
    [
        of_add(
            messages=[message(kind, HOSTILE, file=HOSTILE) for kind in ("printed", "raised", "not run", "attempted")],
            tests=[missed(HOSTILE, HOSTILE, HOSTILE), missed(HOSTILE, None, None)],
            misconceptions=[{"name": HOSTILE, "sentence": HOSTILE}],
            waiting_for=HOSTILE,
            remarks=[f"`{HOSTILE}`", f"[{HOSTILE}](javascript:alert(3))"],
        ),
        of_order(problem=HOSTILE),
        of_order(points=0, problem=HOSTILE, sentences=[HOSTILE], answer=HOSTILE, explanation=f"# {HOSTILE}"),
        of_notebook([message("printed", HOSTILE, exercise=None)], remarks=[HOSTILE], of_sheet=[HOSTILE]),
    ],
    ids=["exercise", "quiz item before", "quiz item after", "notebook"],
)
def test_no_text_of_a_report_is_markup(feedback: CellFeedback | None) -> None:
    assert feedback
    page = feedback.html()
    assert html.escape(HOSTILE, quote=False).lower() in page.lower().replace("&quot;", '"')
    assert set(re.findall(r"<(\w+)", page)) <= {"div", "strong", "br", "ul", "li", "pre", "code", "p", "h1"}
    assert page.count("<div") == page.count("</div>")


def test_the_plain_text_says_the_same() -> None:
    feedback = of_add(
        messages=[message("printed", "<hello>")],
        misconceptions=[{"name": "takes_away", "sentence": "Adding is not taking away."}],
        tests=[missed("a", "The sum should be right.", "It is not.")],
    )
    assert feedback.plain() == (
        "`add`: 2 of 6 points\n\nTakes away\nAdding is not taking away.\n\n"
        "It is not.\n- The sum should be right.\n\nYour code printed\n<hello>"
    )
