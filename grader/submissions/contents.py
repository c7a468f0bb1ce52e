"""Recognises by the code in a file, whatever its name, which unit it answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from grader.submissions.kinds import as_notebook
from grader.submissions.names import filenames
from grader.submissions.notebook import NOTEBOOK_LIMIT, source_of
from grader.submissions.plain_files import UnreadableError, read_text
from grader.submissions.source import DEFINITION
from grader.submissions.tree import Mount, View

if TYPE_CHECKING:
    from collections.abc import Collection

    from grader.submissions.names import CourseFiles
    from grader.submissions.tree import Found

_FEWEST = 2
"""So many exercises of another unit make code an answer to that one, if it has so many."""


def other_unit(code: str, unit: str, units: Collection[str], course_files: CourseFiles) -> str:
    """Return the other unit whose exercises code defines, if it names no exercise of `unit`; otherwise ""."""
    own, defined = _exercises(unit, course_files), set(DEFINITION.findall(code))
    if not own or own & defined:
        return ""
    fitting = [
        other
        for other in units
        if other != unit
        and (names := _exercises(other, course_files))
        and len(names & defined) >= min(_FEWEST, len(names))
    ]
    if not fitting or any(re.search(rf"\b{name}\b", code) for name in own):
        return ""
    return fitting[0]


def defines(code: str, unit: str, course_files: CourseFiles) -> bool:
    """Return whether code defines an exercise of a unit."""
    return not _exercises(unit, course_files).isdisjoint(DEFINITION.findall(code))


def code_in(file: Found) -> str:
    """Return the code of a script or a notebook; "" if it cannot be read."""
    try:
        return "\n".join(cells_of(text_of(file), file.path))
    except UnreadableError:
        return ""


def text_of(file: Found) -> str:
    """Return the text of a file. Raises UnreadableError."""
    view = View({file.path: Mount(file.tree, file.relative, file.path)})
    return read_text(view, file.path, NOTEBOOK_LIMIT) or ""


def cells_of(text: str, path: str) -> list[str]:
    """Return the code of a script as one cell, or that of each cell of a notebook. Raises UnreadableError."""
    if not path.lower().endswith(".ipynb"):
        return [text]
    notebook: Any = as_notebook(text, path)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    code = [one for one in cells or () if isinstance(one, dict) and one.get("cell_type") == "code"]
    return [source_of(one) or "" for one in code]


def _exercises(unit: str, course_files: CourseFiles) -> set[str]:
    return set(DEFINITION.findall(course_files.text(filenames(unit)[0]) or ""))
