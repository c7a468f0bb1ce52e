"""Reads the code of a notebook and its answers to the quiz, and repairs what was deleted, copied or left unmerged.

None of it is run or parsed as Python. Whatever the JSON contains, the result is text and sentences, or an
UnreadableError.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

from grader.submissions.file_text import as_notebook, read_remarked, unix_lines
from grader.submissions.submission import DEFINITION, UnitSource
from grader.submissions.tree import MEGABYTE, Files, UnreadableError, size_text
from grader.text import listed

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

METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}
"""Of every notebook that the grader writes."""
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

_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?![<|=>]).*\n?", re.MULTILINE)
# The markers of one conflict; the second is there if git shows the common ancestor.
_ORDERS = ("<=>", "<|=>")
_MOST_MARKERS, _MOST_LINES = 1000, 2_000_000
_MOST_NAMED = 5

_IMPORT = re.compile(r"(?:^|;[ \t]*)(?:from[ \t]+[\w.]+[ \t]+)?import\b[ \t]*(\([^()]*\)|[^;\n]*)", re.MULTILINE)
# The lines of a `try` or `with` at top level.
_BLOCK = re.compile(r"^(?:try|with)\b[^:\n]*+:.*+\n((?:[ \t]+.*\n?|\n)++)", re.MULTILINE)
_CELL_START = re.compile(r"^# %%(.*)\n?", re.MULTILINE)


class Notebook(NamedTuple):
    """The code of a notebook, and its cells with answers to the quiz, if it has any."""

    code: UnitSource
    quiz: UnitSource


def read_notebook(folder: Path | Files, relative: str) -> Notebook | None:
    """Read the notebook `relative` below `folder`; None if there is no such file. Raises UnreadableError."""
    read = read_all_cells(folder, relative)
    if read is None:
        return None
    all_cells, remarks = read
    cells: list[str] = []
    answers: list[tuple[str, str | None]] = []  # each with its grade_id
    texts: list[tuple[int, str]] = []
    damaged: list[int] = []
    code_size = 0
    for number, cell in enumerate(all_cells, start=1):
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
            answers.append((source, grade_id))
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
    if damaged:
        which = f"cell {damaged[0]}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")
        remarks = (*remarks, f"{relative} is damaged: {which} cannot be read; the rest is graded.")
    remarks = (*remarks, *_definitions_in_text(texts, cells, relative))
    sources, grade_ids = zip(*answers, strict=True) if answers else ((), ())
    quiz = UnitSource(relative, sources, grade_ids=grade_ids)
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


def read_all_cells(folder: Path | Files, relative: str) -> tuple[list[Any], tuple[str, ...]] | None:
    """Return all cells of a notebook unchanged, and sentences for the student; None if there is no such file.

    Raises UnreadableError.
    """
    read = read_remarked(folder, relative, NOTEBOOK_LIMIT)
    if read is None:
        return None
    values = read.text.count(",") + read.text.count("[") + read.text.count("{")
    if values > NOTEBOOK_VALUES:
        raise UnreadableError(f"{relative} holds too many values to be read: clear its outputs and save it.")
    try:
        return _all_cells(read.text, relative), read.remarks
    except UnreadableError:
        # Both sides are held in memory at once.
        sides = _sides(read.text) if values <= NOTEBOOK_VALUES // 2 else None
        if sides is None:
            raise
    cells, remark = _cells_of_sides(*sides, relative)
    return cells, (*read.remarks, remark)


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


def _sides(text: str) -> tuple[str, str, str] | None:
    """Return the two versions of a text with conflicts, and the lines of the first conflict in words.

    None if there is no conflict, one does not end, or the text is too long.
    """
    if "\n<<<<<<<" not in text or text.count("\n") > _MOST_LINES:
        return None
    markers = list(itertools.islice(_MARKER.finditer(text), _MOST_MARKERS))
    ours, theirs, places, end = "", "", [], 0
    while markers and len(markers) < _MOST_MARKERS:
        order = next((one for one in _ORDERS if "".join(found[0][0] for found in markers[: len(one)]) == one), None)
        if order is None:
            return None
        first, *base, middle, last = markers[: len(order)]
        markers = markers[len(order) :]
        both = text[end : first.start()]
        ours += both + text[first.end() : (base or [middle])[0].start()]
        theirs += both + text[middle.end() : last.start()]
        end = last.end()
        places.append((first.start(), last.start()))
    if not places or markers:
        return None
    begin, last_line = (text.count("\n", 0, place) + 1 for place in places[0])
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return ours + text[end:], theirs + text[end:], f"lines {begin} to {last_line}{more}"


def _cells_of_sides(ours: str, theirs: str, place: str, relative: str) -> tuple[list[Any], str]:
    """Return the cells of a notebook with conflicts, those that differ blank, and a remark. Raises UnreadableError."""
    merge = f"{relative} has an unfinished merge (conflict markers in {place})"
    fix = "keep one version of it in a text editor, and save it again in Jupyter."
    try:
        cells, others = _all_cells(ours, relative), _all_cells(theirs, relative)
    except UnreadableError:
        raise UnreadableError(f"{merge}: {fix}") from None
    if len(cells) == len(others):
        differing = [number for number, pair in enumerate(zip(cells, others, strict=True)) if _differs(*pair)]
        named = [f"cell {number + 1}" for number in differing]
        differ = f"{listed(named, _MOST_NAMED)} differ{'' if len(named) > 1 else 's'}" if named else "no code differs"
    else:
        # Only those before the first and after the last difference are known to be the same.
        least = min(len(cells), len(others))
        above = _same(zip(cells, others, strict=False))
        below = min(_same(zip(cells[::-1], others[::-1], strict=False)), least - above)
        differing = [*range(above, len(cells) - below)]
        differ = f"{_between(above, below)} differ"
    for number in differing:
        cells[number] = {"cell_type": "code", "source": ""}
    return cells, f"{merge}, in which {differ}; the rest is graded: {fix}"


def _between(above: int, below: int) -> str:
    """Return in words the cells that differ, if so many of the first and of the last are the same."""
    first = f"the first {above if above > 1 else 'cell'}"
    last = f"the last {below if below > 1 else 'cell'}"
    if above and below:
        return f"the cells between {first} and {last}"
    if above:
        return f"the cells after {first}"
    return f"the cells before {last}" if below else "all cells"


def _same(pairs: Iterable[tuple[Any, Any]]) -> int:
    """Return how many of the first cells are the same."""
    return sum(1 for _ in itertools.takewhile(lambda pair: not _differs(*pair), pairs))


def repaired(code: UnitSource, stub: str) -> UnitSource:
    """Remove repeated stubs and add missing imports, each with a remark.

    Args:
        code: The student's code, from a notebook.
        stub: The unit as students receive it, a script in percent format.
    """
    stub_cells = _percent_cells(stub)
    cells, repeated = _without_repeated_stubs(code.cells, stub_cells, code.path)
    cells, deleted = with_imports(cells, stub)
    imports = (f"{code.path} no longer imports {' and '.join(deleted)}: the import was added as cell 1.",)
    return dataclasses.replace(code, cells=cells, remarks=(*code.remarks, *repeated, *(imports if deleted else ())))


def with_imports(cells: Sequence[str], stub: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the cells, with the stub's imports that they need but lack as cell 1, and the names of these imports."""
    code = "\n".join(cells)
    bound = {name for part in (code, *map(dedent, _BLOCK.findall(code))) for name in imported_names(part)}
    code = _IMPORT.sub("", code)
    deleted: list[str] = []
    added: list[str] = []
    for cell in _percent_cells(stub):
        unbound = [name for name in imported_names(cell) if name not in bound and _needs(code, name)]
        if unbound and all(map(_IMPORT.fullmatch, code_lines([cell]))):
            deleted += unbound
            added.append(cell)
    # A blank first cell makes room for them, so that the others keep their numbers.
    others = cells[1:] if added and cells and not cells[0].strip() else cells
    return ("\n".join(added), *others) if added else tuple(cells), deleted


def imported_names(code: str) -> Iterator[str]:
    """Yield the names that code imports at top level."""
    for imports in _IMPORT.findall(code):
        for part in re.sub("#.*", "", imports).strip("() \t").split(","):
            if words := part.split():
                yield words[-1] if "as" in words else words[0].partition(".")[0]


def _percent_cells(script: str) -> list[str]:
    """Return the code cells of a script in percent format."""
    first, *others = _CELL_START.split(script)
    marked = zip(others[::2], others[1::2], strict=True)
    cells = [first, *(cell for mark, cell in marked if "[markdown]" not in mark)]
    return [cell.strip("\n") for cell in cells if cell.strip()]


def _without_repeated_stubs(
    cells: Sequence[str], stub_cells: list[str], relative: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cells, with those emptied that repeat a stub which another cell answers; and remarks."""
    unwritten = {
        tuple(code_lines([cell])): set(DEFINITION.findall(cell))
        for cell in stub_cells
        if "NotImplementedError" in cell and DEFINITION.search(cell)
    }
    opens = [unwritten.get(tuple(code_lines([cell])), set()) for cell in cells]
    places: dict[str, int] = {}  # the first cell that writes each name
    for number, cell in enumerate(cells):
        if not opens[number]:
            for name in DEFINITION.findall(cell):
                places.setdefault(name, number)
    # They stay as empty cells, so that the numbers of cells are those of the notebook.
    kept = tuple("" if names and names <= places.keys() else cell for cell, names in zip(cells, opens, strict=True))
    below = [
        name
        for number, names in enumerate(opens)
        for name in sorted(names)
        if names <= places.keys() and places[name] < number
    ]
    return kept, tuple(
        f"{relative} has an unwritten {name} below yours, which was graded: remove it." for name in dict.fromkeys(below)
    )


def _needs(code: str, name: str) -> bool:
    """Return whether code without its imports uses a name that it does not define or assign at top level."""
    binds = rf"^(?:(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*=)"
    return bool(re.search(rf"\b{name}\b", code)) and not re.search(binds, code, re.MULTILINE)
