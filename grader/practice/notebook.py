"""Turns the script of a unit into a notebook, with a cell that checks each exercise, and a notebook into a script.

Afterwards one of the two files has the student's answers, and it is the one that is graded. No text is lost: what the
student wrote in the other file is kept in a backup.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.errors import GraderError
from grader.files import write_atomically
from grader.practice.backups import back_up
from grader.practice.check import answers_folder
from grader.practice.reset import received
from grader.submissions.file_text import unix_lines
from grader.submissions.names import FOLDER, filenames
from grader.submissions.notebook import CHECK_MAGIC, code_lines, is_check, source_of
from grader.submissions.source import DEFINITION

if TYPE_CHECKING:
    import datetime
    from collections.abc import Collection
    from pathlib import Path

    from nbformat import NotebookNode

    from grader.course.model import Course

_FORMAT = "py:percent"
# A cell of text, up to the next cell: comments, or a string, and then code if the line `# %%` above it was lost.
_TEXT_CELL = re.compile(
    r"""(?P<text>^\#[ ]%%.*\[(?:markdown|md|raw)\].*\n (?:[ \t]*(?:\#(?![ ]%%).*)?\n)*+
    (?:r?(?P<quotes>\"{3}|'{3})(?s:.*?)(?P=quotes)[ \t]*\n)?+ (?:[ \t]*(?:\#(?![ ]%%).*)?\n)*+)
    (?=[ \t]*[^\s\#])""",
    re.MULTILINE | re.VERBOSE,
)
_LOAD = f"""\
# Run this cell first. After that, each cell with %{CHECK_MAGIC} runs the visible tests on the code that you have run.
# %hint EXERCISE shows a hint, and %show EXERCISE draws what your code computes.
%load_ext grader"""
_KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


class Converted(NamedTuple):
    """The file that was written, which is the one that is graded, and the backups of what was there before."""

    written: Path
    backups: list[Path]


def write_notebook(course: Course, unit: str, now: datetime.datetime) -> Converted:
    """Write a unit's notebook beside its script, and put the script back as students receive it.

    The stub stays beside the notebook, so that git sees no deleted file and updates of the course still apply.

    Raises:
        GraderError: There is a notebook already, or no folder with answers, or jupytext is missing.
        OSError: A file cannot be read or written.
    """
    folder, script, notebook = _paths(course, unit)
    if notebook.exists():
        raise GraderError(f"`{notebook}` exists already: open it, or rename it to make a new one from `{script.name}`.")
    stub = received(course, script, unit)
    text = _read(script) if script.exists() else stub
    made = to_notebook(text, unit, course.units[unit].exercises)
    backups = [back_up(folder, script, script.read_bytes(), now)] if text != stub else []
    write_atomically(notebook, made)
    if text != stub:
        write_atomically(script, stub)
    return Converted(notebook, backups)


def write_script(course: Course, unit: str, now: datetime.datetime) -> Converted:
    """Write a unit's script from its notebook, which is kept as a backup.

    Raises:
        GraderError: There is no notebook, or the script has answers too, or jupytext is missing.
        OSError: A file cannot be read or written.
    """
    folder, script, notebook = _paths(course, unit)
    if not notebook.exists():
        raise GraderError(f"There is no `{notebook}` to make a script of: `grader notebook {unit}` makes one.")
    stub = received(course, script, unit)
    text = _read(script) if script.exists() else stub
    if code_lines([text]) != code_lines([stub]):
        raise GraderError(
            f"Both `{script}` and `{notebook.name}` contain answers: rename the one that you do not need."
        )
    made = to_script(_read(notebook), notebook)
    old = [script, notebook] if text not in (stub, made) else [notebook]
    backups = [back_up(folder, file, file.read_bytes(), now) for file in old]
    write_atomically(script, made)
    notebook.unlink()
    return Converted(script, backups)


def to_notebook(script: str, unit: str, exercises: Collection[str]) -> str:
    """Return the notebook of a script in percent format, with a cell that checks each of these exercises.

    Below it is an empty cell. Code stays code, also where the line `# %%` between a text and it was lost.
    """
    jupytext, nbformat = _libraries()
    found: NotebookNode = jupytext.reads(_TEXT_CELL.sub(r"\g<text># %%\n", script), fmt=_FORMAT)
    cells: list[NotebookNode] = []
    for cell in found.cells:
        cells.append(cell)
        if cell.cell_type == "code":
            found_here = [name for name in DEFINITION.findall(cell.source) if name in exercises]
            # The last cell is for what the texts suggest to try.
            cells += [*map(_check_cell, found_here), *([nbformat.v4.new_code_cell()] if found_here else [])]
    is_titled = bool(cells) and cells[0].cell_type == "markdown"
    cells.insert(int(is_titled), nbformat.v4.new_code_cell(_LOAD))
    cells.append(_check_cell(unit))
    return f"{nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=_KERNEL))}\n"


def to_script(notebook: str, path: Path) -> str:
    """Return the script of a notebook, without cells that check or are empty. Raises GraderError if it is none."""
    jupytext, nbformat = _libraries()
    try:
        found: NotebookNode = nbformat.reads(notebook, as_version=4)
    except Exception as error:  # nbformat raises many kinds
        raise GraderError(f"`{path}` is not a notebook: open it in Jupyter and save it again.") from error
    found.cells = [cell for cell in found.cells if cell.cell_type != "code" or not _is_added(source_of(cell) or "")]
    # No header, and of the cells' metadata only what the course's own sources have.
    found.metadata = {"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": "nbgrader,-all"}}
    return str(jupytext.writes(found, fmt=_FORMAT)).rstrip("\n") + "\n"


def _libraries() -> tuple[Any, Any]:
    try:
        import jupytext
        import nbformat
    except ImportError:
        raise GraderError("Notebooks need jupytext: run `pip install jupytext`.") from None
    return jupytext, nbformat


def _is_added(source: str) -> bool:
    return not source.strip() or is_check(source)


def _check_cell(name: str) -> NotebookNode:
    _, nbformat = _libraries()
    cell: NotebookNode = nbformat.v4.new_code_cell(f"%{CHECK_MAGIC} {name}")
    return cell


def _paths(course: Course, unit: str) -> tuple[Path, Path, Path]:
    """Return the student's folder, and where a unit's script and notebook are, or belong."""
    folder = answers_folder(course)
    script, notebook, _ = filenames(unit)
    is_here = (folder / script).exists() or (folder / notebook).exists() or not (folder / FOLDER).is_dir()
    place = folder if is_here else folder / FOLDER
    return folder, place / script, place / notebook


def _read(path: Path) -> str:
    try:
        return unix_lines(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise GraderError(f"`{path}` is not UTF-8 (line {line}): save it as UTF-8.") from None
