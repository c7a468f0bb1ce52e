"""Reads the code of a notebook and its answers to the quiz.

None of it is run or parsed as Python. Whatever the JSON contains, the result is text and sentences, or an
UnreadableError.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.submissions.conflicts import cells_of, sides_of
from grader.submissions.kinds import as_notebook
from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_remarked, size_text, unix_lines
from grader.submissions.source import DEFINITION, UnitSource
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from grader.submissions.plain_files import Tree

CODE_LIMIT = 1 * MEGABYTE
"""The most bytes of one unit's code, in a notebook or in a script."""
NOTEBOOK_LIMIT = 64 * MEGABYTE
"""The most bytes of a notebook, with outputs and pictures."""
NOTEBOOK_VALUES = 8_000_000
"""The most values of a notebook. Parsed JSON can take 25 times the memory of its text; this is half a gigabyte."""

MOST_NAMED = 8
"""How many definitions in text cells a remark names."""

ANSWER = re.compile(r"^answer_([0-9]{1,4})[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
"""The beginning of a line that answers a question of the quiz, up to the answer."""
QUIZ_MARK = "quiz_"
"""The prefix of the grade_id of a cell for an answer, before the name of the item."""
NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""Characters that JSON can encode but a text file cannot contain: zero, and half of a surrogate pair."""

CHECK_MAGIC = "check"
"""The magic that runs the visible tests in a notebook: `%check EXERCISE`."""
MAGICS = (CHECK_MAGIC, "hint", "show")
"""All magics of the grader. A cell with nothing else is no part of an answer."""

_CHECK = re.compile(rf"%(?:load_ext[ \t]+grader|{'|'.join(MAGICS)})\b")
_BLANK_ANSWER = re.compile(r"answer_[0-9]+\s*(?::[^=]*)?=\s*(?:(?:\.\.\.|None|\"\"|'')\s*)?(?:#.*)?")
_CLOSING = re.compile(r"[)\]}]")
# The first line of a definition that is code, and no sentence.
_DEFINED = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)[ \t]*(?:\(|:[ \t]*$)", re.MULTILINE)
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Cells(NamedTuple):
    """All cells of a notebook unchanged, and sentences for the student."""

    cells: list[Any]
    remarks: tuple[str, ...]


class Notebook(NamedTuple):
    """The code of a notebook, and its cells with answers to the quiz, if it has any."""

    code: UnitSource
    quiz: UnitSource


def read_notebook(folder: Path | Tree, relative: str) -> Notebook | None:
    """Read the notebook `relative` below `folder`; None if there is no such file. Raises UnreadableError."""
    read = read_all_cells(folder, relative)
    if read is None:
        return None
    cells: list[str] = []
    answers: list[str] = []
    texts: list[tuple[int, str]] = []
    grade_ids: list[str | None] = []
    damaged: list[int] = []
    code_size = 0
    for number, cell in enumerate(read.cells, start=1):
        if _is_text(cell):
            texts.append((number, source_of(cell) or ""))
            continue
        grade_id, is_test, source = grade_id_of(cell), _is_test(cell), _code(cell)
        if source is None:
            damaged += [] if is_test else [number]
            continue
        code_size += len(source)
        is_marked = grade_id is not None and grade_id.startswith(QUIZ_MARK)
        if is_marked or ANSWER.search(source):
            answers.append(source)
            grade_ids.append(grade_id)
        # Too much code is refused below: in lines it would take many times its memory.
        if code_size > CODE_LIMIT or is_check(source):
            cells.append("")  # so that the cells below keep their numbers
            continue
        # A student may have merged code into one of the course's own cells.
        if DEFINITION.search(source) or not (is_test or is_marked or _only_answers(source)):
            cells.append(source)
    if code_size > CODE_LIMIT:
        raise UnreadableError(
            f"{relative} holds {size_text(code_size)} of code; "
            f"at most {CODE_LIMIT // MEGABYTE} MB are read: hand in your code alone."
        )
    remarks = read.remarks
    if damaged:
        which = f"cell {damaged[0]}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")
        remarks = (*remarks, f"{relative} is damaged: {which} cannot be read; the rest is graded.")
    remarks = (*remarks, *_definitions_in_text(texts, cells, relative))
    quiz = UnitSource(relative, tuple(answers), grade_ids=tuple(grade_ids))
    return Notebook(UnitSource(relative, tuple(cells), remarks), quiz)


def _definitions_in_text(texts: Iterable[tuple[int, str]], code: Iterable[str], relative: str) -> tuple[str, ...]:
    """Return a remark on text cells, by their numbers, with definitions that no code cell has, if there are any."""
    is_read = {name for cell in code for name in DEFINITION.findall(cell)}
    found = [
        f"{name} (cell {number})"
        for number, text in texts
        if "```" not in text  # in a fence it is shown, and is not meant to be run
        for name in dict.fromkeys(_DEFINED.findall(text))
        if name not in is_read
    ]
    remark = (
        f"{relative} has text cells with code, which is not read: {listed(found, MOST_NAMED)}. Make them code cells."
    )
    return (remark,) if found else ()


def read_all_cells(folder: Path | Tree, relative: str) -> Cells | None:
    """Return all cells of a notebook unchanged; None if there is no such file. Raises UnreadableError."""
    read = read_remarked(folder, relative, NOTEBOOK_LIMIT)
    if read is None:
        return None
    values = read.text.count(",") + read.text.count("[") + read.text.count("{")
    if values > NOTEBOOK_VALUES:
        raise UnreadableError(f"{relative} holds too many values to be read: clear its outputs and save it.")
    read_cells = functools.partial(_all_cells, relative=relative)
    try:
        return Cells(read_cells(read.text), read.remarks)
    except UnreadableError:
        # Both sides are held in memory at once.
        conflict = sides_of(read.text) if values <= NOTEBOOK_VALUES // 2 else None
        if conflict is None:
            raise
    cells, remark = cells_of(conflict, relative, read_cells, _differs)
    return Cells(cells, (*read.remarks, remark))


def _all_cells(text: str, relative: str) -> list[Any]:
    notebook = as_notebook(text, relative)
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        if isinstance(cells, list):
            return cells
        worksheets = notebook.get("worksheets")  # nbformat 3
        if isinstance(worksheets, list):
            sheets = (sheet.get("cells") for sheet in worksheets if isinstance(sheet, dict))
            return [cell for cells in sheets if isinstance(cells, list) for cell in cells]
    raise UnreadableError(f"{relative} is not a notebook (it has no cells): open it in Jupyter and save it again.")


def _differs(cell: Any, other: Any) -> bool:
    """Return whether two versions of a cell are different code."""
    are_text = _is_text(cell) and _is_text(other)
    return not are_text and (source_of(cell), marks_of(cell)) != (source_of(other), marks_of(other))


def source_of(cell: Any) -> str | None:
    """Return the text of a cell of any type; None if it has none. Lines end in a newline."""
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", cell.get("input"))  # nbformat 3 says "input"
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return unix_lines(source) if isinstance(source, str) else None


def marks_of(cell: Any) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; {} if it has none that can be read."""
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return marks if isinstance(marks, dict) else {}


def grade_id_of(cell: Any) -> str | None:
    """Return the name that nbgrader's metadata give a cell; None if it is invalid."""
    grade_id = marks_of(cell).get("grade_id")
    return grade_id if isinstance(grade_id, str) and _GRADE_ID.fullmatch(grade_id) else None


def is_check(source: str) -> bool:
    """Return whether a cell only runs magics of the grader, so that it is no part of an answer."""
    lines = code_lines([source])
    return bool(lines) and all(map(_CHECK.match, lines))


def code_lines(cells: Iterable[str]) -> list[str]:
    """Return the lines that are neither blank nor a comment. A stub has the same as a script and as a notebook."""
    lines = (line.rstrip() for cell in cells for line in cell.split("\n"))
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def answer_lines(cells: Iterable[str]) -> list[str]:
    """Return the lines of a notebook's quiz cells that hold an answer; none in an untouched notebook."""
    return [line for line in code_lines(cells) if ANSWER.match(line) and not _BLANK_ANSWER.fullmatch(line)]


def _code(cell: Any) -> str | None:
    """Return the text of a code cell; None if it is damaged."""
    source = source_of(cell)
    if source is None or NO_TEXT.search(source):
        return None
    return source if cell.get("cell_type") == "code" or _is_answer(cell) else None


def _is_text(cell: Any) -> bool:
    """Return whether a cell is text, and not an answer that became text by accident."""
    is_text = isinstance(cell, dict) and cell.get("cell_type") in ("markdown", "raw", "heading")
    return is_text and not _is_answer(cell)


def _is_answer(cell: Any) -> bool:
    """Return whether a cell was released for code. A keypress in Jupyter can turn it into text; the metadata stay."""
    marks = marks_of(cell)
    return marks.get("solution") is True and marks.get("cell_type", "code") == "code"


def _is_test(cell: Any) -> bool:
    """Return whether a cell is one of the course's own tests for nbgrader."""
    marks = marks_of(cell)
    return marks.get("grade") is True and marks.get("solution") is False


def _only_answers(source: str) -> bool:
    """Return whether a cell contains only answers to the quiz. Indented lines belong to the line above them."""
    lines = [line for line in code_lines([source]) if not line[0].isspace() and not _CLOSING.match(line)]
    return bool(lines) and all(ANSWER.match(line) for line in lines)
