"""Writes the source of an nbgrader course. What an instructor has added or edited stays, and old notebooks are kept."""

from __future__ import annotations

import datetime
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.files import write_atomically
from grader.integrations.nbgrader.merge import Merge
from grader.integrations.nbgrader.release import CONFIGURATION, configuration_of, notebooks_of
from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from grader.course.model import Course
    from grader.reports.scoring import Rubric

HISTORY = "source_history"
"""The folder of earlier notebooks. It is beside source/, whose files students receive."""
AS_RELEASED = "as_released"
"""The folder in HISTORY with each notebook as the last release made it. What differs from it is the instructor's."""


@dataclass
class Released:
    """What a release did.

    Attributes:
        written: The files that are new.
        replaced: The notebooks that changed, and where the old ones are.
        kept: Sentences on texts of the instructor's that the course has changed too.
    """

    written: list[Path] = field(default_factory=list)
    replaced: dict[Path, Path] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


def release_nbgrader(directory: Path, course: Course, rubric: Rubric) -> Released:
    """Write the source of an nbgrader course: source/<unit>/<unit>.ipynb for every unit, and nbgrader_config.py.

    A notebook that is there is merged with the new one. An existing nbgrader_config.py is not changed.

    Raises:
        ReleaseError: The units do not match their sources, or a cell cannot be merged. Nothing was written.
    """
    if directory.exists() and not directory.is_dir():
        raise ReleaseError(f"{directory} is a file: name a directory for the nbgrader course.")
    updates = [_Update(directory, unit, notebook) for unit, notebook in notebooks_of(course, rubric).items()]
    if refused := [sentence for update in updates for sentence in update.refused]:
        raise ReleaseError("\n".join(["Nothing was written.", *refused]))
    released = Released(kept=[sentence for update in updates for sentence in update.kept])
    earlier = _new_folder(directory / HISTORY)
    for update in updates:
        update.write(earlier, released)
    configuration = directory / CONFIGURATION
    if not configuration.exists():
        write_atomically(configuration, configuration_of(course))
        released.written.append(configuration)
    return released


def next_commands(directory: Path, units: list[str]) -> list[str]:
    """Return nbgrader's commands that bring its files up to date with the source; if they are, that begin a unit."""
    commands: list[str] = []
    for unit in units:
        made = directory / "release" / unit / f"{unit}.ipynb"
        if made.exists() and made.stat().st_mtime_ns < _source(directory, unit).stat().st_mtime_ns:
            commands.append(f"nbgrader generate_assignment {unit} --force")
            for command, folder in {"autograde": "autograded", "generate_feedback": "feedback"}.items():
                if any(directory.glob(f"{folder}/*/{unit}")):
                    commands.append(f"nbgrader {command} {unit} --force")
    fresh = (unit for unit in units if not (directory / "release" / unit).exists())
    return commands or [f"nbgrader generate_assignment {unit}" for unit in [next(fresh, None)] if unit]


class _Update:
    """The notebook of a unit in a course folder, and what becomes of it."""

    def __init__(self, directory: Path, unit: str, new: NotebookNode) -> None:
        self._path, self._base_path = _source(directory, unit), directory / HISTORY / AS_RELEASED / f"{unit}.ipynb"
        self._new = new
        self._own = own = read_notebook(self._path) if self._path.exists() else None
        self.refused: list[str] = []
        self.kept: list[str] = []
        self._merged: list[NotebookNode] = new.cells
        if own:
            base = read_notebook(self._base_path) if self._base_path.exists() else None
            merge = Merge(base.cells if base else None, own.cells, new.cells)
            self._merged = merge.cells
            self.refused = [f"{self._path}, {sentence}" for sentence in merge.refused]
            self.kept = [f"{self._path}, {sentence}" for sentence in merge.kept]
            if self.refused:
                self.refused.append(
                    f"The cells of the last release are in {self._base_path}."
                    if base
                    else f"There is no {self._base_path} to compare with: move {self._path} to another folder, release "
                    "again, and copy your own cells into the new notebook."
                )

    def write(self, earlier: Path, released: Released) -> None:
        """Write the notebook if it changes, after a copy of the old one."""
        if self._own is None:
            _write(self._path, self._new)
            released.written.append(self._path)
        elif self._own.cells != self._merged:
            kept = earlier / self._path.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, self._path.read_bytes())
            self._own.cells = self._merged
            _write(self._path, self._own)
            released.replaced[self._path] = kept
        # At the end: a release that is cut off is merged again by the next one.
        _write(self._base_path, self._new)


def _source(directory: Path, unit: str) -> Path:
    return directory / "source" / unit / f"{unit}.ipynb"


def _new_folder(parent: Path) -> Path:
    """Return a folder that does not exist, named by the current time."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d_%H%M%S")
    names = (f"{now}_{number}" if number else now for number in range(1000))
    return next(parent / name for name in names if not (parent / name).exists())


def read_notebook(path: Path) -> NotebookNode:
    """Return a notebook, with an id for each cell. Raises ReleaseError."""
    import nbformat

    line = ""
    try:
        with warnings.catch_warnings(action="ignore"):  # nbformat's, about the ids that it corrects
            notebook: NotebookNode = nbformat.read(path, as_version=4)
        if notebook.nbformat_minor < 5:
            notebook = nbformat.v4.upgrade(notebook)
        is_notebook = all(isinstance(cell.source, str) and isinstance(cell.metadata, dict) for cell in notebook.cells)
    except (OSError, ValueError, AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        is_notebook = False
        if isinstance(error.__cause__, json.JSONDecodeError):
            line = f":{error.__cause__.lineno}"
    if not is_notebook:
        raise ReleaseError(
            f"{path}{line} is not a notebook: correct it, or move it to another folder and release again."
        )
    return notebook


def _write(path: Path, notebook: NotebookNode) -> None:
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, f"{nbformat.writes(notebook)}\n")
