"""The course as others receive it. So far: the source of an nbgrader course."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.build import BuildError, read_source
from grader.course import ROOT
from grader.files import write_atomically

if TYPE_CHECKING:
    from nbformat import NotebookNode

# To nbgrader a test cell that says nothing has earned full marks. Should its own Execute ever run this cell,
# the error makes it zero instead: the points come from `grader` alone.
TEST_CELL = """\
# This exercise is graded after you have handed in.
### BEGIN HIDDEN TESTS
raise RuntimeError("graded by `grader`, not by nbgrader's Execute")
### END HIDDEN TESTS"""

CONFIGURATION = """\
c = get_config()
c.CourseDirectory.course_id = "attention_from_scratch"
"""


class ReleaseError(Exception):
    """A release that cannot be made; one sentence that says why and what to do."""


def release_nbgrader(directory: Path, possible: dict[str, dict[str, int]], root: Path = ROOT) -> list[Path]:
    """Write the source of an nbgrader course: source/<unit>/<unit>.ipynb for every unit of `possible`.

    `possible` maps unit to exercise to points. The instructor then runs `nbgrader generate_assignment <unit>`
    in `directory`. An nbgrader_config.py that is already there stays as it is. Returns the files written;
    raises ReleaseError before the first of them when the units and their sources do not fit together.
    """
    if directory.exists() and not directory.is_dir():
        raise ReleaseError(f"{directory} is a file: name a directory for the nbgrader course.")
    files = {
        directory / "source" / unit / f"{unit}.ipynb": _notebook(root / "solutions" / f"{unit}.py", points)
        for unit, points in possible.items()
    }
    configuration = directory / "nbgrader_config.py"
    if not configuration.exists():
        files[configuration] = CONFIGURATION
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    return list(files)


def _notebook(source: Path, points: dict[str, int]) -> str:
    """Turn a unit's source into the text of a notebook with one test cell below each exercise."""
    import nbformat

    try:
        read = read_source(source)
    except BuildError as error:
        raise ReleaseError(str(error)) from error
    cells = []
    exercises = []
    for cell in read.cells:
        cells.append(cell)
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution"):
            exercises.append(marks["grade_id"])
            cells.append(_test_cell(marks["grade_id"], points.get(marks["grade_id"], 0)))
    if set(exercises) != set(points):
        wrong = ", ".join(sorted(set(exercises) ^ set(points)))
        raise ReleaseError(
            f"solutions/{source.name} and the course do not name the same exercises ({wrong}): "
            "mend the one that is wrong."
        )
    for position, cell in enumerate(cells):
        # Ids that stay the same from one release to the next, where jupytext draws them at random.
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"text-{position}")
        cell.metadata.pop("lines_to_next_cell", None)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _test_cell(exercise: str, points: int) -> NotebookNode:
    import nbformat

    marks = {
        "schema_version": 3,
        "grade_id": f"test_{exercise}",
        "grade": True,
        "locked": True,
        "solution": False,
        "points": points,
    }
    return nbformat.v4.new_code_cell(TEST_CELL, metadata={"nbgrader": marks})
