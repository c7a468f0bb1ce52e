"""What an instructor sees in a browser: the scores in nbgrader's formgrader, and a notebook in JupyterLab."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import browser
import courses
import pytest
import terms
from playwright.sync_api import BrowserContext, Locator, Page, expect
from processes import until

pytestmark = pytest.mark.proof(part="nbgrader")

# chen's shares are right only where there is one list of scores, and what chen prints is meant for the instructor.
PRINTED = "<script>document.title = 'chen was here'</script>"
MISTAKE = f'''\
def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    print("{PRINTED}")
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum()'''
ITS_SENTENCE = "The exponentials are divided by the sum of all entries of the tensor."

GRADED = ("ada", "chen", "gus")
"""All answers of ada are right, chen has one mistake, and gus's file is broken."""
UNGRADED = "dina"
"""Hands in the same file as chen, after the class is graded."""


class Course(NamedTuple):
    """A graded class, and the browser of its instructor."""

    folder: Path
    server: browser.Jupyter
    context: BrowserContext

    def open(self, address: str) -> Page:
        page = self.context.new_page()
        page.goto(address)
        return page


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    browser.chromium()
    folder = tmp_path_factory.mktemp("formgrader")
    root, home, here = courses.copy_course(folder / "repository"), folder / "home", folder / "course"
    home.mkdir()
    courses.set_due(root, courses.LONG_PAST)
    terms.run(root, folder, home, "grader", "release", "nbgrader", str(here))
    terms.run(root, here, home, "nbgrader", "generate_assignment", terms.UNIT)
    for student in GRADED:
        hand_in(here, student)
    terms.run(root, here, home, "nbgrader", "autograde", terms.UNIT)
    hand_in(here, UNGRADED)
    with browser.looking_at(here, terms.environment_of(root, home)) as (server, context):
        yield Course(here, server, context)


def hand_in(course: Path, student: str) -> None:
    notebook = course / "submitted" / student / terms.UNIT / f"{terms.UNIT}.ipynb"
    notebook.parent.mkdir(parents=True)
    shutil.copy(course / "release" / terms.UNIT / notebook.name, notebook)
    if student == "gus":
        notebook.write_text(terms.BROKEN, encoding="utf-8")
    else:
        terms.fill_in(notebook, course, {} if student == "ada" else {"softmax_naive": MISTAKE})


@pytest.fixture
def gradebook(course: Course) -> Iterator[Page]:
    """The page of a unit's notebook, which shows the points of each student."""
    page = course.open(f"formgrader/gradebook/{terms.UNIT}/{terms.UNIT}")
    expect(row(page, "ada")).to_be_visible()  # before, the button has nothing to do
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
    possible = sum(terms.scores_of(course.folder, "ada").values())
    for student in GRADED:
        points = sum(terms.scores_of(course.folder, student).values())
        expect(row(gradebook, student).locator(".score")).to_have_text(f"{points:g} / {possible:g}")
    assert browser.errors_of(gradebook) == []


@pytest.mark.parametrize("submission", GRADED, indirect=True)
def test_a_submission_shows_the_score_of_each_exercise_and_quiz_item(
    course: Course, submission: Page, request: pytest.FixtureRequest
) -> None:
    student = request.node.callspec.params["submission"]
    assert score_fields(submission) == terms.scores_of(course.folder, student)
    assert browser.errors_of(submission) == []


@pytest.mark.parametrize("submission", ["chen"], indirect=True)
def test_a_misconception_is_named_only_below_its_exercise(submission: Page) -> None:
    expect(output_of(submission, "test_softmax_naive").get_by_text(ITS_SENTENCE)).to_be_visible()
    expect(submission.get_by_text(ITS_SENTENCE)).to_have_count(1)


@pytest.mark.parametrize("submission", ["chen"], indirect=True)
def test_output_of_a_student_is_text_and_does_not_change_the_page(submission: Page) -> None:
    expect(output_of(submission, "test_softmax_naive").get_by_text(PRINTED).first).to_be_visible()
    expect(submission).to_have_title(terms.UNIT)


@pytest.mark.parametrize("submission", ["gus"], indirect=True)
def test_a_broken_file_gives_zero_and_a_sentence_that_says_why(submission: Page) -> None:
    assert set(score_fields(submission).values()) == {0}
    expect(
        submission.get_by_text("simple_attention.ipynb is a notebook that is cut off in line 1").first
    ).to_be_visible()


def test_a_click_on_autograde_gives_the_same_points_as_the_command(course: Course) -> None:
    before = set(course.server.processes())
    page = course.open(f"formgrader/manage_submissions/{terms.UNIT}")
    expect(row(page, UNGRADED).locator(".status")).to_have_text("needs autograding")
    row(page, UNGRADED).locator(".autograde a").click()
    expect(page.get_by_text(f"Successfully autograded '{terms.UNIT}' for student '{UNGRADED}'")).to_be_visible()
    expect(row(page, UNGRADED).locator(".status")).to_have_text("graded")
    expect(row(page, UNGRADED).locator(".score")).to_have_text(row(page, "chen").locator(".score").inner_text())
    assert terms.scores_of(course.folder, UNGRADED) == terms.scores_of(course.folder, "chen")
    assert browser.errors_of(page) == []
    until(lambda: before.issuperset(course.server.processes()))  # what has graded is gone


def test_a_source_notebook_runs_from_top_to_bottom_in_jupyterlab(course: Course) -> None:
    page = course.open(f"lab/tree/source/{terms.UNIT}/{terms.UNIT}.ipynb")
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    expect(page.get_by_role("heading", name="Unit 1: attention without weights")).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompts = page.locator(".jp-CodeCell .jp-InputPrompt")
    expect(prompts.last).to_have_text(re.compile(r"\[\d+\]:"))
    assert prompts.all_text_contents() == [f"[{number}]:" for number in range(1, prompts.count() + 1)]
    # Only the last cell, 'Try it', shows something.
    expect(page.locator(".jp-OutputArea-output")).to_have_count(1)
    expect(page.locator(".jp-OutputArea-output")).to_contain_text("softmax_naive:\ntensor([")
    assert browser.errors_of(page) == []
