"""What one student handed in: which folders are submissions, and which file of each unit is graded.

It is written by others and may be hostile. So it is read by `plain_files` and `notebook` alone, whatever is wrong with
it becomes a sentence, and none of it is parsed as Python, imported or run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from grader.errors import GraderError
from grader.submissions.archives import Archive, Files, Folder, Found, Later, Mount, View, Walked, renamed, walk
from grader.submissions.names import SHEET_SUFFIX, is_code, stands_for
from grader.submissions.notebook import CODE_LIMIT, Notebook, answer_lines, code_lines, healed, read_notebook
from grader.submissions.plain_files import MEGABYTE, UnreadableError, read_text

if TYPE_CHECKING:
    from grader.reports.model import Report

SHEET_LIMIT = 256 * 1024
"""Of a quiz's sheet, which is a few pages of text."""
GIT_LIMIT = 4 * MEGABYTE

TO_BE_GRADED = "to be graded, it must be named"
"""Follows the name of an ignored file that could hold answers."""

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


T = TypeVar("T")


class SubmissionError(GraderError):
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
    kept: an earlier report on those of the units that are not to be graded again. ignored: names that nobody needs.
    """

    student: str
    folder: Path | Files
    commit: str | None
    units: dict[str, UnitSource]
    problems: dict[str, str]
    siblings: dict[str, UnitSource] = dataclasses.field(default_factory=dict)
    sheets: dict[str, SheetSource | CellsSource] = dataclasses.field(default_factory=dict)
    sheet_problems: dict[str, str] = dataclasses.field(default_factory=dict)
    handed_in: bool = True
    kept: Report | None = None
    ignored: tuple[str, ...] = ()


def read_submission(
    student: str,
    folder: Path | Files,
    unit_names: Iterable[str],
    stubs: Path,
    sibling_names: Iterable[str] = (),
    quiz_names: Iterable[str] = (),
    only: str | None = None,
) -> Submission:
    """Read each unit's source from `folder`, its exercises/ or its <unit>/, as <unit>.py or <unit>.ipynb.

    Where nothing was written there, other folders and archives in it are searched, and misnamed files too. Of
    `sibling_names`, those that can be read come with them; of `quiz_names`, the answers: the sheet, <unit>_quiz.md,
    or cells of <unit>.ipynb. `stubs` holds the course's own files: where one is there more than once, the untouched
    stub yields. `only` is the unit that all of it is for, if there is one: a script or notebook of any name is then
    that unit's, where it is the only one. Nothing that a student can do raises an error: what cannot be read becomes a
    sentence in `problems` or `sheet_problems`.
    """
    unit_names = list(unit_names)
    tree: Files = Folder(folder) if isinstance(folder, Path) else folder
    tree = tree.opened() if isinstance(tree, Later) else tree
    reader = _Reader(tree, stubs, dict.fromkeys([*unit_names, *sibling_names]), only)
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
        student, folder, _read_commit(tree), units, problems, siblings, sheets, sheet_problems, handed_in,
        ignored=tuple(reader.ignored()),
    )  # fmt: skip


def require_folder(path: Path) -> None:
    """Raise SubmissionError where there is no folder, or only a link to one."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        raise SubmissionError(
            f"{quoted(path)} does not exist: give the folder of a submission or of a class."
        ) from None
    if stat.S_ISLNK(mode):
        raise SubmissionError(f"{quoted(path)} is a symbolic link: give the folder that it points to.")
    if not stat.S_ISDIR(mode):
        raise SubmissionError(f"{quoted(path)} is not a folder: give the folder that the file lies in.")


def require_name(student: str, path: Path) -> None:
    """Raise SubmissionError where no report can have the student's name."""
    if not STUDENT.fullmatch(student):
        raise SubmissionError(
            f"{quoted(path)} cannot be graded as {student!r}: rename the folder or name the student, "
            "with letters, digits, '.', '_' and '-' only, and a letter or a digit first."
        )


def quoted(path: Path) -> str:
    """Write a path as messages do: others may have chosen its name."""
    return repr(str(path))


def missing_unit(unit: str) -> str:
    """What is said of a unit of which there is no file."""
    return f"{unit}.py is missing: hand it in, or {unit}.ipynb, in the folder itself, in exercises/ or in {unit}/."


def missing_sheet(unit: str) -> str:
    """What is said of a quiz of which there is no sheet."""
    return f"{unit}{SHEET_SUFFIX} is missing: hand it in, in the folder itself or in exercises/."


class _Reader:
    """Reads the files of one student's folder. A notebook holds a unit and its quiz, and is parsed once.

    units: every unit that a file may be named after. only: the unit that is graded, where it is a single one.
    """

    def __init__(self, folder: Files, stubs: Path, units: Iterable[str], only: str | None) -> None:
        self.folder = folder
        self.stubs = stubs
        self.units = list(units)
        self.only = only
        # Whether anything that was read is not as students receive it.
        self.worked_on = False
        # The paths that were graded, or that a sentence names.
        self.named: set[str] = set()
        self.notebook: Callable[[str], Notebook | None] = functools.cache(functools.partial(read_notebook, folder))

    def read_unit(self, unit: str) -> UnitSource:
        name = f"{unit}.py"
        stub = self._stub(name)
        sources: dict[str, UnitSource] = {}
        problems: list[str] = []
        for relative in self._places(unit, name):
            try:
                source = self._source(self.folder, relative, stub or "")
            except UnreadableError as error:
                problems.append(str(error))
            else:
                if source:
                    sources[relative] = source
        untouched = [] if stub is None else [code_lines([stub])]
        lines = {path: code_lines(source.cells) for path, source in sources.items()}
        elsewhere: list[str] = []
        if not problems and all(own in untouched for own in lines.values()):
            found = self._elsewhere(
                unit,
                name,
                lambda view, path: self._source(view, path, stub or ""),
                lambda source: code_lines(source.cells),
                untouched,
            )
            elsewhere = _replace(sources, lines, found, untouched, name)
            problems = found.problems
        if not sources:
            raise UnreadableError([*problems, missing_unit(unit)][0])
        chosen, others = _choose(lines, untouched, problems)
        self.worked_on |= lines[chosen] not in untouched
        self.named |= lines.keys()
        source = sources[chosen]
        remarks = [*elsewhere, *source.remarks, *others]
        beside = [name for name in _NEVER_READ if self._is_there(str(Path(chosen).with_name(name)))]
        if beside:
            remarks.append(f"Nothing reads or runs what lies beside {chosen}: {', '.join(beside)}.")
        return dataclasses.replace(source, remarks=tuple(remarks))

    def read_quiz(self, unit: str) -> SheetSource | CellsSource:
        name = f"{unit}{SHEET_SUFFIX}"
        sources: dict[str, SheetSource | CellsSource] = {}
        problems: list[str] = []
        # Those of notebooks are remarks on the unit as well: here they are told only where nothing else is there.
        of_notebooks: list[str] = []
        is_unreadable = False
        for relative in self._places(unit, name):
            is_notebook = relative.endswith(".ipynb")
            try:
                notebook = self.notebook(relative) if is_notebook else None
                if notebook and not notebook.quiz_cells:
                    of_notebooks.append(
                        f"{relative} has no cells like `answer_1 = ...`, and {name} is missing: answer the quiz in "
                        "one of the two."
                    )
                elif source := self._answers(self.folder, relative, notebook):
                    sources[relative] = source
            except UnreadableError as error:
                (of_notebooks if is_notebook else problems).append(str(error))
                is_unreadable = True
        lines = {path: _answer_lines(source) for path, source in sources.items()}
        stub = self._stub(name)
        untouched = [[]] if stub is None else [[], _written_lines(stub)]
        elsewhere: list[str] = []
        if not is_unreadable and all(own in untouched for own in lines.values()):
            found: _Elsewhere[SheetSource | CellsSource] = self._elsewhere(
                unit, name, self._answers, _answer_lines, untouched
            )
            elsewhere = _replace(sources, lines, found, untouched, name)
            # What else cannot be read is a remark on the unit.
            problems = [] if sources else found.problems
        if not sources:
            raise UnreadableError([*of_notebooks, *problems, missing_sheet(unit)][0])
        chosen, remarks = _choose(lines, untouched, problems)
        self.worked_on |= lines[chosen] not in untouched
        self.named |= lines.keys()
        return dataclasses.replace(sources[chosen], remarks=(*elsewhere, *remarks))

    def ignored(self) -> list[str]:
        """The names that nobody needs where answers may lie; those that could be answers come with what to do."""
        read = {*self.named, *(place for unit in self.units for place in self._places(unit, f"{unit}.py"))}
        read |= {place for unit in self.units for place in self._places(unit, f"{unit}{SHEET_SUFFIX}")}
        above = {path.partition("/")[0] for path in self.named}
        listed: list[str] = []
        for folder in ("", "exercises", *(unit for unit in self.units if self.folder.kind(unit) == "folder")):
            for entry in itertools.islice(self.folder.entries(folder), _MOST_NAMES):
                path = f"{folder}/{entry.name}" if folder else entry.name
                is_place = not folder and entry.name in {"exercises", *self.units, *above}
                if path in read or is_place or entry.is_junk or self._is_ours(entry.name):
                    continue
                canonical = stands_for(entry.name, self.units)
                path += "/" if entry.kind == "folder" else ""
                listed.append(f"{path} ({TO_BE_GRADED} {canonical})" if canonical else path)
        if isinstance(self.folder, Archive) and not self.folder.root:
            listed += self.folder.refused
        # Only where a walk was needed.
        return listed + (self._walked.refused if "_walked" in self.__dict__ else [])

    def _elsewhere(
        self,
        unit: str,
        name: str,
        read: Callable[[Files, str], T | None],
        lines_of: Callable[[T], list[str]],
        untouched: list[list[str]],
    ) -> _Elsewhere[T]:
        """Read what else may be the unit's file `name` or its notebook, wherever it lies and however it is named.

        Misnamed files are read only where those under the right names are as students receive them.
        """
        files, problems, _ = self._walked
        places, wanted = self._places(unit, name), (name, f"{unit}.ipynb")
        result: _Elsewhere[T] = _Elsewhere({}, {}, {}, list(problems))
        for called in (self._by_name, self._near, self._only_one):
            if any(own not in untouched for own in result.lines.values()):
                break
            found = [(file, called(unit, file)) for file in files if file.path not in places]
            for file, canonical in sorted(found, key=lambda one: (one[0].folder, str(one[1]).endswith(".ipynb"))):
                if canonical not in wanted or file.path in result.names.values():
                    continue
                self.named.add(file.path)
                path = f"{file.folder}{canonical}"
                while path in result.sources:  # each gets a path of its own, and its name stays that of the course
                    path = f"_/{path}"
                try:
                    source = read(View({path: Mount(file.tree, file.relative, file.path)}), path)
                except UnreadableError as error:
                    result.problems.insert(0, renamed(str(error), path, _shown(file.path)))
                else:
                    if source is not None:
                        result.sources[path], result.lines[path] = source, lines_of(source)
                        result.names[path] = file.path
        return result

    @functools.cached_property
    def _walked(self) -> Walked:
        return walk(self.folder)

    def _by_name(self, _: str, file: Found) -> str:
        return file.name

    def _near(self, unit: str, file: Found) -> str | None:
        """The course's file that a misnamed one stands for. In the folder of a unit, any notebook is the unit's."""
        if self._is_ours(file.name):
            return None
        is_the_units = file.path.startswith(f"{unit}/") and file.name.lower().endswith(".ipynb")
        return stands_for(file.name, self.units) or (f"{unit}.ipynb" if is_the_units else None)

    def _only_one(self, unit: str, file: Found) -> str | None:
        """The unit's file, of any name, where it alone is graded and nothing else can be meant."""
        return (
            f"{unit}.{'ipynb' if '.ipynb' in file.name.lower() else 'py'}"
            if unit == self.only and self._unnamed == [file]
            else None
        )

    @functools.cached_property
    def _unnamed(self) -> list[Found]:
        """The scripts and notebooks that no unit's name is in and that are not the course's own."""
        code = [file for file in self._walked.files if is_code(file.name) and not self._is_ours(file.name)]
        return [file for file in code if file.name not in _NEVER_READ and stands_for(file.name, self.units) is None]

    def _is_ours(self, name: str) -> bool:
        return (self.stubs / name).is_file() or (self.stubs.parent / name).is_file()

    def _answers(
        self, folder: Files, relative: str, notebook: Notebook | None = None
    ) -> SheetSource | CellsSource | None:
        """The answers to a quiz in a sheet, or in a notebook that has any."""
        if relative.endswith(".ipynb"):
            notebook = notebook or read_notebook(folder, relative)
            cells = notebook.quiz_cells if notebook else ()
            return CellsSource(relative.rpartition("/")[2], cells) if cells else None
        text = read_text(folder, relative, SHEET_LIMIT)
        return None if text is None else SheetSource(text)

    def _places(self, unit: str, name: str) -> list[str]:
        """Where the file `name` or the unit's notebook may lie, in the order in which one is preferred to the next."""
        notebook = f"{unit}.ipynb"
        places = [name, notebook, f"exercises/{name}", f"exercises/{notebook}"]
        # nbgrader keeps a folder for each unit, made for the notebook.
        has_folder = self.folder.kind(unit) in ("folder", "link")
        return [*places, f"{unit}/{notebook}", f"{unit}/{name}"] if has_folder else places

    def _is_there(self, relative: str) -> bool:
        """Whether there is something by that name that is not the course's own."""
        if self.folder.kind(relative) is None:
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

    def _source(self, folder: Files, relative: str, stub: str) -> UnitSource | None:
        if not relative.endswith(".ipynb"):
            text = read_text(folder, relative, CODE_LIMIT)
            if text is None:
                return None
            _require_code([text], relative)
            return UnitSource(relative, (text,))
        notebook = self.notebook(relative) if folder is self.folder else read_notebook(folder, relative)
        if notebook is None:
            return None
        _require_code(notebook.cells, relative)
        notebook = healed(notebook, stub)
        return UnitSource(relative, notebook.cells, notebook.remarks)


@dataclass
class _Elsewhere(Generic[T]):
    """Files that lie or are named otherwise than they should: by path, their sources, what counts of each, and names.

    problems: sentences on what could not be read.
    """

    sources: dict[str, T]
    lines: dict[str, list[str]]
    names: dict[str, str]
    problems: list[str]


def _replace(
    sources: dict[str, T],
    lines: dict[str, list[str]],
    found: _Elsewhere[T],
    untouched: list[list[str]],
    name: str,
) -> list[str]:
    """Put what was found elsewhere in the place of sources that nobody worked on; and give remarks on it.

    Raises UnreadableError where nothing else is there and it is not clear which file counts.
    """
    worked_on = [path for path, own in found.lines.items() if own not in untouched]
    usable = worked_on or ([] if sources else list(found.lines))
    if not usable:
        return []
    names = {path: found.names[path] for path in usable}
    # A script and a notebook under their right names in one folder are chosen from as always.
    is_one_place = all(own.rpartition("/")[2] == path.rpartition("/")[2] for path, own in names.items()) and (
        len({own.rpartition("/")[0] for own in names.values()}) == 1
    )
    if len({tuple(found.lines[path]) for path in usable}) > 1 and not is_one_place:
        several = " and ".join(_shown(own) for own in list(names.values())[:3])
        sentence = f"{several} may each be your {name}: hand in one of them under that name."
        if sources:
            return [sentence]
        raise UnreadableError(f"{name} is missing, and {sentence}")
    passed_over = list(sources)
    sources.clear()
    lines.clear()
    for path in usable if is_one_place else usable[:1]:
        sources[path], lines[path] = found.sources[path], found.lines[path]
    chosen = next(iter(sources))
    canonical = chosen.rpartition("/")[2]
    if names[chosen].rpartition("/")[2] != canonical:
        return [f"{_shown(names[chosen])} is graded as your {canonical}: give it that name next time."]
    if passed_over:
        return [f"{_shown(names[chosen])} is graded, because {passed_over[0]} is as you received it."]
    return []


def _shown(path: str) -> str:
    """A path that a student chose: `repr` makes it fit to be shown."""
    return repr(path)[:100]


def _answer_lines(source: SheetSource | CellsSource) -> list[str]:
    return answer_lines(source.cells) if isinstance(source, CellsSource) else _written_lines(source.text)


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


def _read_commit(folder: Files) -> str | None:
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


def _git_text(folder: Files, name: str) -> str:
    """A file of .git without its last line end; "" where it cannot be read."""
    try:
        return (read_text(folder, f".git/{name}", GIT_LIMIT) or "").removesuffix("\n")
    except UnreadableError:
        return ""
