"""Reads one student's submission: which file of each unit is graded, and which of each quiz.

It is written by others and may be hostile. So it is read by `plain_files` and `notebook` alone, whatever is wrong with
it becomes a sentence, and none of it is parsed as Python, imported or run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader.submissions.archives import Archive
from grader.submissions.candidates import Candidate, Wanted, choose, replace_untouched
from grader.submissions.folder import Folder
from grader.submissions.git_commit import read_commit
from grader.submissions.ignored import Ignored
from grader.submissions.misnamed import NEVER_READ, Search
from grader.submissions.names import SHEET_SUFFIX, intended_name
from grader.submissions.notebook import CODE_LIMIT, Notebook, answer_lines, code_lines, read_notebook
from grader.submissions.notebook_repair import repaired
from grader.submissions.places import FOLDER, CourseFiles, filenames, folders, missing_sheet, missing_unit, places
from grader.submissions.plain_files import UnreadableError, read_text
from grader.submissions.source import SHEET_LIMIT, CellsSource, SheetSource, Submission, UnitSource
from grader.submissions.tree import joined
from grader.submissions.views import Later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grader.submissions.tree import Files

T = TypeVar("T")

_MOST_NAMES = 1000
"""The most names of a folder that are looked at."""


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

    Where none of these has answers, other folders and archives in it are searched, and misnamed files too. Nothing
    that a student can do raises an error: what cannot be read becomes a sentence in `problems` or `sheet_problems`.

    Args:
        student: The name in reports.
        folder: The submission.
        unit_names: The units to grade.
        stubs: The folder of the course's own files. Where one is there more than once, answers win over the stub.
        sibling_names: Units that come with them where they can be read, because the others may import them.
        quiz_names: The units whose quiz is read, from the sheet <unit>_quiz.md or from cells of <unit>.ipynb.
        only: The unit that the whole submission is for, if there is one. A script or notebook of any name is then
            that unit's, where it is the only one.
    """
    unit_names = list(unit_names)
    tree: Files = Folder(folder) if isinstance(folder, Path) else folder
    tree = tree.opened() if isinstance(tree, Later) else tree
    reader = _Reader(tree, CourseFiles(stubs), [*dict.fromkeys([*unit_names, *sibling_names])], only)
    units, problems = _read_each(reader.read_unit, unit_names)
    siblings, _ = _read_each(reader.read_unit, (unit for unit in sibling_names if unit not in units))
    sheets, sheet_problems = _read_each(reader.read_quiz, quiz_names)
    is_wrong = any(problem != missing_unit(unit) for unit, problem in problems.items())
    is_wrong |= any(problem != missing_sheet(unit) for unit, problem in sheet_problems.items())
    # Where there is nothing at all, it is for somebody to find out why.
    handed_in = reader.has_answers or is_wrong or not units
    return Submission(
        student, folder, read_commit(tree), units, problems, siblings, sheets, sheet_problems, handed_in,
        ignored=tuple(reader.ignored()),
    )  # fmt: skip


def _read_each(read: Callable[[str], T], units: Iterable[str]) -> tuple[dict[str, T], dict[str, str]]:
    """Return what could be read of each unit, and why the others could not."""
    found: dict[str, T] = {}
    problems: dict[str, str] = {}
    for unit in units:
        try:
            found[unit] = read(unit)
        except UnreadableError as error:
            problems[unit] = str(error)
    return found, problems


class _Reader:
    """Reads the files of one submission. A notebook holds a unit and its quiz, and is parsed once."""

    def __init__(self, tree: Files, course_files: CourseFiles, units: Sequence[str], only: str | None) -> None:
        self.tree = tree
        self.course_files = course_files
        self.units = units
        self.search = Search(tree, units, only, course_files)
        # Whether anything that was read differs from what students receive.
        self.has_answers = False
        # The paths that were graded, or that a sentence names.
        self.named = self.search.seen
        self.own_notebook: Callable[[str], Notebook | None] = functools.cache(functools.partial(read_notebook, tree))

    def read_unit(self, unit: str) -> UnitSource:
        """Read a unit's code. Raises UnreadableError."""
        name, _, _ = filenames(unit)
        stub = self.course_files.text(name)
        wanted = Wanted(
            unit,
            name,
            read=lambda tree, path: self._code(tree, path, stub or ""),
            lines_of=lambda source: code_lines(source.cells),
            untouched=[] if stub is None else [code_lines([stub])],
        )
        found, errors = self._under_right_names(wanted)
        problems = [str(error) for error in errors.values()]
        elsewhere: list[str] = []
        if not problems and not any(one.has_answers for one in found):
            found, problems, elsewhere = self._or_misplaced(wanted, found)
        if not found:
            raise UnreadableError([*problems, missing_unit(unit)][0])
        chosen, remarks = self._chosen(found, problems)
        source = chosen.source
        remarks = [*elsewhere, *source.remarks, *remarks, *self._beside(chosen.path)]
        return dataclasses.replace(source, remarks=tuple(remarks))

    def read_quiz(self, unit: str) -> SheetSource | CellsSource:
        """Read the answers to a unit's quiz. Raises UnreadableError."""
        _, _, name = filenames(unit)
        stub = self.course_files.text(name)
        wanted: Wanted[SheetSource | CellsSource] = Wanted(
            unit, name, self._answers, _answer_lines, untouched=[[]] if stub is None else [[], _written_lines(stub)]
        )
        found, errors = self._under_right_names(wanted)
        # Those of notebooks are remarks on the unit as well, and are reported here only where no other file is there.
        of_notebooks = [str(error) for path, error in errors.items() if path.endswith(".ipynb")]
        problems = [str(error) for path, error in errors.items() if not path.endswith(".ipynb")]
        elsewhere: list[str] = []
        is_readable = all(isinstance(error, _NoQuizCells) for error in errors.values())
        if is_readable and not any(one.has_answers for one in found):
            found, problems, elsewhere = self._or_misplaced(wanted, found)
            # What else cannot be read is a remark on the unit.
            problems = [] if found else problems
        if not found:
            raise UnreadableError([*of_notebooks, *problems, missing_sheet(unit)][0])
        chosen, remarks = self._chosen(found, problems)
        return dataclasses.replace(chosen.source, remarks=(*elsewhere, *remarks))

    def ignored(self) -> list[Ignored]:
        """List the names that nothing needs in the places of answers, each with what to do if it could be one."""
        read = set(self.named)
        for unit in self.units:
            code, _, sheet = filenames(unit)
            read.update(places(self.tree, unit, code), places(self.tree, unit, sheet))
        above = {path.partition("/")[0] for path in self.named}
        ignored: list[Ignored] = []
        for folder in folders(self.tree, self.units):
            for entry in itertools.islice(self.tree.entries(folder), _MOST_NAMES):
                path = joined(folder, entry.name)
                is_place = not folder and entry.name in {FOLDER, *self.units, *above}
                if path in read or is_place or entry.is_junk or entry.name in self.course_files:
                    continue
                name = intended_name(entry.name, self.units)
                ignored.append(
                    Ignored(f"{path}/" if entry.kind == "folder" else path, f"rename it to {name}" if name else "")
                )
        if isinstance(self.tree, Archive) and not self.tree.root:
            ignored += self.tree.refused
        return ignored + self.search.refused

    def _under_right_names(self, wanted: Wanted[T]) -> tuple[Sequence[Candidate[T]], dict[str, UnreadableError]]:
        """Read the files in the places of what is wanted; return them, and the errors of the others by path."""
        found: list[Candidate[T]] = []
        errors: dict[str, UnreadableError] = {}
        for path in places(self.tree, wanted.unit, wanted.name):
            try:
                candidate = wanted.candidate(self.tree, path)
            except UnreadableError as error:
                errors[path] = error
            else:
                found += [candidate] if candidate else []
        return found, errors

    def _or_misplaced(
        self, wanted: Wanted[T], found: Sequence[Candidate[T]]
    ) -> tuple[Sequence[Candidate[T]], list[str], list[str]]:
        """Search all of the submission; return the candidates, what could not be read, and remarks."""
        misplaced, problems = self.search.find(wanted, places(self.tree, wanted.unit, wanted.name))
        candidates, remarks = replace_untouched(found, misplaced, wanted.name)
        return candidates, problems, remarks

    def _chosen(self, found: Sequence[Candidate[T]], problems: Sequence[str]) -> tuple[Candidate[T], list[str]]:
        chosen, remarks = choose(found, problems)
        self.has_answers |= chosen.has_answers
        self.named.update(one.path for one in found)
        return chosen, remarks

    def _code(self, tree: Files, path: str, stub: str) -> UnitSource | None:
        """Read the code in a script or a notebook; None where there is no file. Raises UnreadableError."""
        if not path.endswith(".ipynb"):
            text = read_text(tree, path, CODE_LIMIT)
            if text is None:
                return None
            _require_code([text], path)
            return UnitSource(path, (text,))
        notebook = self._notebook(tree, path)
        if notebook is None:
            return None
        _require_code(notebook.cells, path)
        notebook = repaired(notebook, stub)
        return UnitSource(path, notebook.cells, notebook.remarks)

    def _answers(self, tree: Files, path: str) -> SheetSource | CellsSource | None:
        """Read the answers to a quiz in a sheet, or in a notebook that has any. Raises UnreadableError."""
        if not path.endswith(".ipynb"):
            text = read_text(tree, path, SHEET_LIMIT)
            return None if text is None else SheetSource(text)
        notebook = self._notebook(tree, path)
        if notebook is None:
            return None
        name = path.rpartition("/")[2]
        if notebook.quiz_cells:
            return CellsSource(name, notebook.quiz_cells)
        if tree is self.tree:
            sheet = f"{name.removesuffix('.ipynb')}{SHEET_SUFFIX}"
            raise _NoQuizCells(
                f"{path} has no cells like `answer_1 = ...`, and {sheet} is missing: answer the quiz in one of the two."
            )
        return None

    def _notebook(self, tree: Files, path: str) -> Notebook | None:
        return self.own_notebook(path) if tree is self.tree else read_notebook(tree, path)

    def _beside(self, path: str) -> list[str]:
        """Return a remark on the files beside a graded one that another grader would import or obey."""
        beside = [name for name in NEVER_READ if self._is_there(str(Path(path).with_name(name)))]
        return [f"Files beside {path} are neither read nor run: {', '.join(beside)}."] if beside else []

    def _is_there(self, path: str) -> bool:
        """Tell whether there is something by that name that is not the course's own."""
        if self.tree.kind(path) is None:
            return False
        with contextlib.suppress(UnreadableError):
            return read_text(self.tree, path, SHEET_LIMIT) != self.course_files.text(Path(path).name)
        return True


class _NoQuizCells(UnreadableError):
    """A notebook has no cells with answers to the quiz."""


def _answer_lines(source: SheetSource | CellsSource) -> list[str]:
    return answer_lines(source.cells) if isinstance(source, CellsSource) else _written_lines(source.text)


def _written_lines(text: str) -> list[str]:
    """Return the lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _require_code(cells: Sequence[str], path: str) -> None:
    if not any(cell.strip() for cell in cells):
        what = "has no code in it" if path.endswith(".ipynb") else "is empty"
        raise UnreadableError(f"{path} {what}: write your answers there and save it.")
