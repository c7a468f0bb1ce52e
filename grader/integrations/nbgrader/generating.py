"""How `nbgrader generate_assignment` reads a unit, and changes one on which students were graded."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader import preprocessors
from nbgrader.api import Comment, Grade, Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearOutput, ClearSolutions, IncludeHeaderFooter, NbGraderPreprocessor
from nbgrader.utils import find_all_files, is_grade, is_locked, is_solution, is_task
from sqlalchemy.exc import DatabaseError

from grader.errors import GraderError
from grader.integrations.nbgrader import IN_PLACE_OF, course_of
from grader.integrations.nbgrader.nbgrader_release import read_notebook
from grader.integrations.nbgrader.notebook_merge import described
from grader.integrations.release import ReleaseError
from grader.integrations.release.leaks import refuse, search, text_of
from grader.submissions.notebook import grade_id_of
from grader.text import ended, listed

_PICTURES = {".png": b"\x89PNG", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff", ".gif": b"GIF8"}
"""How the names of pictures end, and how their contents begin."""
_KINDS = {
    "grade_cells": is_grade,
    "solution_cells": is_solution,
    "task_cells": is_task,
    "source_cells": lambda cell: is_grade(cell) or is_solution(cell) or is_task(cell) or is_locked(cell),
}
"""The cells of a notebook in the gradebook, and which cells of a source they are."""


class SourceExporter(NotebookExporter):
    """Reads source notebooks. Its parent is GenerateAssignment.

    It raises NbGraderException if a notebook cannot be released, if students would receive a secret of the course in it
    or in a file beside it, or if a cell is gone on which students were graded. nbgrader refuses the last too, but with
    a traceback, and after it has removed the released notebook, without which nobody can be graded.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)  # type: ignore[no-untyped-call]
        generate: Any = self.parent
        paths = [Path(path) for paths in generate.assignments.values() for path in paths]
        course = course_of(generate.config)
        try:
            course.generated.bring_up_to_date()  # students have that, so it is no secret
            texts = [(str(path), self._released_text(path)) for path in paths]
            refuse(search([*texts, *self._texts_beside(paths)], course))
        except GraderError as error:
            self.log.error("Nothing was generated. %s", error)
            raise NbGraderException(str(error)) from None

    def _texts_beside(self, notebooks: list[Path]) -> Iterator[tuple[str, str]]:
        """Yield the texts that students receive around and beside the notebooks. Raise ReleaseError."""
        generate: Any = self.parent
        around = IncludeHeaderFooter(parent=generate)
        beside = [Path(name) for name in (around.header, around.footer) if Path(name).is_file()]
        beside += [
            path
            for folder in generate.assignments
            for path in map(Path, find_all_files(folder, generate.coursedir.ignore))
            if path not in notebooks
        ]
        for path in beside:
            content, beginning = path.read_bytes(), _PICTURES.get(path.suffix)
            if not (beginning and content.startswith(beginning)):
                yield str(path), text_of(str(path), content)

    def _released_text(self, path: Path) -> str:
        """Return a source notebook as students receive it. Raise ReleaseError if it cannot be generated."""
        generate: Any = self.parent
        notebook = read_notebook(path)
        # Each cell first, to name it.
        for cells in (*([cell] for cell in notebook.cells), notebook.cells):
            part = NotebookNode(metadata=notebook.metadata, cells=copy.deepcopy(cells))
            try:
                MetadataValidator().validate_nb(part)
                ClearAnswers(parent=generate)(part, {})  # does nothing if nbgrader's settings disable it
                ClearOutput(parent=generate)(part, {})
            except Exception as error:  # noqa: BLE001 - nbgrader raises many types
                where = f"{path}, {described(cells[0])}" if len(cells) == 1 else path
                problem = ended(str(getattr(error, "message", error)))
                raise ReleaseError(f"{where}: {problem} Correct it.") from None
        if not generate.no_database:
            with contextlib.suppress(DatabaseError):  # nbgrader says what is wrong with its database
                if gone := _gone(generate.coursedir, path, notebook):
                    raise ReleaseError(
                        f"Students were graded on cells that {path} no longer has: {listed(gone)}. Put them back: "
                        "nbgrader can only add cells now."
                    )
        return str(nbformat.writes(NotebookNode(notebook, cells=part.cells)))


class ClearAnswers(ClearSolutions):
    """Replaces a solution by the stub that its marker names: `### BEGIN SOLUTION in the place of: stub`.

    nbgrader's ClearSolutions clears such a cell too, but leaves its usual stub.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        begin, end = re.escape(self.begin_solution_delimeter), re.escape(self.end_solution_delimeter)
        # A solution that begins inside another is not matched: ClearSolutions reports that error.
        region = rf"^([ \t]*).*{begin}{IN_PLACE_OF}(.*)\n(?:(?!.*{begin}).*\n)*?.*{end}.*$"
        cell.source, count = re.subn(region, r"\1\2", cell.source, flags=re.MULTILINE)
        return super()._replace_solution_region(cell, language) or count > 0


class SaveCells(preprocessors.SaveCells):
    """Saves the cells of a notebook, and adds new ones to the submissions in the gradebook."""

    def _create_notebook(self, nb: NotebookNode) -> None:
        try:
            notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        except MissingEntry:
            pass
        else:
            if notebook.submissions:
                self._add("grade", notebook, self.new_grade_cells, Grade)
                self._add("solution", notebook, self.new_solution_cells, Comment)
                self._add("task", notebook, self.new_task_cells, Grade, Comment)
                self._add("source", notebook, self.new_source_cells)
        super()._create_notebook(nb)

    def _add(self, kind: str, notebook: Any, cells: Mapping[str, dict[str, Any]], *rows: Any) -> None:
        """Add the cells of a kind that the gradebook does not know, with empty rows in each submission."""
        known = {cell.name for cell in getattr(notebook, f"{kind}_cells")}
        create = getattr(self.gradebook, f"add_{kind}_cell")
        for name, about in cells.items():
            if name not in known:
                cell = create(name, self.notebook_id, self.assignment_id, **about)
                for submitted in notebook.submissions:
                    self.gradebook.db.add_all([row(cell_id=cell.id, notebook=submitted) for row in rows])
        self.gradebook.db.commit()


class SetDueDate(NbGraderPreprocessor):
    """Writes a unit's due date from autograder.yml into the gradebook."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write the due date; the notebook does not change."""
        about = resources["nbgrader"]
        unit = course_of(self.config).units.get(about["assignment"])
        if unit and not self.config.GenerateAssignment.get("no_database", False):
            with Gradebook(about["db_url"]) as gradebook:
                gradebook.update_or_create_assignment(about["assignment"], duedate=unit.due)
        return nb, resources


def _gone(place: CourseDirectory, path: Path, source: NotebookNode) -> list[str]:
    """Return the cells with submissions that a source notebook no longer has."""
    with Gradebook(place.db_url, place.course_id) as gradebook:
        try:
            notebook = gradebook.find_notebook(path.stem, path.parent.name)
        except MissingEntry:
            return []
        if not notebook.submissions:
            return []
        known = {kind: [cell.name for cell in getattr(notebook, kind)] for kind in _KINDS}
    here = {kind: {grade_id_of(cell) for cell in source.cells if test(cell)} for kind, test in _KINDS.items()}
    return list(dict.fromkeys(name for kind, names in known.items() for name in names if name not in here[kind]))
