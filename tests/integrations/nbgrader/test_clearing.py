"""How a cell's solutions are cleared where it names its own stub."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.preprocessors import ClearSolutions

from grader.integrations.nbgrader.clearing import ClearAnswers, SetDueDate

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


def test_the_stub_that_is_named_takes_the_place_of_the_solution() -> None:
    assert cleared(ANSWER) == "# One letter.\nanswer_1 = ...\n"


def test_nbgraders_own_preprocessor_clears_the_solution_as_well() -> None:
    assert cleared(ANSWER, ClearSolutions) == f"# One letter.\n{STUB}\n"


def test_the_stub_stands_where_the_solution_stood() -> None:
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
def test_a_solution_that_is_marked_wrongly_is_an_error(source: str) -> None:
    with pytest.raises(RuntimeError, match="solution"):
        cleared(source)


def test_an_assignment_that_is_no_unit_gets_no_due_date(tmp_path: Path) -> None:
    about = {"assignment": "a_party", "db_url": f"sqlite:///{tmp_path / 'gradebook.db'}"}
    SetDueDate().preprocess(nbformat.v4.new_notebook(), ResourcesDict(nbgrader=about))
    assert list(tmp_path.iterdir()) == []
