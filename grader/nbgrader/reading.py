"""How `nbgrader autograde` reads what students handed in: whatever it is, nobody is left without a grade."""

from __future__ import annotations

import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException

from grader.nbgrader.repair import grade_id
from grader.notebook import CODE_LIMIT, NO_TEXT, read_all_cells, source_of
from grader.plain_files import UnreadableError

if TYPE_CHECKING:
    from nbgrader.coursedir import CourseDirectory

    from grader.nbgrader.grading import Session

MOST_CELLS = 1000
"""nbgrader looks at every cell many times over, and its pages show them all."""


class SubmissionExporter(NotebookExporter):
    """Reads a submitted notebook; one that cannot be read counts as the untouched release. Its parent is Autograde."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._releases: dict[Path, NotebookNode] = {}

    @property
    def coursedir(self) -> CourseDirectory:
        """Where the files of the nbgrader course lie."""
        autograde: Any = self.parent
        return autograde.coursedir

    @cached_property
    def grading(self) -> Session:
        """What grades all submissions of this run; it ends with the run."""
        from grader.nbgrader.grading import Session

        session = Session()
        weakref.finalize(self, session.close)
        return session

    def release_notebook(self, resources: dict[str, Any]) -> NotebookNode:
        """The notebook as students received it. Raises NbGraderException where it is not there."""
        names = resources["nbgrader"]
        path = self._folder(self.coursedir.release_directory, ".", names) / f"{names['notebook']}.ipynb"
        if path not in self._releases:
            try:
                release = nbformat.read(path, as_version=4)
            except (OSError, nbformat.reader.NotJSONError) as error:
                why = getattr(error, "strerror", None) or "it is not JSON"
                unit = names["assignment"]
                raise NbGraderException(
                    f"{path} cannot be read ({why}): run `nbgrader generate_assignment {unit}`."
                ) from None
            for number, cell in enumerate(release.cells, start=1):
                cell.setdefault("id", f"release-{number}")
            release.nbformat_minor = 5
            self._releases[path] = release
        return self._releases[path]

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **settings: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Convert a notebook: the submitted one, or the one that was made of it in autograded/."""
        path = Path(filename)
        if resources is None or path.parent != self._folder(
            self.coursedir.submitted_directory, resources["nbgrader"]["student"], resources["nbgrader"]
        ):
            try:
                return super().from_filename(filename, resources, **settings)
            finally:
                if resources and self._is_last(resources["nbgrader"]):
                    self.grading.close()
        notebook = self.release_notebook(resources)
        # Reached from the student's own folder, so that no link on the way is followed.
        folder, relative = path.parent.parent, f"{path.parent.name}/{path.name}"
        try:
            cells = read_all_cells(folder, relative)
            if cells is None:
                raise UnreadableError(f"{relative} is missing: hand it in.")
        except UnreadableError as error:
            self.log.warning("%s: %s The release notebook takes its place.", resources["nbgrader"]["student"], error)
        else:
            notebook = NotebookNode(nbformat=4, nbformat_minor=5, metadata=notebook.metadata, cells=_clean(cells))
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        return self.from_notebook_node(notebook, resources, **settings)

    def _is_last(self, names: dict[str, str]) -> bool:
        """Whether no submission follows. The formgrader's process goes on for days, and the engine must not."""
        autograde: Any = self.parent
        submitted = self._folder(self.coursedir.submitted_directory, names["student"], names)
        return submitted == Path(max(autograde.assignments))

    def _folder(self, step: str, student: str, names: dict[str, str]) -> Path:
        return Path(self.coursedir.format_path(step, student, names["assignment"]))


def expect_notebook(assignment: str, student: str, notebooks: list[str]) -> None:  # noqa: ARG001
    """See to it that a submission without the notebook that it should have gets a grade as well.

    nbgrader's pre_convert_hook. It is given the very list that is converted: where it names only notebooks that are
    not known, the one that is missing takes their place.
    """
    folder = Path(notebooks[0]).parent
    expected = str(folder / f"{folder.name}.ipynb")
    if expected not in notebooks:
        notebooks[:] = [expected]


def _clean(cells: list[Any]) -> list[NotebookNode]:
    """Those cells that have a text, and nothing of them but it, their type and their grade_id."""
    room = dict.fromkeys(("code", "markdown", "raw"), CODE_LIMIT)
    clean: list[NotebookNode] = []
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict) or len(clean) == MOST_CELLS:
            continue
        kind, source = cell.get("cell_type"), source_of(cell)
        if kind == "heading":  # of nbformat 3
            kind = "markdown"
        if not isinstance(kind, str) or source is None or len(source) > room.get(kind, -1):
            continue
        room[kind] -= len(source)
        name = grade_id(cell)
        own = {
            "id": f"submitted-{number}",
            "cell_type": kind,
            "metadata": {"nbgrader": {"grade_id": name}} if name else {},
            "source": NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", source),
        }
        clean.append(nbformat.from_dict(own | ({"outputs": [], "execution_count": None} if kind == "code" else {})))
    return clean
