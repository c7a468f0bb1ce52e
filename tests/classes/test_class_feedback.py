"""A student's feedback, from reports on several units."""

from __future__ import annotations

import datetime
from pathlib import Path

import courses
import pytest
from bs4 import BeautifulSoup
from made_reports import exercise, raised, report, unit
from markdown_it import MarkdownIt

from grader.classes.collected import CollectedStudent, CollectedWork
from grader.classes.record import Grade, feedback, feedback_page
from grader.course.model import Course, load_course
from grader.errors import GraderError
from grader.reports.report_model import Report

UNITS = ("sums", "means", "modes")
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of three units without quizzes, all over."""
    root = courses.make_small_course(tmp_path / "course")
    units = "".join(
        f"  {name}:\n    title: The {name}\n    due: 2025-01-01T00:00:00+00:00\n    exercises: {{{name}_of: 1}}\n"
        for name in UNITS
    )
    text = (
        (root / "autograder.yml").read_text(encoding="utf-8").replace("after_due: points", "after_due: misconception")
    )
    (root / "autograder.yml").write_text(f"{text.partition('units:')[0]}units:\n{units}", encoding="utf-8")
    for name in UNITS:
        (root / "solutions" / f"{name}.py").write_text(f"def {name}_of(a):\n    ...\n", encoding="utf-8")
    return load_course(root)


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
        CollectedStudent(student="ada", repository="our-course/ada", units=works),
        {
            "sums": first.model_copy(update={"commit": "a" * 40}),
            "means": second.model_copy(update={"commit": "b" * 40}),
            "modes": "there is no report of it.",
        },
    )


def shown(text: str) -> BeautifulSoup:
    return BeautifulSoup(MarkdownIt("commonmark", {"html": True}).enable("table").render(text), "html.parser")


def test_each_unit_counts_as_in_the_report_on_it(course: Course, grade: Grade) -> None:
    page = shown(feedback(grade, UNITS, course, NOW))
    commits, points, *_ = page.find_all("table")
    assert [row.find_all("td")[1].get_text() for row in commits.find_all("tr")[1:]] == ["a" * 12, "b" * 12]
    assert [row.find_all("td")[2].get_text() for row in points.find_all("tr")[1:]] == ["1 of 2", "3 of 3"]
    text = page.get_text()
    assert "4 of 5 points" in text
    assert "It raised a ValueError: no numbers." in text
    assert "Your code was not isolated" in text
    assert "Not graded yet: modes." in text


def test_a_unit_with_an_extension_is_not_due_yet(course: Course, grade: Grade) -> None:
    first = grade.reports["sums"]
    assert isinstance(first, Report)
    extended = first.units["sums"].model_copy(update={"due": courses.LONG_TO_COME, "extended": True})
    reports = grade.reports | {"sums": first.with_units({"sums": extended})}
    text = feedback(Grade(grade.student, reports), UNITS, course, NOW)
    assert "Not due yet, so this is not the grade: `sums`." in text


@pytest.mark.parametrize(
    ("edit", "units"),
    [(("units:", "timezone: Europe/Berlin\nunits:"), "sums, means"), (("sums_of: 1", "sums_of: 2"), "sums")],
)
def test_a_report_with_another_zone_or_other_weights_is_refused(
    course: Course, grade: Grade, edit: tuple[str, str], units: str
) -> None:
    settings = course.root / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    with pytest.raises(GraderError, match=f"the report on {units} was made before the due date, or with another"):
        feedback(grade, UNITS, load_course(course.root), NOW)


def test_one_unit_alone_has_its_own_points(course: Course, grade: Grade) -> None:
    text = shown(feedback(grade, ["means"], course, NOW)).get_text()
    assert "3 of 3 points" in text
    assert "sums" not in text
    assert "Not graded yet" not in text


def test_a_page_says_what_was_graded_and_shows_both_reports(course: Course, grade: Grade) -> None:
    page = BeautifulSoup(feedback_page(grade, UNITS, course, NOW), "html.parser")
    commits, points = page.find_all("table")
    assert [row.find_all("td")[0].get_text() for row in commits.find_all("tr")[1:]] == ["a" * 12, "b" * 12]
    assert [row.find_all("td")[1].get_text() for row in points.find_all("tr")[1:]] == ["1 of 2", "3 of 3"]
    for text in (
        "Feedback: A small course",
        "4 of 5 points",
        "It raised a ValueError: no numbers.",
        "Not graded yet: modes.",
    ):
        assert text in page.get_text()
