"""Puts the stub of one exercise back into a student's script or notebook, and keeps the old file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.files import write_atomically
from grader.practice.backups import back_up
from grader.practice.check import unit_of_exercise
from grader.practice.definitions import NotFound, NotPython, added, definition, replaced
from grader.submissions.archives import Folder
from grader.submissions.names import places
from grader.submissions.notebook import NOTEBOOK_LIMIT, source_of
from grader.submissions.reader import read_submission
from grader.submissions.source import DEFINITION
from grader.submissions.tree import UnreadableError, read_bytes

if TYPE_CHECKING:
    import datetime

    from grader.course.model import Course

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Reset:
    """What a reset did.

    Attributes:
        file: The student's file, relative to the folder.
        backup: The old file; None if the exercise was as students receive it, so nothing was written.
    """

    file: str
    backup: Path | None


def reset(course: Course, folder: Path, exercise: str, now: datetime.datetime) -> Reset:
    """Put the stub of an exercise back, where the student wrote an answer. Everything else of the file is kept.

    Args:
        course: The course.
        folder: The student's folder.
        exercise: The exercise's name.
        now: The time, which the backup is named after.

    Raises:
        GraderError: There is no such exercise or file, or its end in the file is not clear. Nothing is changed.
        OSError: A file cannot be written. The student's file is unchanged.
    """
    unit = unit_of_exercise(exercise, course)
    file = _file_of(course, folder, unit)
    stub_file = received(course, folder / file, unit)
    stub = definition(stub_file, exercise)
    above = DEFINITION.findall(stub_file.partition(stub)[0])
    try:
        content = read_bytes(folder, file, NOTEBOOK_LIMIT) or b""
        text = content.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        if file.endswith(".ipynb"):
            changed = _with_stub_in_cell(text, exercise, stub)
        else:
            changed = _with_stub(text, exercise, stub, above)
    except NotPython as error:
        raise GraderError(
            f"{file}, line {error.line}, is not Python ({error}), so nothing was changed: fix this line first."
        ) from None
    except UnreadableError as error:
        raise GraderError(f"Nothing was changed: {error}") from None
    except ValueError:
        kind = "a notebook" if file.endswith(".ipynb") else "text in UTF-8"
        raise GraderError(f"{file} is not {kind}, so nothing was changed: save it again in your editor.") from None
    if changed == text:
        return Reset(file, None)
    backup = back_up(folder, Path(file), content, now)
    mark = _BYTE_ORDER_MARK if content.startswith(_BYTE_ORDER_MARK.encode()) else ""
    write_atomically(folder / file, (mark + changed).encode())
    return Reset(file, backup)


def _file_of(course: Course, folder: Path, unit: str) -> str:
    """Return the path of the file in which a student answers a unit. Raises GraderError."""
    found = [path for path in places(Folder(folder), unit, f"{unit}.py") if (folder / path).is_file()]
    if not found:
        raise GraderError(
            f"{unit}.py is missing here: get it again, with `git restore` or from your instructor. If your answers are "
            "in a file with another name, rename it."
        )
    if len(found) > 1:  # the one that is graded
        code = read_submission("student", folder, [unit], course.exercises).units[unit].code
        found.sort(key=lambda path: code is None or path != code.path)
    return found[0]


def received(course: Course, file: Path, unit: str) -> str:
    """Return a unit's script as students receive it. Raises GraderError if the student's file is all there is of it."""
    path = course.exercises / f"{unit}.py"
    if file.exists() and path.samefile(file):
        raise GraderError(f"{path} holds your own answers, so its stub is not known: leave out --course.")
    return path.read_text(encoding="utf-8")


def _with_stub(text: str, exercise: str, stub: str, above: list[str]) -> str:
    """Return a script with the stub of an exercise. Raises NotPython."""
    try:
        return replaced(text, exercise, stub)
    except NotFound:
        return added(text, stub, above)


def _with_stub_in_cell(text: str, exercise: str, stub: str) -> str:
    """Return a notebook with the stub of an exercise in the cell that defines it. Raises GraderError, ValueError."""
    notebook: Any = json.loads(text)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("no cells")
    cells = [cell for cell in notebook["cells"] if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    stub = stub.removesuffix("\n")
    for number, cell in reversed(list(enumerate(cells, start=1))):
        source = source_of(cell)
        if source is None or exercise not in DEFINITION.findall(source):
            continue
        try:
            changed = replaced(source, exercise, f"{stub}\n").removesuffix("\n")
        except NotFound:  # only in a text
            continue
        except NotPython as error:
            raise GraderError(
                f"Code cell {number}, line {error.line}, is not Python ({error}), so nothing was changed: fix it first."
            ) from None
        cell["source"] = changed if isinstance(cell.get("source"), str) else changed.splitlines(keepends=True)
        # As Jupyter writes it.
        return text if changed == source else json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    raise GraderError(f"No cell defines {exercise}, so nothing was changed: make a code cell with this:\n\n{stub}")
