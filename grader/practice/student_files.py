"""Changes a student's files: puts a stub back, and turns a script into a notebook or back. What was there is kept.

After turning, one of the two files has the student's answers, and it is the one that is graded. No text is lost: what
the student wrote in the other file is kept in a backup in the state folder.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.course.model import Course
from grader.errors import GraderError
from grader.files import write_atomically
from grader.practice.check import answers_folder, unit_of_exercise
from grader.practice.exercise_code import NotFound, NotPython, added, definition, replaced
from grader.practice.progress import state_folder
from grader.submissions.archives import Folder
from grader.submissions.file_text import unix_lines
from grader.submissions.notebook import CHECK_MAGIC, METADATA, NOTEBOOK_LIMIT, code_lines, is_check, source_of
from grader.submissions.reader import read_submission
from grader.submissions.submission import DEFINITION, FOLDER, filenames, places
from grader.submissions.tree import UnreadableError, read_bytes

if TYPE_CHECKING:
    from nbformat import NotebookNode

_BYTE_ORDER_MARK = "\ufeff"
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


def back_up(folder: Path, file: Path, content: bytes, now: datetime.datetime) -> Path:
    """Write what a file contains to a new name, and return its path. Raises OSError.

    Args:
        folder: The student's folder.
        file: The student's file, which the backup is named after.
        content: What it contains.
        now: The time, which the backup is named after too.
    """
    backups = state_folder(folder) / "backups"
    backups.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        again = f"-{number}" if number else ""
        backup = backups / f"{file.stem}-{now:%Y-%m-%d-%H%M%S}{again}{file.suffix}"
        try:
            with backup.open("xb") as opened:
                opened.write(content)
        except FileExistsError:
            continue
        return backup
    raise AssertionError


class Reset(NamedTuple):
    """The student's file, relative to the folder, and its backup; None if nothing had to be written."""

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
    is_notebook = file.endswith(".ipynb")
    stub_file = received(course, folder / file, unit)
    stub = definition(stub_file, exercise)
    above = DEFINITION.findall(stub_file.partition(stub)[0])
    try:
        content = read_bytes(folder, file, NOTEBOOK_LIMIT) or b""
        text = content.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        changed = _in_cell(text, exercise, stub) if is_notebook else _in_script(text, exercise, stub, above)
    except NotPython as error:
        raise GraderError(
            f"{file}, line {error.line}, is not Python ({error}), so nothing was changed: fix this line first."
        ) from None
    except UnreadableError as error:
        raise GraderError(f"Nothing was changed: {error}") from None
    except ValueError:
        kind = "a notebook" if is_notebook else "text in UTF-8"
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


def _in_script(text: str, exercise: str, stub: str, above: list[str]) -> str:
    """Return a script with the stub of an exercise. Raises NotPython."""
    try:
        return replaced(text, exercise, stub)
    except NotFound:
        return added(text, stub, above)


def _in_cell(text: str, exercise: str, stub: str) -> str:
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
    return f"{nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=METADATA))}\n"


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
