"""docs/nbgrader.md is true: two students go through a term with its commands."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import courses
import pytest
import terms
from courses import COURSE, REPOSITORY
from handed_in import grade_id, read_notebook, solved, write_notebook
from nbgrader.api import Gradebook
from pages import blocks_of

pytestmark = pytest.mark.proof(part="full")

PAGE = (REPOSITORY / "docs" / "nbgrader.md").read_text(encoding="utf-8")
BLOCKS = blocks_of(PAGE)
# These two lines set up the environment of the tests; only a terminal can run the second one.
SET_UP = ("make .venv/installed", ". .venv/bin/activate")
# What belongs to the machine is put elsewhere.
MACHINE = ("/srv/nbgrader", "/etc/jupyter")

UNIT = "simple_attention"
STUDENTS = ("ada", "bela")
# bela's shares are right only where there is one list of scores.
MISTAKE = """\
def softmax_naive(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    print("bela was here")
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum()"""


class Term(NamedTuple):
    """The folders of all participants after the term, and each exported table."""

    folder: Path
    course: Path
    tables: list[dict[str, dict[str, str]]]

    def feedback(self, student: str) -> str:
        """The page of feedback that a student fetched."""
        [page] = (self.folder / student / UNIT / "feedback").glob(f"*/{UNIT}.html")
        return page.read_text(encoding="utf-8")

    def scores(self, student: str) -> dict[str, float]:
        """A student's score for each cell with points in the gradebook."""
        with Gradebook(f"sqlite:///{self.course}/gradebook.db", terms.COURSE_ID) as gradebook:
            notebook = gradebook.find_submission_notebook(UNIT, UNIT, student)
            return {grade.name: grade.score for grade in notebook.grades}


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Term:
    """The page, followed from its first line to its last one.

    The unit is due once everybody has handed in, and the students share one account, so that they have to say who
    they are.
    """
    folder = tmp_path_factory.mktemp("term")
    root = courses.copy_course(folder / "repository")
    courses.set_due(root, courses.LONG_TO_COME)
    for name in ("instructor", *STUDENTS):
        (folder / name).mkdir()
    here, tables = folder / "instructor", []

    def run(line: str, name: str, place: Path) -> None:
        command = shlex.split(line)
        if name != "instructor" and command[1] in ("submit", "fetch_feedback"):
            command += ["--student", name]
        terms.run(root, place, folder / name, *command, settings=folder / "etc/jupyter")

    for block in BLOCKS:
        text = block.text
        for place in MACHINE:
            text = text.replace(place, f"{folder}{place}")
        if block.heading == "Collect and grade":
            courses.set_due(root, datetime.datetime.now(datetime.UTC).isoformat())
        if block.heading == "Without an exchange":
            write_download(here)
        if block.file not in ("", "student"):
            file = folder / block.file[1:] if block.file.startswith("/") else here / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        if block.language != "console":
            continue
        for line in text.replace("$ ", "").splitlines():
            if line in SET_UP:
                continue
            if line.startswith("cd "):
                here /= line.removeprefix("cd ")
            elif block.file == "student":
                for name in STUDENTS:
                    run(line, name, folder / name)
                    if "fetch_assignment" in line:
                        work(here, folder / name / UNIT / f"{UNIT}.ipynb", name)
            else:
                run(line, "instructor", here)
                if line == "nbgrader export":
                    tables.append(terms.exported(here / "grades.csv"))
    return Term(folder, here, tables)


def work(course: Path, notebook: Path, name: str) -> None:
    """What each student makes of the notebook: ada is right, and bela has one mistake."""
    filled = solved(read_notebook(course / "source" / UNIT / notebook.name), read_notebook(notebook))
    for cell in filled["cells"]:
        if name == "bela" and grade_id(cell) == "softmax_naive":
            cell["source"] = MISTAKE
    write_notebook(notebook, filled)


def write_download(course: Path) -> None:
    """What Moodle gives, beside the course: ada's notebook, handed in by one more student under another name."""
    handed_in = course / "submitted" / "ada" / UNIT / f"{UNIT}.ipynb"
    with ZipFile(course.parent / "moodle.zip", "w") as download:
        download.write(handed_in, "Jane Doe_4712_assignsubmission_file_/hw1 simple attention.ipynb")


def test_every_student_has_a_row_in_the_table(term: Term) -> None:
    for table in term.tables:
        assert sorted(table) == [*STUDENTS, "chen", "dina"]
        assert {row["assignment"] for row in table.values()} == {UNIT}


def test_grading_again_does_not_change_the_table(term: Term) -> None:
    first, *others = term.tables
    assert others == [first, first]


def test_the_feedback_names_the_mistake_and_shows_each_student_only_their_own(term: Term) -> None:
    pages = {student: term.feedback(student) for student in STUDENTS}
    assert "The exponentials are divided by the sum of all entries of the tensor." in pages["bela"]
    assert [student for student, page in pages.items() if "bela was here" in page] == ["bela"]
    secrets = ("HIDDEN TESTS", "NBGRADER_EXECUTION", "expect_close")
    assert [student for student, page in pages.items() for secret in secrets if secret in page] == []


def test_only_the_instructor_can_read_the_course(term: Term) -> None:
    assert term.course.stat().st_mode & 0o077 == 0


def test_the_page_shows_the_configuration_that_the_release_writes(term: Term) -> None:
    written = (term.course / "nbgrader_config.py").read_text(encoding="utf-8")
    assert written in [block.text for block in BLOCKS if block.heading == "Make the course"]


def test_the_page_names_every_unit() -> None:
    assert not {unit for unit in COURSE.units if unit not in PAGE}


def test_a_submission_to_moodle_earns_the_same_and_its_feedback_can_be_uploaded(term: Term) -> None:
    assert term.scores("Jane-Doe_4712") == term.scores("ada")
    assert float(term.tables[-1]["ada"]["score"]) > 0
    with ZipFile(term.course / f"{UNIT}.zip") as upload:
        page = upload.read(f"Jane-Doe_4712_assignsubmission_file_/{UNIT}.html").decode()
    assert "dot_product</a> (Score: " in page
