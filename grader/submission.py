"""A folder, a notebook or a git checkout, read into source texts.

What is read here is written by others and may be hostile. This process is trusted, so it opens nothing
but plain files, follows no link, reads no more than a limit, and never parses, imports or runs student code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEGABYTE = 2**20
SCRIPT_LIMIT = 1 * MEGABYTE
NOTEBOOK_LIMIT = 64 * MEGABYTE
"""Notebooks carry their outputs, pictures included."""
NOTEBOOK_VALUES = 8_000_000
"""Parsed JSON can take 25 times the room of its text; so many values take about half a gigabyte at most."""
SHEET_LIMIT = 256 * 1024
"""Of a quiz's sheet, which is a few pages of text."""
GIT_LIMIT = 4 * MEGABYTE

SHEET_SUFFIX = "_quiz.md"

ANSWER = re.compile(r"^answer_([0-9]{1,4})[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
"""A line of a notebook that answers a question of the quiz, up to the answer."""
QUIZ_MARK = "quiz_"
"""So begins the grade_id of a cell for an answer; the name of the item follows."""

_BLANK_ANSWER = re.compile(r"answer_[0-9]+\s*(?::[^=]*)?=\s*(?:(?:\.\.\.|None|\"\"|'')\s*)?(?:#.*)?")
_CLOSING = re.compile(r"[)\]}]")
_DEFINITION = re.compile(r"^(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_IMPORT = re.compile(r"(?:from +\S+ +)?import +(.*)")
_CELL_START = re.compile(r"^# %%(.*)\n?", re.MULTILINE)
_GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_MOST_NAMES = 1000
"""So many names of a folder are looked at."""

_STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# JSON can spell what no text file holds: a zero, or one half of a surrogate pair.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
# What git itself allows, `$(…)` and quotes included: it is only ever a path, and no shell sees it.
_GIT_REFERENCE = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")

# Beside an answer these are there for a grader that would import or obey them.
_NEVER_READ = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "autograder.yml",
    *(f"{library}{suffix}" for library in ("torch", "numpy", "pytest", "grader") for suffix in (".py", "")),
)  # fmt: skip

# Each of these is missing on some platform.
_PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = _PLAIN | getattr(os, "O_DIRECTORY", 0)
# A named pipe that takes the file's place after the check would otherwise hold the opening up for ever.
_FILE = _PLAIN | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

# Not on Windows, where each step is looked at by path instead.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd


class SubmissionError(Exception):
    """The paths given to the grader are not submissions; the text says which, and what to do."""


@dataclass(frozen=True)
class UnitSource:
    """The source of one unit: `filename` as messages name it, its code cells, and remarks for the student.

    A script is a single cell; of a notebook, these are the code cells in order. Lines end in "\\n".
    """

    filename: str
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_notebook(self) -> bool:
        return self.filename.endswith(".ipynb")


@dataclass(frozen=True)
class SheetSource:
    """The text of one unit's quiz with its answers, and remarks for the student. Lines end in "\\n"."""

    text: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellsSource:
    """The cells of a notebook that answer the unit's quiz, each with its grade_id, and remarks for the student.

    A grade_id that is none is None. Lines end in "\\n".
    """

    filename: str
    cells: tuple[tuple[str | None, str], ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """What one student handed in: the `units` that could be read, and in `problems` why others could not.

    siblings: units that are not to be graded now, but that the others may import. sheets, sheet_problems: the same
    as units and problems, of their quizzes.
    """

    student: str
    folder: Path
    commit: str | None
    units: dict[str, UnitSource]
    problems: dict[str, str]
    siblings: dict[str, UnitSource] = dataclasses.field(default_factory=dict)
    sheets: dict[str, SheetSource | CellsSource] = dataclasses.field(default_factory=dict)
    sheet_problems: dict[str, str] = dataclasses.field(default_factory=dict)


def find_submissions(
    paths: Sequence[Path], unit_names: Iterable[str], student: str | None = None
) -> list[tuple[str, Path]]:
    """The student and the folder of each submission in `paths`.

    A folder with unit files, in it, in exercises/ or in folders named after the units, is a submission. One
    without, whose children are folders, is a class: each child is a submission. With `student` given, the only path
    is one submission in any case. Raises SubmissionError for a path, a name or a link that cannot be graded, or a
    name used twice.
    """
    if not paths:
        raise SubmissionError("There is nothing to grade: give the folder of a submission or of a class.")
    if student is not None and len(paths) > 1:
        raise SubmissionError(
            f"The student {student!r} is named, but {len(paths)} paths are given: give exactly one path."
        )
    units = set(unit_names)
    found = []
    for path in paths:
        _require_folder(path)
        children = None if student is not None else _class_members(path, units)
        if children is None:
            found.append((path.resolve().name if student is None else student, path))
        else:
            found.extend((child.name, child) for child in children)
    _require_distinct_names(found)
    return found


def read_submission(
    student: str,
    folder: Path,
    unit_names: Iterable[str],
    stubs: Path,
    sibling_names: Iterable[str] = (),
    quiz_names: Iterable[str] = (),
) -> Submission:
    """Read each unit's source from `folder`, its exercises/ or its <unit>/, as <unit>.py or <unit>.ipynb.

    Of `sibling_names`, those that can be read come with them; of `quiz_names`, the answers: the sheet, <unit>_quiz.md,
    or cells of <unit>.ipynb. `stubs` holds the course's own files: where one is there more than once, the untouched
    stub yields. Nothing that a student can do raises an error: what cannot be read becomes a sentence in `problems`
    or `sheet_problems`.
    """
    reader = _Reader(folder, stubs)
    units: dict[str, UnitSource] = {}
    problems: dict[str, str] = {}
    for unit in unit_names:
        try:
            units[unit] = reader.read_unit(unit)
        except _UnreadableError as error:
            problems[unit] = str(error)
    siblings = {}
    for unit in sibling_names:
        if unit not in units:
            with contextlib.suppress(_UnreadableError):
                siblings[unit] = reader.read_unit(unit)
    sheets: dict[str, SheetSource | CellsSource] = {}
    sheet_problems: dict[str, str] = {}
    for unit in quiz_names:
        try:
            sheets[unit] = reader.read_quiz(unit)
        except _UnreadableError as error:
            sheet_problems[unit] = str(error)
    return Submission(student, folder, _read_commit(folder), units, problems, siblings, sheets, sheet_problems)


def _require_folder(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        raise SubmissionError(
            f"{_quoted(path)} does not exist: give the folder of a submission or of a class."
        ) from None
    if stat.S_ISLNK(mode):
        raise SubmissionError(f"{_quoted(path)} is a symbolic link: give the folder that it points to.")
    if not stat.S_ISDIR(mode):
        raise SubmissionError(f"{_quoted(path)} is not a folder: give the folder that the file lies in.")


def _class_members(path: Path, units: set[str]) -> list[Path] | None:
    """The submissions of a class, by name; None where the folder is itself a submission."""
    try:
        with os.scandir(path) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise SubmissionError(
            f"{_quoted(path)} cannot be listed ({error.strerror}): make it readable for the grader."
        ) from None
    unit_files = {f"{unit}{suffix}" for unit in units for suffix in (".py", ".ipynb", SHEET_SUFFIX)}
    for entry in children:
        # In a folder named after a unit, as nbgrader keeps it, the notebook may have been given another name.
        if entry.name in units:
            names = _names_in(path / entry.name)
            is_unit = any(name in unit_files or name.endswith(".ipynb") for name in names)
        else:
            is_unit = entry.name in unit_files or entry.name == "exercises"
        if is_unit:
            return None
    children = [entry for entry in children if not entry.name.startswith(".") and entry.name != "__pycache__"]
    for entry in children:
        if entry.is_symlink():
            raise SubmissionError(
                f"{_quoted(path / entry.name)} is a symbolic link: put the submission's own folder there."
            )
    return [path / entry.name for entry in children if entry.is_dir(follow_symlinks=False)] or None


def _names_in(folder: Path) -> list[str]:
    """What a folder that is no link holds, as far as it is looked at."""
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            with os.scandir(folder) as entries:
                return sorted(entry.name for entry in itertools.islice(entries, _MOST_NAMES))
    return []


def _require_distinct_names(found: list[tuple[str, Path]]) -> None:
    seen: dict[str, tuple[str, Path]] = {}
    for student, path in found:
        if not _STUDENT.fullmatch(student):
            raise SubmissionError(
                f"{_quoted(path)} cannot be graded as {student!r}: rename the folder or name the student, "
                "with letters, digits, '.', '_' and '-' only, and a letter or a digit first."
            )
        # Reports are files named after students, and some disks do not tell upper from lower case.
        if twin := seen.get(student.casefold()):
            same = f"both called {student!r}" if twin[0] == student else "named alike but for upper and lower case"
            raise SubmissionError(f"{_quoted(twin[1])} and {_quoted(path)} are {same}: rename one of the folders.")
        seen[student.casefold()] = (student, path)


def _quoted(path: Path) -> str:
    return repr(str(path))


class _UnreadableError(Exception):
    """Why a file is not read, in one sentence that begins with its name."""


@dataclass(frozen=True)
class _Notebook:
    """The code cells of a notebook, its cells with answers to the quiz, and remarks on what is damaged."""

    cells: tuple[str, ...]
    quiz_cells: tuple[tuple[str | None, str], ...]
    remarks: tuple[str, ...]


class _Reader:
    """Reads the files of one student's folder. A notebook holds a unit and its quiz, and is parsed once."""

    def __init__(self, folder: Path, stubs: Path) -> None:
        self.folder = folder
        self.stubs = stubs
        self.notebook = functools.cache(self._notebook)

    def read_unit(self, unit: str) -> UnitSource:
        stub = self._stub(f"{unit}.py")
        stub_cells = _percent_cells(stub or "")
        sources: dict[str, UnitSource] = {}
        problems: list[str] = []
        for relative in self._places(unit, f"{unit}.py"):
            try:
                source = self._source(unit, relative, stub_cells)
            except _UnreadableError as error:
                problems.append(str(error))
            else:
                if source:
                    sources[relative] = source
        if not sources:
            missing = (
                f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself, in exercises/ or in {unit}/."
            )
            raise _UnreadableError([*problems, *self._renamed(unit), missing][0])

        untouched = [] if stub is None else [_code_lines([stub])]
        lines = {path: _code_lines(source.cells) for path, source in sources.items()}
        chosen, others = _choose(lines, untouched, problems)
        source = sources[chosen]
        remarks = [*source.remarks, *others]
        beside = [name for name in _NEVER_READ if os.path.lexists((self.folder / chosen).with_name(name))]
        if beside:
            remarks.append(f"Nothing reads or runs what lies beside {chosen}: {', '.join(beside)}.")
        return dataclasses.replace(source, remarks=tuple(remarks))

    def read_quiz(self, unit: str) -> SheetSource | CellsSource:
        name = f"{unit}{SHEET_SUFFIX}"
        sources: dict[str, SheetSource | CellsSource] = {}
        lines: dict[str, list[str]] = {}
        problems: list[str] = []
        # Those of notebooks are remarks on the unit as well: here they are told only where nothing else is there.
        of_notebooks: list[str] = []
        for relative in self._places(unit, name):
            is_notebook = relative.endswith(".ipynb")
            try:
                if is_notebook:
                    notebook = self.notebook(relative)
                    if notebook and notebook.quiz_cells:
                        sources[relative] = CellsSource(f"{unit}.ipynb", notebook.quiz_cells)
                        lines[relative] = _answer_lines(notebook.quiz_cells)
                    elif notebook:
                        of_notebooks.append(
                            f"{relative} has no cells like `answer_1 = ...`, and {name} is missing: answer the quiz in "
                            "one of the two."
                        )
                elif (content := _read_file(self.folder, relative, SHEET_LIMIT)) is not None:
                    text = _text(content, relative)
                    sources[relative], lines[relative] = SheetSource(text), _written_lines(text)
            except _UnreadableError as error:
                (of_notebooks if is_notebook else problems).append(str(error))
        if not sources:
            missing = f"{name} is missing: hand it in, in the folder itself or in exercises/."
            raise _UnreadableError([*problems, *of_notebooks, *self._renamed(unit), missing][0])
        stub = self._stub(name)
        untouched = [[]] if stub is None else [[], _written_lines(stub)]
        chosen, remarks = _choose(lines, untouched, problems)
        return dataclasses.replace(sources[chosen], remarks=tuple(remarks))

    def _places(self, unit: str, name: str) -> list[str]:
        """Where the file `name` or the unit's notebook may lie, in the order in which one is preferred to the next."""
        notebook = f"{unit}.ipynb"
        places = [name, notebook, f"exercises/{name}", f"exercises/{notebook}"]
        # nbgrader keeps a folder for each unit, made for the notebook.
        of_unit = self.folder / unit
        return [*places, f"{unit}/{notebook}", f"{unit}/{name}"] if of_unit.is_dir() or of_unit.is_symlink() else places

    def _stub(self, name: str) -> str | None:
        path = self.stubs / name
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def _source(self, unit: str, relative: str, stub_cells: list[str]) -> UnitSource | None:
        if not relative.endswith(".ipynb"):
            content = _read_file(self.folder, relative, SCRIPT_LIMIT)
            if content is None:
                return None
            text = _text(content, relative)
            _require_code([text], relative)
            return UnitSource(f"{unit}.py", (text,))
        notebook = self.notebook(relative)
        if notebook is None:
            return None
        _require_code(notebook.cells, relative)
        cells, remarks = _without_repeated_stubs(notebook.cells, stub_cells, relative)
        cells, further = _with_imports(cells, stub_cells, relative)
        return UnitSource(f"{unit}.ipynb", cells, (*notebook.remarks, *remarks, *further))

    def _notebook(self, relative: str) -> _Notebook | None:
        content = _read_file(self.folder, relative, NOTEBOOK_LIMIT)
        return None if content is None else _parse_notebook(content, relative)

    def _renamed(self, unit: str) -> list[str]:
        """A sentence on notebooks that lie under another name where nbgrader keeps the unit's."""
        others = [name for name in _names_in(self.folder / unit) if name.endswith(".ipynb")]
        if not others:
            return []
        # Whoever gave the name chose it freely: `repr` makes it fit to be shown.
        more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
        return [
            f"{unit}/{unit}.ipynb is missing, but {others[0][:100]!r}{more} is there: rename it to {unit}.ipynb "
            "and hand it in again."
        ]


def _choose(lines: dict[str, list[str]], untouched: list[list[str]], problems: list[str]) -> tuple[str, list[str]]:
    """Of the files that could serve, the first that was worked on; and remarks on the others.

    lines: what counts of each file; of those that nobody worked on, one of `untouched`. problems: of those that
    cannot be read.
    """
    worked_on = [path for path, own in lines.items() if own not in untouched]
    chosen, *others = worked_on or list(lines)
    # Two copies of the same work leave nothing to choose.
    rivals = [path for path in others if lines[path] != lines[chosen]]
    remarks = [f"{path} was worked on too: {chosen} is graded, so keep your answers there." for path in rivals]
    remarks += [f"{problem} {chosen} is graded." for problem in dict.fromkeys(problems)]
    return chosen, remarks


def _code_lines(cells: Iterable[str]) -> list[str]:
    """The lines that are neither blank nor a comment: the same for a stub as a script and as a notebook."""
    lines = (line.rstrip() for cell in cells for line in cell.split("\n"))
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def _written_lines(text: str) -> list[str]:
    """The lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _answer_lines(cells: Iterable[tuple[str | None, str]]) -> list[str]:
    """The lines of a notebook's quiz cells that hold an answer; none in an untouched notebook."""
    lines = _code_lines(source for _, source in cells)
    return [line for line in lines if ANSWER.match(line) and not _BLANK_ANSWER.fullmatch(line)]


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
        tuple(_code_lines([cell])): set(_DEFINITION.findall(cell))
        for cell in stub_cells
        if "NotImplementedError" in cell and _DEFINITION.search(cell)
    }
    opens = [unwritten.get(tuple(_code_lines([cell])), set()) for cell in cells]
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
    lacking: list[str] = []
    brought: list[str] = []
    for cell in stub_cells:
        imports = [_IMPORT.fullmatch(line) for line in _code_lines([cell])]
        names = [part.split()[-1] for match in imports if match for part in match[1].split(",")]
        if all(imports) and (unbound := [name for name in names if _needs(code, name)]):
            lacking += unbound
            brought.append(cell)
    if not brought:
        return tuple(cells), ()
    return ("\n".join(brought), *cells), (
        f"{relative} does not import {' and '.join(lacking)}, as the notebook that you received does: that was done "
        "first, and where cells are counted it is cell 1.",
    )


def _needs(code: str, name: str) -> bool:
    """Whether code speaks of a name, but has no line at the margin that imports, defines or assigns it."""
    binds = rf"^(?:(?:from|import)\b.*\b{name}\b|(?:async[ \t]+def|def|class)[ \t]+{name}\b|{name}[ \t]*=)"
    return bool(re.search(rf"\b{name}\b", code)) and not re.search(binds, code, re.MULTILINE)


def _parse_notebook(content: bytes, relative: str) -> _Notebook:
    cells: list[str] = []
    quiz_cells: list[tuple[str | None, str]] = []
    damaged: list[int] = []
    code_size = 0
    for number, cell in enumerate(_all_cells(content, relative), start=1):
        if isinstance(cell, dict) and cell.get("cell_type") in ("markdown", "raw", "heading"):
            continue
        grade_id, is_test = _marks(cell)
        source = _cell_source(cell)
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
    if code_size > SCRIPT_LIMIT:
        raise _UnreadableError(
            f"{relative} holds {_size_text(code_size)} of code; "
            f"at most {SCRIPT_LIMIT // MEGABYTE} MB are read: hand in your code alone."
        )
    remarks: tuple[str, ...] = ()
    if damaged:
        which = f"cell {damaged[0]}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")
        remarks = (f"{relative} is damaged: {which} cannot be read; the rest is graded.",)
    return _Notebook(tuple(cells), tuple(quiz_cells), remarks)


def _all_cells(content: bytes, relative: str) -> list[Any]:
    text = _text(content, relative)
    if text.count(",") + text.count("[") + text.count("{") > NOTEBOOK_VALUES:
        raise _UnreadableError(f"{relative} holds too many values to be read: clear its outputs and save it.")
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise _UnreadableError(
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
    raise _UnreadableError(f"{relative} is not a notebook (it has no cells): open it in Jupyter and save it again.")


def _cell_source(cell: Any) -> str | None:
    """The text of a code cell; None where it is damaged."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", cell.get("input"))  # nbformat 3 says "input"
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return _unix_lines(source) if isinstance(source, str) and not _NO_TEXT.search(source) else None


def _marks(cell: Any) -> tuple[str | None, bool]:
    """What nbgrader's marks say of a cell: its grade_id, and whether it is a test, which is the course's own."""
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if not isinstance(nbgrader, dict):
        return None, False
    grade_id = nbgrader.get("grade_id")
    is_plain = isinstance(grade_id, str) and _GRADE_ID.fullmatch(grade_id)
    return grade_id if is_plain else None, nbgrader.get("grade") is True and nbgrader.get("solution") is False


def _only_answers(source: str) -> bool:
    """Whether a cell answers the quiz and does nothing else. What is indented goes on with the line above it."""
    lines = [line for line in _code_lines([source]) if not line[0].isspace() and not _CLOSING.match(line)]
    return bool(lines) and all(ANSWER.match(line) for line in lines)


def _text(content: bytes, relative: str) -> str:
    if b"\0" in content:
        position = content.index(b"\0") + 1
        raise _UnreadableError(f"{relative} is not a text file (byte {position} is zero): save it as UTF-8.")
    try:
        return _unix_lines(content.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"{relative} is not UTF-8 (byte {error.start + 1}): save it as UTF-8.") from None


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _require_code(cells: Sequence[str], relative: str) -> None:
    if not any(cell.strip() for cell in cells):
        what = "has no code in it" if relative.endswith(".ipynb") else "is empty"
        raise _UnreadableError(f"{relative} {what}: write your answers there and save it.")


def _read_file(folder: Path, relative: str, limit: int) -> bytes | None:
    """The content of a plain file beneath `folder`; None where there is no such file."""
    try:
        with _opened(folder, relative) as descriptor:
            # Looked at again, for it can have changed between the first look and the opening.
            status = os.fstat(descriptor)
            _refuse_unless_file(status, relative)
            _refuse_beyond(limit, status.st_size, relative)
            content = bytearray()
            while chunk := os.read(descriptor, MEGABYTE):
                content += chunk
                _refuse_beyond(limit, len(content), relative)
            return bytes(content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _UnreadableError(
            f"{relative} cannot be read ({os.strerror(error.errno or 0)}): make it a readable file."
        ) from None


@contextlib.contextmanager
def _opened(folder: Path, relative: str) -> Iterator[int]:
    """A descriptor of the file, reached folder by folder so that no link on the way is followed."""
    *parents, name = relative.split("/")
    with contextlib.ExitStack() as stack:

        def enter(path: str | Path, flags: int, within: int | None) -> int:
            descriptor = os.open(path, flags, dir_fd=within)
            stack.callback(os.close, descriptor)
            return descriptor

        here: int | None = enter(folder, _FOLDER, None) if _BY_DESCRIPTOR else None
        reached = "" if _BY_DESCRIPTOR else f"{folder}/"
        for depth, parent in enumerate(parents, start=1):
            status = os.stat(f"{reached}{parent}", dir_fd=here, follow_symlinks=False)
            _refuse_unless_folder(status, "/".join(parents[:depth]))
            if _BY_DESCRIPTOR:
                here = enter(parent, _FOLDER, here)
            else:
                reached += f"{parent}/"
        _refuse_unless_file(os.stat(f"{reached}{name}", dir_fd=here, follow_symlinks=False), relative)
        yield enter(f"{reached}{name}", _FILE, here)


def _refuse_unless_folder(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _UnreadableError(f"{relative} is a symbolic link: put the folder itself there.")
    if not stat.S_ISDIR(status.st_mode):
        raise _UnreadableError(f"{relative} is a file where a folder belongs: remove it.")


def _refuse_unless_file(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise _UnreadableError(f"{relative} is a symbolic link: put the file itself there.")
    if stat.S_ISDIR(status.st_mode):
        raise _UnreadableError(f"{relative} is a folder where a file belongs: put the file there.")
    if stat.S_ISFIFO(status.st_mode):
        raise _UnreadableError(f"{relative} is a named pipe where a file belongs: put the file there.")
    if stat.S_ISSOCK(status.st_mode):
        raise _UnreadableError(f"{relative} is a socket where a file belongs: put the file there.")
    if not stat.S_ISREG(status.st_mode):
        raise _UnreadableError(f"{relative} is a device where a file belongs: put the file there.")
    if status.st_nlink > 1:
        raise _UnreadableError(f"{relative} is a hard link to another file: put a copy of its own there.")


def _refuse_beyond(limit: int, size: int, relative: str) -> None:
    if size > limit:
        mends = {"ipynb": "clear its outputs and save it.", "md": "hand in the sheet alone."}
        mend = mends.get(relative.rpartition(".")[2], "hand in your code alone and save it.")
        most = f"{limit // MEGABYTE} MB" if limit >= MEGABYTE else f"{limit // 1024} KB"
        raise _UnreadableError(f"{relative} is {_size_text(size)}; at most {most} are read: {mend}")


def _size_text(size: int) -> str:
    if size < MEGABYTE:
        return f"{size // 1024} KB"
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / MEGABYTE:.1f} MB"


def _read_commit(folder: Path) -> str | None:
    """The commit checked out, read by hand: git itself would run what a repository's settings name."""
    head = _git_text(folder, "HEAD")
    reference = head.removeprefix("ref: ")
    if reference == head:
        return head if _COMMIT.fullmatch(head) else None
    if not _GIT_REFERENCE.fullmatch(reference) or not {"", ".", ".."}.isdisjoint(reference.split("/")):
        return None
    packed = _git_text(folder, "packed-refs")
    commits = [_git_text(folder, reference)]
    commits += [line[: -len(reference) - 1] for line in packed.split("\n") if line.endswith(f" {reference}")]
    return next((commit for commit in commits if _COMMIT.fullmatch(commit)), None)


def _git_text(folder: Path, name: str) -> str:
    """A file of .git without its last line end; "" where it cannot be read."""
    try:
        content = _read_file(folder, f".git/{name}", GIT_LIMIT)
        return _text(content or b"", name).removesuffix("\n")
    except _UnreadableError:
        return ""


class NotebookError(Exception):
    """Why a notebook is not read, in one sentence that begins with its name."""


def notebook_cells(folder: Path, relative: str) -> list[Any]:
    """All cells of the notebook `relative` beneath `folder`, as they stand in it. Raises NotebookError."""
    try:
        content = _read_file(folder, relative, NOTEBOOK_LIMIT)
        if content is None:
            raise NotebookError(f"{relative} is missing: hand it in.")
        return _all_cells(content, relative)
    except _UnreadableError as error:
        raise NotebookError(str(error)) from None
