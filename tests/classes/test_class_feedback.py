"""A student's feedback, from reports on several units."""

from __future__ import annotations

import datetime
from pathlib import Path

import courses
import pytest
from bs4 import BeautifulSoup
from made_reports import exercise, made_course, raised, report, unit
from markdown_it import MarkdownIt

from grader.classes.collected import CollectedStudent, CollectedWork
from grader.classes.record import Grade, feedback, feedback_page
from grader.course.model import Course, load_course
from grader.errors import GraderError
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.report_model import Report, Result
from grader.reports.scoring import Rubric, make_report
from grader.submissions.submission import Submission, UnitSubmission

UNITS = ("sums", "means", "modes")
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
STUDENT = CollectedStudent(student="ada", repository="our-course/ada")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of three units, all over, whose feedback does not change with the date."""
    made = made_course(tmp_path / "course", {name: {f"{name}_of": 1} for name in UNITS})
    return edited(made, "after_due: points", "after_due: misconception")


def edited(course: Course, old: str, new: str) -> Course:
    settings = course.root / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return load_course(course.root)


@pytest.fixture
def grade() -> Grade:
    """A grade of two units, each from a report of its own; the first report has another unit too."""
    sums = unit({"sums_of": exercise(1, 1, reason="It raised a ValueError.")})
    means = unit({"means_of": exercise(3)}, path="exercises/means.py")
    message = raised("sums_of", "It raised a ValueError. no numbers", 9)
    works = {
        name: CollectedWork(commit=letter * 40, dated_by="push") for name, letter in zip(UNITS, "abc", strict=True)
    }
    first = report({"sums": sums, "means": unit({"means_of": exercise(0, 3)})}, [message], suites="hidden")
    second = report({"means": means}, suites="hidden", isolated=False)
    return Grade(
        STUDENT.model_copy(update={"units": works}),
        {
            "sums": first.model_copy(update={"commit": "a" * 40}),
            "means": second.model_copy(update={"commit": "b" * 40}),
            "modes": "there is no report of it.",
        },
    )


def shown(text: str) -> BeautifulSoup:
    return BeautifulSoup(MarkdownIt("commonmark", {"html": True}).enable("table").render(text), "html.parser")


@pytest.mark.parametrize("is_page", [False, True])
def test_each_unit_counts_as_in_the_report_on_it(course: Course, grade: Grade, is_page: bool) -> None:
    given = grade, UNITS, course, NOW
    page = BeautifulSoup(feedback_page(*given), "html.parser") if is_page else shown(feedback(*given))
    commits, points, *_ = page.find_all("table")
    assert [row.find_all(["th", "td"])[1].get_text() for row in commits.find_all("tr")[1:]] == ["a" * 12, "b" * 12]
    assert [row.find_all(["th", "td"])[2].get_text() for row in points.find_all("tr")[1:]] == ["1 of 2", "3 of 3"]
    text = page.get_text()
    assert "4 of 5 points" in text
    assert "It raised a ValueError: no numbers." in text
    assert "Your code was not isolated" in text
    assert "Not graded yet: modes." in text
    assert "Feedback: A small course" in text


def test_a_unit_with_an_extension_is_not_due_yet(course: Course, grade: Grade) -> None:
    first = grade.reports["sums"]
    assert isinstance(first, Report)
    extended = first.units["sums"].model_copy(update={"due": courses.LONG_TO_COME, "extended": True})
    reports = grade.reports | {"sums": first.with_units({"sums": extended})}
    text = feedback(Grade(grade.student, reports), UNITS, course, NOW)
    assert "Not due yet, so this is not the grade: `sums`." in text


@pytest.mark.parametrize(
    ("edit", "units"),
    [(("units:", "timezone: Europe/Berlin\nunits:"), "sums, means"), (("'sums_of': 1", "'sums_of': 2"), "sums")],
)
def test_a_report_with_another_zone_or_other_weights_is_refused(
    course: Course, grade: Grade, edit: tuple[str, str], units: str
) -> None:
    with pytest.raises(GraderError, match=f"the report on {units} was made before the due date, or with another"):
        feedback(grade, UNITS, edited(course, *edit), NOW)


def test_a_report_from_before_the_due_date_is_refused_if_only_the_quiz_would_differ(tmp_path: Path) -> None:
    course = made_course(tmp_path, {"sums": {"add": 1}}, quizzes=["sums"])
    course = edited(
        course, "after_due: points\n  quiz_answers: true", "after_due: misconception\n  quiz_answers: false"
    )
    quizzes = load_quizzes(course.solutions, ["sums"])
    due, hour = course.units["sums"].due, datetime.timedelta(hours=1)
    before, after = (
        make_report(
            Submission("ada", None, {"sums": UnitSubmission()}), Result(), Rubric([], quizzes), course, {}, {}, time
        )
        for time in (due - hour, due + hour)
    )
    assert "0 of 13 points" in feedback(Grade(STUDENT, {"sums": after}), ["sums"], course, NOW)
    with pytest.raises(GraderError, match="the report on sums was made before the due date"):
        feedback(Grade(STUDENT, {"sums": before}), ["sums"], course, NOW)


def test_one_unit_alone_has_its_own_points(course: Course, grade: Grade) -> None:
    text = shown(feedback(grade, ["means"], course, NOW)).get_text()
    assert "3 of 3 points" in text
    assert "sums" not in text
    assert "Not graded yet" not in text
