"""Our plugins of nbgrader: stubs, and the index of the page of feedback."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.preprocessors import ClearSolutions
from small_course import SmallCourse

from grader.integrations.nbgrader.generating import ClearAnswers, SetDueDate

ANSWER = """\
# One letter.
### BEGIN SOLUTION in the place of: answer_1 = ...
answer_1 = "b"
### END SOLUTION
"""
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"


def cleared(source: str, by: type[ClearSolutions] = ClearAnswers) -> str:
    marks = {"schema_version": 3, "grade_id": "one", "grade": False, "locked": False, "solution": True}
    cell = nbformat.v4.new_code_cell(source, metadata={"nbgrader": marks})
    notebook, _ = by().preprocess(nbformat.v4.new_notebook(cells=[cell]), ResourcesDict())
    text: str = notebook.cells[0].source
    return text


def test_the_named_stub_replaces_the_solution() -> None:
    assert cleared(ANSWER) == "# One letter.\nanswer_1 = ...\n"


def test_nbgraders_own_preprocessor_clears_the_solution_as_well() -> None:
    assert cleared(ANSWER, ClearSolutions) == f"# One letter.\n{STUB}\n"


def test_the_stub_keeps_the_indentation_of_the_solution() -> None:
    source = "def f():\n    ### BEGIN SOLUTION in the place of: return ...\n    return 1\n    ### END SOLUTION"
    assert cleared(source) == "def f():\n    return ..."


def test_each_solution_of_a_cell_gets_its_own_stub() -> None:
    other = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    assert cleared(f"{ANSWER}\n{other}\n\n{ANSWER}").split("\n\n") == [
        "# One letter.\nanswer_1 = ...",
        STUB,
        "# One letter.\nanswer_1 = ...\n",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION in the place of: x = ...\nx = 1",
        "### BEGIN SOLUTION in the place of: x = ...\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION",
    ],
    ids=["not closed", "one inside another"],
)
def test_wrong_markers_are_an_error(source: str) -> None:
    with pytest.raises(RuntimeError, match="solution"):
        cleared(source)


def test_an_assignment_that_is_not_a_unit_gets_no_due_date(tmp_path: Path) -> None:
    about = {"assignment": "a_party", "db_url": f"sqlite:///{tmp_path / 'gradebook.db'}"}
    SetDueDate().preprocess(nbformat.v4.new_notebook(), ResourcesDict(nbgrader=about))
    assert list(tmp_path.iterdir()) == []


def test_the_index_of_the_feedback_names_exercises_and_quiz_items(course: SmallCourse) -> None:
    shutil.copy(course.release_path, course.handed_in("indexed"))
    course.autograde("indexed")
    page = BeautifulSoup(course.feedback("indexed"), "html.parser")
    links = page.select("#toc a")
    assert [link.text for link in links] == [
        "Comment on add",
        "add",
        "Comment on Scale",
        "Scale",
        "Comment on from_other",
        "Comment on Quiz: Which",
        "Quiz: Which",
        "Comment on Quiz: More",
        "Quiz: More",
        "Written response",
        "Comment on essay",
        "Coding free-response",
        "Comment on sketch",
        "Task",
    ]
    anchors = {str(anchor["name"]) for anchor in page.select("a[name]")}
    # nbgrader gives a task no anchor.
    assert {str(link["href"]).removeprefix("#") for link in links[:-1]} <= anchors


def test_the_configuration_of_an_old_course_stops_nbgrader_with_the_command_that_corrects_it(tmp_path: Path) -> None:
    configuration = tmp_path / "nbgrader_config.py"
    configuration.write_text("from grader.nbgrader import configure\n\nconfigure(get_config())\n", encoding="utf-8")
    command = [sys.executable, "-m", "nbgrader", "db", "student", "list"]
    stopped = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert stopped.returncode == 1
    [correct] = re.findall("sed .*", stopped.stderr)
    subprocess.run(correct, shell=True, cwd=tmp_path, check=True)
    assert configuration.read_text("utf-8").startswith("from grader.integrations.nbgrader import configure\n")
