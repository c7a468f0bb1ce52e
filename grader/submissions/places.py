"""Where a unit's files lie in a submission, what messages say where there are none, and the course's own files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.submissions.names import SHEET_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grader.submissions.tree import Files

FOLDER = "exercises"
"""The folder of a student's repository that holds all units."""


def filenames(unit: str) -> tuple[str, str, str]:
    """Return the names of a unit's script, notebook and sheet."""
    return f"{unit}.py", f"{unit}.ipynb", f"{unit}{SHEET_SUFFIX}"


def places(tree: Files, unit: str, name: str) -> list[str]:
    """List where the file `name` of a unit or its notebook may lie, in order of preference."""
    notebook = f"{unit}.ipynb"
    found = [name, notebook, f"{FOLDER}/{name}", f"{FOLDER}/{notebook}"]
    # nbgrader keeps a folder for each unit, made for the notebook.
    has_folder = tree.kind(unit) in ("folder", "link")
    return [*found, f"{unit}/{notebook}", f"{unit}/{name}"] if has_folder else found


def folders(tree: Files, units: Iterable[str]) -> list[str]:
    """List the folders that these places are in."""
    return ["", FOLDER, *(unit for unit in units if tree.kind(unit) == "folder")]


def missing_unit(unit: str) -> str:
    """Return the sentence on a unit that has no file."""
    return f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself, in {FOLDER}/ or in {unit}/."


def missing_sheet(unit: str) -> str:
    """Return the sentence on a quiz that has no sheet."""
    return f"{unit}{SHEET_SUFFIX} is missing: hand it in, in the folder itself or in {FOLDER}/."


@dataclass(frozen=True)
class CourseFiles:
    """The files of the folder of stubs and of the folder around it, by name."""

    stubs: Path

    def __contains__(self, name: str) -> bool:
        """Tell whether the course has a file of that name."""
        return self._find(name) is not None

    def text(self, name: str) -> str | None:
        """Return the text of the course's file of that name; None where it has none."""
        path = self._find(name)
        return path.read_text(encoding="utf-8") if path else None

    def _find(self, name: str) -> Path | None:
        return next((path for path in (self.stubs / name, self.stubs.parent / name) if path.is_file()), None)
