"""A folder, a notebook or a git checkout, read into source texts.

What is read here is written by others and may be hostile. This process is trusted, so it opens nothing
but plain files, follows no link, reads no more than a limit, and never parses, imports or runs student code.
"""

from __future__ import annotations

import contextlib
import dataclasses
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
    sheets: dict[str, SheetSource] = dataclasses.field(default_factory=dict)
    sheet_problems: dict[str, str] = dataclasses.field(default_factory=dict)


def find_submissions(
    paths: Sequence[Path], unit_names: Iterable[str], student: str | None = None
) -> list[tuple[str, Path]]:
    """The student and the folder of each submission in `paths`.

    A folder with unit files, in it or in exercises/, is a submission. One without, whose children are
    folders, is a class: each child is a submission. With `student` given, the only path is one submission in
    any case. Raises SubmissionError for a path, a name or a link that cannot be graded, or a name used twice.
    """
    if not paths:
        raise SubmissionError("There is nothing to grade: give the folder of a submission or of a class.")
    if student is not None and len(paths) > 1:
        raise SubmissionError(
            f"The student {student!r} is named, but {len(paths)} paths are given: give exactly one path."
        )
    unit_files = {f"{unit}{suffix}" for unit in unit_names for suffix in (".py", ".ipynb", SHEET_SUFFIX)}
    found = []
    for path in paths:
        _require_folder(path)
        children = None if student is not None else _class_members(path, unit_files)
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
    """Read each unit's source from `folder` or its exercises/, as <unit>.py or <unit>.ipynb.

    Of `sibling_names`, those that can be read come with them; of `quiz_names`, the sheets, <unit>_quiz.md. `stubs`
    holds the course's own files: where one is there more than once, the untouched stub yields. Nothing that a
    student can do raises an error: what cannot be read becomes a sentence in `problems` or `sheet_problems`.
    """
    units: dict[str, UnitSource] = {}
    problems: dict[str, str] = {}
    for unit in unit_names:
        try:
            units[unit] = _read_unit(folder, unit, stubs)
        except _UnreadableError as error:
            problems[unit] = str(error)
    siblings = {}
    for unit in sibling_names:
        if unit not in units:
            with contextlib.suppress(_UnreadableError):
                siblings[unit] = _read_unit(folder, unit, stubs)
    sheets: dict[str, SheetSource] = {}
    sheet_problems: dict[str, str] = {}
    for unit in quiz_names:
        try:
            sheets[unit] = _read_sheet(folder, unit, stubs)
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


def _class_members(path: Path, unit_files: set[str]) -> list[Path] | None:
    """The submissions of a class, by name; None where the folder is itself a submission."""
    try:
        with os.scandir(path) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise SubmissionError(
            f"{_quoted(path)} cannot be listed ({error.strerror}): make it readable for the grader."
        ) from None
    if any(entry.name in unit_files or entry.name == "exercises" for entry in children):
        return None
    children = [entry for entry in children if not entry.name.startswith(".") and entry.name != "__pycache__"]
    for entry in children:
        if entry.is_symlink():
            raise SubmissionError(
                f"{_quoted(path / entry.name)} is a symbolic link: put the submission's own folder there."
            )
    return [path / entry.name for entry in children if entry.is_dir(follow_symlinks=False)] or None


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


def _read_unit(folder: Path, unit: str, stubs: Path) -> UnitSource:
    sources: dict[str, UnitSource] = {}
    problems: list[str] = []
    # The order in which one is preferred to the next.
    for place in ("", "exercises/"):
        for suffix in (".py", ".ipynb"):
            relative = f"{place}{unit}{suffix}"
            try:
                content = _read_file(folder, relative, NOTEBOOK_LIMIT if suffix == ".ipynb" else SCRIPT_LIMIT)
                if content is None:
                    continue
                cells, damage = (_notebook_cells if suffix == ".ipynb" else _script_cells)(content, relative)
            except _UnreadableError as error:
                problems.append(str(error))
            else:
                sources[relative] = UnitSource(f"{unit}{suffix}", cells, damage)
    if not sources:
        missing = f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself or in exercises/."
        raise _UnreadableError(problems[0] if problems else missing)

    stub = stubs / f"{unit}.py"
    untouched = _code_lines([stub.read_text(encoding="utf-8")]) if stub.is_file() else None
    lines = {path: _code_lines(source.cells) for path, source in sources.items()}
    chosen, others = _choose(lines, untouched, problems)
    source = sources[chosen]
    remarks = [*source.remarks, *others]
    beside = [name for name in _NEVER_READ if os.path.lexists((folder / chosen).with_name(name))]
    if beside:
        remarks.append(f"Nothing reads or runs what lies beside {chosen}: {', '.join(beside)}.")
    return dataclasses.replace(source, remarks=tuple(remarks))


def _read_sheet(folder: Path, unit: str, stubs: Path) -> SheetSource:
    name = f"{unit}{SHEET_SUFFIX}"
    texts: dict[str, str] = {}
    problems: list[str] = []
    for relative in (name, f"exercises/{name}"):
        try:
            content = _read_file(folder, relative, SHEET_LIMIT)
            if content is not None:
                texts[relative] = _text(content, relative)
        except _UnreadableError as error:
            problems.append(str(error))
    if not texts:
        missing = f"{name} is missing: hand it in, in the folder itself or in exercises/."
        raise _UnreadableError(problems[0] if problems else missing)
    stub = stubs / name
    untouched = _written_lines(stub.read_text(encoding="utf-8")) if stub.is_file() else None
    chosen, remarks = _choose({path: _written_lines(text) for path, text in texts.items()}, untouched, problems)
    return SheetSource(texts[chosen], tuple(remarks))


def _choose(lines: dict[str, list[str]], untouched: list[str] | None, problems: list[str]) -> tuple[str, list[str]]:
    """Of the files that could serve, the first that was worked on; and remarks on the others.

    lines: what counts of each file; of the stub, `untouched`. problems: of those that cannot be read.
    """
    worked_on = [path for path, own in lines.items() if own != untouched]
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


def _script_cells(content: bytes, relative: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    text = _text(content, relative)
    _require_code([text], relative)
    return (text,), ()


def _notebook_cells(content: bytes, relative: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The code cells of a notebook, and a remark about those that are damaged."""
    text = _text(content, relative)
    if text.count(",") + text.count("[") + text.count("{") > NOTEBOOK_VALUES:
        raise _UnreadableError(f"{relative} holds too many values to be read: clear its outputs and save it.")
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        raise _UnreadableError(
            f"{relative} is not a notebook (it is not JSON): open it in Jupyter and save it again."
        ) from None
    cells: list[str] = []
    damaged: list[int] = []
    for number, cell in enumerate(_all_cells(notebook, relative), start=1):
        if _is_no_answer(cell):
            continue
        source = _cell_source(cell)
        if source is None:
            damaged.append(number)
        else:
            cells.append(source)
    _require_code(cells, relative)
    code_size = sum(map(len, cells))
    if code_size > SCRIPT_LIMIT:
        raise _UnreadableError(
            f"{relative} holds {_size_text(code_size)} of code; "
            f"at most {SCRIPT_LIMIT // MEGABYTE} MB are read: hand in your code alone."
        )
    if not damaged:
        return tuple(cells), ()
    which = f"cell {damaged[0]}" + (f" and {len(damaged) - 1} more" if len(damaged) > 1 else "")
    return tuple(cells), (f"{relative} is damaged: {which} cannot be read; the rest is graded.",)


def _all_cells(notebook: Any, relative: str) -> list[Any]:
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


def _is_no_answer(cell: Any) -> bool:
    """Whether a cell is prose or, by nbgrader's mark, an autograder test, which is the course's own."""
    if not isinstance(cell, dict):
        return False
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    is_test = isinstance(nbgrader, dict) and nbgrader.get("grade") is True and nbgrader.get("solution") is False
    return is_test or cell.get("cell_type") in ("markdown", "raw", "heading")


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
