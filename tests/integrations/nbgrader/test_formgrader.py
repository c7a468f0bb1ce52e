"""What an instructor sees in a browser: the scores in nbgrader's formgrader."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import NamedTuple

import browser
import pytest
from graded_class import GradedTerm
from playwright.sync_api import BrowserContext, Locator, Page, expect
from processes import until
from terms import Term, environment_of

pytestmark = pytest.mark.proof(part="nbgrader")

GRADED = ("undamaged", "bela", "mallory", "cut_off")
UNGRADED = "nora"
"""Hands in the same file as bela, after the class is graded."""
TALKED = "</pre><script>document.title = 100</script>"
ITS_SENTENCE = "Adding is not taking away."


class Course(NamedTuple):
    """A graded class, and the browser of its instructor."""

    term: Term
    server: browser.Jupyter
    context: BrowserContext

    def open(self, address: str) -> Page:
        page = self.context.new_page()
        page.goto(address)
        return page


@pytest.fixture(scope="module")
def course(graded_term: GradedTerm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    browser.chromium()
    folder = tmp_path_factory.mktemp("formgrader")
    (folder / "home").mkdir()
    term = graded_term.term.copied(folder / "course")
    submitted = term.folder / "submitted"
    shutil.copytree(submitted / "bela", submitted / UNGRADED)
    with browser.looking_at(term.folder, environment_of(term.root, folder / "home")) as (server, context):
        yield Course(term, server, context)


@pytest.fixture
def gradebook(course: Course) -> Iterator[Page]:
    """The page of a unit's notebook, which shows the points of each student."""
    page = course.open("formgrader/gradebook/sums/sums")
    expect(row(page, "bela")).to_be_visible()  # before, the button has nothing to do
    page.get_by_role("button", name="Show All Names").click()
    yield page
    page.close()


@pytest.fixture
def submission(gradebook: Page, request: pytest.FixtureRequest) -> Page:
    """The page of one student's notebook, reached from the gradebook by a click."""
    row(gradebook, request.param).get_by_role("link", name=request.param).click()
    gradebook.wait_for_function("window.formgrader?.grades?.loaded")
    return gradebook


def row(page: Page, student: str) -> Locator:
    """The row of a student in a table."""
    return page.locator("#main-table tr").filter(has=page.get_by_text(student, exact=True))


def score_fields(page: Page) -> dict[str, float]:
    """The automatic score that each test cell of a submission shows, by grade_id."""
    fields: dict[str, str] = page.locator("input.score").evaluate_all(
        "fields => Object.fromEntries(fields.map(field => [field.id, field.placeholder]))"
    )
    return {name: float(score) for name, score in fields.items()}


def output_of(page: Page, test: str) -> Locator:
    """What a submission's page shows below a test cell."""
    return page.locator(".cell").filter(has=page.locator(f"[id='{test}']")).locator(".output_wrapper")


def test_the_gradebook_shows_the_points_of_each_student(course: Course, gradebook: Page) -> None:
    for student in GRADED:
        points = sum(course.term.scores(student).values())
        expect(row(gradebook, student).locator(".score")).to_have_text(f"{points:g} / 18")
    assert browser.errors_of(gradebook) == []


@pytest.mark.parametrize("submission", GRADED, indirect=True)
def test_a_submission_shows_the_score_of_each_exercise_and_quiz_item(
    course: Course, submission: Page, request: pytest.FixtureRequest
) -> None:
    student = request.node.callspec.params["submission"]
    assert score_fields(submission) == course.term.scores(student)
    assert browser.errors_of(submission) == []
    if student == "cut_off":
        expect(submission.get_by_text("sums.ipynb is a notebook that is cut off in line 1").first).to_be_visible()


@pytest.mark.parametrize("submission", ["bela"], indirect=True)
def test_a_misconception_is_named_only_below_its_exercise(submission: Page) -> None:
    expect(output_of(submission, "test_add").get_by_text(ITS_SENTENCE)).to_be_visible()
    expect(submission.get_by_text(ITS_SENTENCE)).to_have_count(1)


@pytest.mark.parametrize("submission", ["mallory"], indirect=True)
def test_output_of_a_student_is_text_and_does_not_change_the_page(submission: Page) -> None:
    expect(output_of(submission, "test_add").get_by_text(TALKED).first).to_be_visible()
    expect(submission).to_have_title("sums")


def test_a_click_on_autograde_gives_the_same_points_as_the_command(course: Course) -> None:
    before = set(course.server.processes())
    page = course.open("formgrader/manage_submissions/sums")
    expect(row(page, UNGRADED).locator(".status")).to_have_text("needs autograding")
    row(page, UNGRADED).locator(".autograde a").click()
    expect(page.get_by_text(f"Successfully autograded 'sums' for student '{UNGRADED}'")).to_be_visible()
    expect(row(page, UNGRADED).locator(".status")).to_have_text("graded")
    expect(row(page, UNGRADED).locator(".score")).to_have_text(row(page, "bela").locator(".score").inner_text())
    assert course.term.scores(UNGRADED) == course.term.scores("bela")
    assert browser.errors_of(page) == []
    until(lambda: before.issuperset(course.server.processes()))  # what has graded is gone
