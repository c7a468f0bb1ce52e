"""What is in a notebook: its code, its answers to the quiz, and what of it is damaged.

It is told from the notebook's text alone. Nothing of it is run or parsed as Python, and whatever the JSON holds, what
comes out is text and sentences, or an UnreadableError.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.submissions.plain_files import MEGABYTE, Tree, UnreadableError, read_text, size_text, unix_lines

CODE_LIMIT = 1 * MEGABYTE
"""Of one unit's code, in a notebook or in a script."""
NOTEBOOK_LIMIT = 64 * MEGABYTE
"""Notebooks carry their outputs, pictures included."""
NOTEBOOK_VALUES = 8_000_000
"""Parsed JSON can take 25 times the room of its text; so many values take about half a gigabyte at most."""

ANSWER = re.compile(r"^answer_([0-9]{1,4})[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
"""A line of a notebook that answers a question of the quiz, up to the answer."""
QUIZ_MARK = "quiz_"
"""So begins the grade_id of a cell for an answer; the name of the item follows."""
NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""JSON can spell what no text file holds: a zero, or one half of a surrogate pair."""

_BLANK_ANSWER = re.compile(r"answer_[0-9]+\s*(?::[^=]*)?=\s*(?:(?:\.\.\.|None|\"\"|'')\s*)?(?:#.*)?")
_CLOSING = re.compile(r"[)\]}]")
_DEFINITION = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORT = re.compile(r"(?:^|;[ \t]*)(?:from[ \t]+[\w.]+[ \t]+)?import\b[ \t]*(\([^()]*\)|[^;\n]*)", re.MULTILINE)
_CELL_START = re.compile(r"^# %%(.*)\n?", re.MULTILINE)
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True)
class Notebook:
    """The code cells of the notebook `relative`, its cells with answers to the quiz, and remarks for the student.

    Of the quiz, each cell comes with its grade_id, or None where that is none. Lines end in "\\n".
    """

    relative: str
    cells: tuple[str, ...]
    quiz_cells: tuple[tuple[str | None, str], ...]
    remarks: tuple[str, ...] = ()


def read_notebook(folder: Path | Tree, relative: str) -> Notebook | None:
    """Read the notebook `relative` beneath `folder`; None where there is none. Raises UnreadableError."""
    all_cells = read_all_cells(folder, relative)
    if all_cells is None:
        return None
    cells: list[str] = []
    quiz_cells: list[tuple[str | None, str]] = []
    damaged: list[int] = []
    code_size = 0
    for number, cell in enumerate(all_cells, start=1):
        if isinstance(cell, dict) and cell.get("cell_type") in ("markdown", "raw", "heading") and not _is_answer(cell):
            continue
        grade_id, is_test, source = grade_id_of(cell), _is_test(cell), _code(cell)
        if source is None:
            if not is_test:
                damaged.append(number)
            continue
        code_size += len(source)
        is_marked = grade_id is not None and grade_id.startswith(QUIZ_MARK)
        if is_marked or ANSWER.search(source):
            quiz_cells.append((grade_id, source))
        # Code that was merged into one of the course's own cells is a student's all the same.
        if _DEFINITION.search(source) or not (is_test or is_marked or _only_answers(source)):
            cells.append(source)
    if code_size > CODE_LIMIT:
        raise UnreadableError(
            f"{relative} holds {size_text(code_size)} of code; "
            f"at most {CODE_LIMIT // MEGABYTE} MB are read: hand in your code alone."
        )
    remarks: tuple[str, ...] = ()
    if damaged:
        which = f"cell {damaged[0]}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")
        remarks = (f"{relative} is damaged: {which} cannot be read; the rest is graded.",)
    return Notebook(relative, tuple(cells), tuple(quiz_cells), remarks)


def read_all_cells(folder: Path | Tree, relative: str) -> list[Any] | None:
    """All cells of a notebook, as they stand in it; None where there is no such file. Raises UnreadableError."""
    text = read_text(folder, relative, NOTEBOOK_LIMIT)
    if text is None:
        return None
    if text.count(",") + text.count("[") + text.count("{") > NOTEBOOK_VALUES:
        raise UnreadableError(f"{relative} holds too many values to be read: clear its outputs and save it.")
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableError(
            f"{relative} is not a notebook (it is not JSON): open it in Jupyter and save it again."
        ) from None
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        if isinstance(cells, list):
            return cells
        worksheets = notebook.get("worksheets")  # nbformat 3
        if isinstance(worksheets, list):
            sheets = (sheet.get("cells") for sheet in worksheets if isinstance(sheet, dict))
            return [cell for cells in sheets if isinstance(cells, list) for cell in cells]
    raise UnreadableError(f"{relative} is not a notebook (it has no cells): open it in Jupyter and save it again.")


def source_of(cell: Any) -> str | None:
    """The text of a cell, of whatever type it is; None where it has none. Lines end in "\\n"."""
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", cell.get("input"))  # nbformat 3 says "input"
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return unix_lines(source) if isinstance(source, str) else None


def marks_of(cell: Any) -> dict[str, Any]:
    """What nbgrader's metadata say of a cell, whatever else may be wrong with it."""
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return marks if isinstance(marks, dict) else {}


def grade_id_of(cell: Any) -> str | None:
    """The name that nbgrader's metadata give a cell; None where it is none."""
    grade_id = marks_of(cell).get("grade_id")
    return grade_id if isinstance(grade_id, str) and _GRADE_ID.fullmatch(grade_id) else None


def healed(notebook: Notebook, stub: str) -> Notebook:
    """The notebook with what was deleted or doubled by accident put right, and a remark on what that changes.

    stub: the unit as students receive it, a script in percent format.
    """
    stub_cells = _percent_cells(stub)
    cells, remarks = _without_repeated_stubs(notebook.cells, stub_cells, notebook.relative)
    cells, further = _with_imports(cells, stub_cells, notebook.relative)
    return dataclasses.replace(notebook, cells=cells, remarks=(*notebook.remarks, *remarks, *further))


def code_lines(cells: Iterable[str]) -> list[str]:
    """The lines that are neither blank nor a comment: the same for a stub as a script and as a notebook."""
    lines = (line.rstrip() for cell in cells for line in cell.split("\n"))
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def answer_lines(cells: Iterable[tuple[str | None, str]]) -> list[str]:
    """The lines of a notebook's quiz cells that hold an answer; none in an untouched notebook."""
    lines = code_lines(source for _, source in cells)
    return [line for line in lines if ANSWER.match(line) and not _BLANK_ANSWER.fullmatch(line)]


def imported_names(code: str) -> Iterator[str]:
    """The names that code imports at the margin."""
    for imports in _IMPORT.findall(code):
        for part in re.sub("#.*", "", imports).strip("() \t").split(","):
            if words := part.split():
                yield words[-1] if "as" in words else words[0].partition(".")[0]


def _code(cell: Any) -> str | None:
    """The text of a code cell; None where it is damaged."""
    source = source_of(cell)
    if source is None or NO_TEXT.search(source):
        return None
    return source if cell.get("cell_type") == "code" or _is_answer(cell) else None


def _is_answer(cell: Any) -> bool:
    """Whether a cell was released for code. One key pressed in Jupyter makes text of it, and leaves these marks."""
    marks = marks_of(cell)
    return marks.get("solution") is True and marks.get("cell_type", "code") == "code"


def _is_test(cell: Any) -> bool:
    """Whether a cell is the course's own, for nbgrader to give points in."""
    marks = marks_of(cell)
    return marks.get("grade") is True and marks.get("solution") is False


def _only_answers(source: str) -> bool:
    """Whether a cell answers the quiz and does nothing else. What is indented goes on with the line above it."""
    lines = [line for line in code_lines([source]) if not line[0].isspace() and not _CLOSING.match(line)]
    return bool(lines) and all(ANSWER.match(line) for line in lines)


def _percent_cells(script: str) -> list[str]:
    """The code cells of a script in percent format."""
    first, *others = _CELL_START.split(script)
    marked = zip(others[::2], others[1::2], strict=True)
    cells = [first, *(cell for mark, cell in marked if "[markdown]" not in mark)]
    return [cell.strip("\n") for cell in cells if cell.strip()]


def _without_repeated_stubs(
    cells: Sequence[str], stub_cells: list[str], relative: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cells, those blank that repeat what the stub leaves open and another cell has written; and a remark."""
    unwritten = {
        tuple(code_lines([cell])): set(_DEFINITION.findall(cell))
        for cell in stub_cells
        if "NotImplementedError" in cell and _DEFINITION.search(cell)
    }
    opens = [unwritten.get(tuple(code_lines([cell])), set()) for cell in cells]
    places: dict[str, int] = {}  # the first cell that writes each name
    for number, cell in enumerate(cells):
        if not opens[number]:
            for name in _DEFINITION.findall(cell):
                places.setdefault(name, number)
    # They stay as blank cells, so that cells are counted as in the notebook.
    kept = tuple("" if names and names <= places.keys() else cell for cell, names in zip(cells, opens, strict=True))
    below = [
        name
        for number, names in enumerate(opens)
        for name in sorted(names)
        if names <= places.keys() and places[name] < number
    ]
    return kept, tuple(
        f"{relative} has an unwritten {name} below the one that you wrote: yours is graded."
        for name in dict.fromkeys(below)
    )


def _with_imports(
    cells: Sequence[str], stub_cells: list[str], relative: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cells, below the stub's imports where they need one that was deleted; and a remark."""
    code = "\n".join(cells)
    bound = set(imported_names(code))
    code = _IMPORT.sub("", code)
    lacking: list[str] = []
    brought: list[str] = []
    for cell in stub_cells:
        unbound = [name for name in imported_names(cell) if name not in bound and _needs(code, name)]
        if unbound and all(map(_IMPORT.fullmatch, code_lines([cell]))):
            lacking += unbound
            brought.append(cell)
    if not brought:
        return tuple(cells), ()
    return ("\n".join(brought), *cells), (
        f"{relative} does not import {' and '.join(lacking)}, as the notebook that you received does: that was done "
        "first, and where cells are counted it is cell 1.",
    )


def _needs(code: str, name: str) -> bool:
    """Whether code without its imports speaks of a name, but has no line at the margin that defines or assigns it."""
    binds = rf"^(?:(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*=)"
    return bool(re.search(rf"\b{name}\b", code)) and not re.search(binds, code, re.MULTILINE)
