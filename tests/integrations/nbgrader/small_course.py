"""A small course in nbgrader, with a cell of each kind, and nbgrader's own converters to run on it."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from traitlets.config import Config

from grader.integrations.nbgrader import configure
from grader.integrations.nbgrader.nbgrader_grading import Session
from grader.integrations.nbgrader.nbgrader_reading import SubmissionExporter

UNIT = "positional_encoding"
"""The name of a unit of the course; the cells are not of that unit."""


def marked(grade_id: str, source: str, kind: str = "code", **marks: Any) -> NotebookNode:
    """A cell with nbgrader's metadata, in which `marks` are set."""
    unset = {"grade": False, "locked": False, "solution": False, "task": False}
    metadata = {"nbgrader": {"schema_version": 3, "grade_id": grade_id, **unset, **marks}}
    make: Any = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    return make(source, metadata=metadata, id=grade_id)


def answer(grade_id: str, source: str) -> NotebookNode:
    return marked(grade_id, source, solution=True)


def graded(grade_id: str) -> NotebookNode:
    return marked(f"test_{grade_id}", f"# {grade_id} is graded later.", grade=True, locked=True, points=2)


def text(source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id="text-" + "".join(filter(str.isalnum, source)))


def in_the_place_of(stub: str, solution: str) -> str:
    return f"### BEGIN SOLUTION in the place of: {stub}\n{solution}\n### END SOLUTION"


ADD = "def add(a, b):\n    ### BEGIN SOLUTION\n    return a + b\n    ### END SOLUTION"
SCALE = "class Scale:\n    ### BEGIN SOLUTION\n    factor = 2\n    ### END SOLUTION"
SOURCE = [
    text("# A small unit"),
    marked("imports", "import torch", locked=True),
    text("## Add"),
    answer("add", ADD),
    graded("add"),
    text("## Scale"),
    answer("Scale", SCALE),
    graded("Scale"),
    answer("from_other", in_the_place_of("from other import Other", "class Other:\n    pass")),
    marked("given", "given = [1, 2, 3]", locked=True),
    answer("quiz_which", in_the_place_of("answer_1 = ...", 'answer_1 = "b"')),
    graded("quiz_which"),
    answer("quiz_more", in_the_place_of("answer_2 = ...", "answer_2 = (2, 4)")),
    graded("quiz_more"),
    marked("essay", "It adds.", "markdown", grade=True, solution=True, points=3),
    marked("sketch", "draw()", grade=True, solution=True, points=3),
    marked("project", "Do something of your own.", "markdown", task=True, locked=True, points=5),
]


class ReadingExporter(SubmissionExporter):
    """An exporter that accepts other points than the course's, because nothing is graded here."""

    def begin(self, unit: str) -> Session:
        self.release_notebook(unit)
        return Session(self.course, unit, self.allow_unisolated, self.decisions)


class SmallCourse:
    """An nbgrader course in a folder, whose only assignment has been generated. `release`: its notebook."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = Config()
        configure(self.config)
        self.config.CourseDirectory.root = str(folder)
        self.config.CourseDirectory.assignment_id = UNIT
        self.config.Autograde.exporter_class = ReadingExporter
        self.config.Autograde.autograde_preprocessors = [
            "nbgrader.preprocessors.SaveAutoGrades",
            "nbgrader.preprocessors.CheckCellMetadata",
        ]
        self.source = folder / "source" / UNIT / f"{UNIT}.ipynb"
        self.source.parent.mkdir(parents=True)
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=SOURCE, metadata=kernel), self.source)
        self.generate()
        self.release_path = folder / "release" / UNIT / f"{UNIT}.ipynb"
        self.release = nbformat.read(self.release_path, as_version=4)

    def generate(self, **settings: Any) -> None:
        """Generate the assignment, again if it exists. Raises NbGraderException."""
        config = Config({**self.config, **settings, "GenerateAssignment": {**self.config.GenerateAssignment}})
        config.GenerateAssignment.force = True
        with pytest.MonkeyPatch.context() as patch:  # nbgrader runs a program from the folder of Python
            patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
            GenerateAssignment(coursedir=CourseDirectory(config=config), config=config).start()

    def handed_in(self, student: str, name: str = f"{UNIT}.ipynb") -> Path:
        """Where a student's notebook belongs."""
        path = self.folder / "submitted" / student / UNIT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def autograde(self, student: str = "*") -> None:
        """Autograde the submissions. An error with any of them is raised at the end."""
        self.config.CourseDirectory.student_id = student
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of how nbgrader itself uses SQLAlchemy
            Autograde(coursedir=CourseDirectory(config=self.config), config=self.config).start()

    def autograded(self, student: str) -> NotebookNode:
        return nbformat.read(self.folder / "autograded" / student / UNIT / f"{UNIT}.ipynb", as_version=4)

    def feedback(self, student: str) -> str:
        """The page of feedback on a student's notebook, which was autograded."""
        self.config.CourseDirectory.student_id = student
        GenerateFeedback(coursedir=CourseDirectory(config=self.config), config=self.config).start()
        return (self.folder / "feedback" / student / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")
