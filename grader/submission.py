"""What one student handed in: which folders are submissions, and which file of each unit is graded.

It is written by others and may be hostile. So it is read by `plain_files` and `notebook` alone, whatever is wrong with
it becomes a sentence, and none of it is parsed as Python, imported or run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.notebook import CODE_LIMIT, Notebook, answer_lines, code_lines, healed, read_notebook
from grader.plain_files import MEGABYTE, UnreadableError, read_text

if TYPE_CHECKING:
    from grader.report import Report

SHEET_LIMIT = 256 * 1024
"""Of a quiz's sheet, which is a few pages of text."""
GIT_LIMIT = 4 * MEGABYTE

SHEET_SUFFIX = "_quiz.md"

_MOST_NAMES = 1000
"""So many names of a folder are looked at."""

STUDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What git itself allows, `$(…)` and quotes included: it is only ever a path, and no shell sees it.
_GIT_REFERENCE = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")

# Beside an answer these are there for a grader that would import or obey them.
_NEVER_READ = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "autograder.yml",
    *(f"{library}{suffix}" for library in ("torch", "numpy", "pytest", "grader") for suffix in (".py", "")),
)  # fmt: skip


class SubmissionError(Exception):
    """The paths given to the grader are not submissions; the text says which, and what to do."""


@dataclass(frozen=True)
class UnitSource:
    """The source of one unit: where the file lies in the submission, its code cells, and remarks for the student.

    A script is a single cell; of a notebook, these are the code cells in order. Lines end in "\\n".
    """

    path: str
    cells: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        """As messages name it."""
        return self.path.rpartition("/")[2]

    @property
    def is_notebook(self) -> bool:
        return self.path.endswith(".ipynb")

    def line_of(self, name: str) -> int | None:
        """The line on which a script defines a function or class for the last time. It is not parsed, only read."""
        if self.is_notebook:
            return None
        definitions = re.compile(rf"^(?:async[ \t]+def|def|class)[ \t]+{re.escape(name)}\b", re.MULTILINE)
        places = [found.start() for found in definitions.finditer(self.cells[0])]
        return self.cells[0].count("\n", 0, places[-1]) + 1 if places else None


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
    as units and problems, of their quizzes. handed_in: whether anything here is more than what students receive.
    kept: an earlier report on those of the units that are not to be graded again.
    """

    student: str
    folder: Path
    commit: str | None
    units: dict[str, UnitSource]
    problems: dict[str, str]
    siblings: dict[str, UnitSource] = dataclasses.field(default_factory=dict)
    sheets: dict[str, SheetSource | CellsSource] = dataclasses.field(default_factory=dict)
    sheet_problems: dict[str, str] = dataclasses.field(default_factory=dict)
    handed_in: bool = True
    kept: Report | None = None


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
        except UnreadableError as error:
            problems[unit] = str(error)
    siblings = {}
    for unit in sibling_names:
        if unit not in units:
            with contextlib.suppress(UnreadableError):
                siblings[unit] = reader.read_unit(unit)
    sheets: dict[str, SheetSource | CellsSource] = {}
    sheet_problems: dict[str, str] = {}
    for unit in quiz_names:
        try:
            sheets[unit] = reader.read_quiz(unit)
        except UnreadableError as error:
            sheet_problems[unit] = str(error)
    is_wrong = any(problem != missing_unit(unit) for unit, problem in problems.items())
    is_wrong |= any(problem != missing_sheet(unit) for unit, problem in sheet_problems.items())
    # Where there is nothing at all, it is for somebody to find out why.
    handed_in = reader.worked_on or is_wrong or not units
    return Submission(
        student, folder, _read_commit(folder), units, problems, siblings, sheets, sheet_problems, handed_in
    )


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


def missing_unit(unit: str) -> str:
    """What is said of a unit of which there is no file."""
    return f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself, in exercises/ or in {unit}/."


def missing_sheet(unit: str) -> str:
    """What is said of a quiz of which there is no sheet."""
    return f"{unit}{SHEET_SUFFIX} is missing: hand it in, in the folder itself or in exercises/."


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
        if not STUDENT.fullmatch(student):
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


class _Reader:
    """Reads the files of one student's folder. A notebook holds a unit and its quiz, and is parsed once."""

    def __init__(self, folder: Path, stubs: Path) -> None:
        self.folder = folder
        self.stubs = stubs
        # Whether anything that was read is not as students receive it.
        self.worked_on = False
        self.notebook: Callable[[str], Notebook | None] = functools.cache(functools.partial(read_notebook, folder))

    def read_unit(self, unit: str) -> UnitSource:
        stub = self._stub(f"{unit}.py")
        sources: dict[str, UnitSource] = {}
        problems: list[str] = []
        for relative in self._places(unit, f"{unit}.py"):
            try:
                source = self._source(relative, stub or "")
            except UnreadableError as error:
                problems.append(str(error))
            else:
                if source:
                    sources[relative] = source
        if not sources:
            raise UnreadableError([*problems, *self._renamed(unit), missing_unit(unit)][0])

        untouched = [] if stub is None else [code_lines([stub])]
        lines = {path: code_lines(source.cells) for path, source in sources.items()}
        chosen, others = _choose(lines, untouched, problems)
        self.worked_on |= lines[chosen] not in untouched
        source = sources[chosen]
        remarks = [*source.remarks, *others]
        beside = [name for name in _NEVER_READ if self._is_there(str(Path(chosen).with_name(name)))]
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
                        lines[relative] = answer_lines(notebook.quiz_cells)
                    elif notebook:
                        of_notebooks.append(
                            f"{relative} has no cells like `answer_1 = ...`, and {name} is missing: answer the quiz in "
                            "one of the two."
                        )
                elif (text := read_text(self.folder, relative, SHEET_LIMIT)) is not None:
                    sources[relative], lines[relative] = SheetSource(text), _written_lines(text)
            except UnreadableError as error:
                (of_notebooks if is_notebook else problems).append(str(error))
        if not sources:
            raise UnreadableError([*problems, *of_notebooks, *self._renamed(unit), missing_sheet(unit)][0])
        stub = self._stub(name)
        untouched = [[]] if stub is None else [[], _written_lines(stub)]
        chosen, remarks = _choose(lines, untouched, problems)
        self.worked_on |= lines[chosen] not in untouched
        return dataclasses.replace(sources[chosen], remarks=tuple(remarks))

    def _places(self, unit: str, name: str) -> list[str]:
        """Where the file `name` or the unit's notebook may lie, in the order in which one is preferred to the next."""
        notebook = f"{unit}.ipynb"
        places = [name, notebook, f"exercises/{name}", f"exercises/{notebook}"]
        # nbgrader keeps a folder for each unit, made for the notebook.
        of_unit = self.folder / unit
        return [*places, f"{unit}/{notebook}", f"{unit}/{name}"] if of_unit.is_dir() or of_unit.is_symlink() else places

    def _is_there(self, relative: str) -> bool:
        """Whether there is something by that name that is not the course's own."""
        if not os.path.lexists(self.folder / relative):
            return False
        with contextlib.suppress(UnreadableError):
            return read_text(self.folder, relative, SHEET_LIMIT) != self._stub(Path(relative).name)
        return True

    def _stub(self, name: str) -> str | None:
        """The course's own file of that name: a stub, or one from around them."""
        for path in (self.stubs / name, self.stubs.parent / name):
            if path.is_file():
                return path.read_text(encoding="utf-8")
        return None

    def _source(self, relative: str, stub: str) -> UnitSource | None:
        if not relative.endswith(".ipynb"):
            text = read_text(self.folder, relative, CODE_LIMIT)
            if text is None:
                return None
            _require_code([text], relative)
            return UnitSource(relative, (text,))
        notebook = self.notebook(relative)
        if notebook is None:
            return None
        _require_code(notebook.cells, relative)
        notebook = healed(notebook, stub)
        return UnitSource(relative, notebook.cells, notebook.remarks)

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


def _written_lines(text: str) -> list[str]:
    """The lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _require_code(cells: Sequence[str], relative: str) -> None:
    if not any(cell.strip() for cell in cells):
        what = "has no code in it" if relative.endswith(".ipynb") else "is empty"
        raise UnreadableError(f"{relative} {what}: write your answers there and save it.")


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
        return (read_text(folder, f".git/{name}", GIT_LIMIT) or "").removesuffix("\n")
    except UnreadableError:
        return ""
