"""Reads one student's submission: which file of each unit is graded, and which of each quiz.

Others wrote it, and it may be hostile. So only `tree`, `archives`, `file_text` and `notebook` read it, each fault
becomes a sentence, and nothing of it is parsed as Python, imported or run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.submissions.archives import Folder, Unopened
from grader.submissions.candidates import (
    Candidate,
    NoQuizCellsError,
    Wanted,
    choose,
    replace_untouched,
)
from grader.submissions.contents import EARLIER_CONFTEST, NEVER_READ, SubmissionFiles
from grader.submissions.file_text import read_text
from grader.submissions.submission import (
    CHECKS,
    FOLDER,
    RELEASED,
    SHEET_LIMIT,
    TIMESTAMP,
    Submission,
    UnitSource,
    UnitSubmission,
    filenames,
    intended_name,
    missing_file,
    places,
)
from grader.submissions.tree import MEGABYTE, Files, Ignored, UnreadableError, joined

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

    If none of these has answers, the other folders, archives and misnamed files in it are searched. Nothing that a
    student can do raises an error: what cannot be read becomes a `problem` or a `quiz_problem`.

    Args:
        student: The name in reports.
        folder: The submission.
        unit_names: The units to grade.
        stubs: The folder of the course's own files. Of several files for one unit, answers win over the stub.
        sibling_names: Units that are read as well, if they can be, because the others may import them.
        quiz_names: The units whose quiz is read, from the sheet <unit>_quiz.md or from cells of <unit>.ipynb.
        only: The unit that the whole submission is for, if there is one. A script or notebook of any name is then
            that unit's, if it is the only one.
    """
    names, with_quiz = list(unit_names), set(quiz_names)
    reader = _Reader(folder, stubs, [*names, *sibling_names], only)
    units = {}
    for name in names:
        quiz = reader.read(name, is_quiz=True) if name in with_quiz else (None, "")
        units[name] = UnitSubmission(*reader.read(name), *quiz)
    others = (name for name in sibling_names if name not in units)
    siblings = {name: code for name in others if (code := reader.read(name)[0])}
    is_wrong = any(
        one.problem not in ("", missing_file(name)) or one.quiz_problem not in ("", missing_file(name, is_quiz=True))
        for name, one in units.items()
    )
    # Of a unit that is graded alone, it is said where its file is looked for.
    if names and not (only or is_wrong or any(one.code or one.quiz for one in units.values())):
        units[names[0]] = dataclasses.replace(units[names[0]], problem=reader.files.instead_of(names[0]))
    # An empty submission counts as handed in, so that somebody finds out why.
    handed_in = reader.has_answers or is_wrong or not any(one.code for one in units.values())
    commit, ignored = read_commit(reader.tree), tuple(reader.ignored())
    return Submission(student, commit, units, siblings, handed_in, ignored=ignored)


class UnitFiles(NamedTuple):
    """The files that are graded as a unit and its quiz.

    Attributes:
        own_paths: The path of each in the submission, by the name that it should have.
        problem: Why there is no code, if so.
        ignored: The names that were ignored.
    """

    own_paths: dict[str, str]
    problem: str
    ignored: list[Ignored]


def find_files(folder: Path | Files, unit: str, stubs: Path, unit_names: Iterable[str], has_quiz: bool) -> UnitFiles:
    """Find the files that `read_submission` reads if the whole submission is for `unit`."""
    reader = _Reader(folder, stubs, [unit, *unit_names], unit)
    own_paths: dict[str, str] = {}
    problems = []
    for is_quiz in (False, True) if has_quiz else (False,):
        try:
            chosen, _ = reader.choose(Wanted(reader.files, unit, is_quiz))
        except UnreadableError as error:
            problems += [] if is_quiz else [str(error)]
        else:
            own_paths.setdefault(chosen.source.filename, chosen.own_path)
    return UnitFiles(own_paths, "".join(problems), reader.ignored())


class _Reader:
    """Reads the files of one submission."""

    def __init__(self, folder: Path | Files, stubs: Path, units: Iterable[str], only: str | None) -> None:
        tree = Folder(folder) if isinstance(folder, Path) else folder
        self.tree = tree.opened() if isinstance(tree, Unopened) else tree
        self.files = SubmissionFiles(self.tree, [*dict.fromkeys(units)], only, stubs)
        # Whether anything that was read differs from what students receive.
        self.has_answers = False

    def read(self, unit: str, is_quiz: bool = False) -> tuple[UnitSource | None, str]:
        """Return what could be read of a unit's code or of its quiz, or else why it could not."""
        try:
            chosen, remarks = self.choose(Wanted(self.files, unit, is_quiz))
            beside = [] if is_quiz else self._beside(chosen.path)
        except UnreadableError as error:
            return None, str(error)
        return dataclasses.replace(chosen.source, remarks=(*remarks, *beside)), ""

    def ignored(self) -> list[Ignored]:
        """List the names that were ignored in the places of answers, each with what to do if it could be one."""
        read = set(self.files.seen)
        for unit in self.files.units:
            script, _, sheet = filenames(unit)
            read.update(places(self.tree, unit, script), places(self.tree, unit, sheet))
            read.add(f"{unit}/{TIMESTAMP}")  # for its time
        inside = [*self.files.seen, *(one.path for one in self.files.refused)]
        above = {str(one) for path in map(PurePosixPath, inside) for one in (path, *path.parents)}
        ignored: list[Ignored] = []
        for folder in ("", FOLDER, *(unit for unit in self.files.units if self.tree.kind(unit) == "folder")):
            for entry in self.tree.entries(folder)[:_MOST_NAMES]:
                path = joined(folder, entry.name)
                is_place = path in above or (not folder and entry.name in {FOLDER, *self.files.units})
                is_the_courses = entry.name in {CHECKS, *self.files.course_files} or RELEASED.fullmatch(entry.name)
                if path in read or is_place or entry.is_junk or is_the_courses:
                    continue
                name = intended_name(entry.name, self.files.units)
                ignored.append(
                    Ignored(f"{path}/" if entry.kind == "folder" else path, f"rename it to {name}" if name else "")
                )
        found = [*self.files.wrong.values(), *self.files.unreadable, *ignored, *self.tree.refused, *self.files.refused]
        return [*dict.fromkeys(found)]

    def choose(self, wanted: Wanted) -> tuple[Candidate, tuple[str, ...]]:
        """Choose the wanted file; if none under the right names has answers, search the whole submission."""
        right = places(self.tree, wanted.unit, wanted.name)
        found, errors = self._under_right_names(wanted, right)
        # The unit's remarks have the errors of notebooks already. For a quiz they count only if there is no other file.
        of_notebooks = [str(error) for path, error in errors if wanted.is_quiz and path.endswith(".ipynb")]
        problems = [str(error) for path, error in errors if not (wanted.is_quiz and path.endswith(".ipynb"))]
        elsewhere: list[str] = []
        misplaced: list[Candidate] = []
        is_damaged = any(not isinstance(error, NoQuizCellsError) for _, error in errors)
        if not is_damaged and not any(one.has_answers for one in found):
            misplaced, problems = wanted.misplaced(right)
            found, elsewhere = replace_untouched(found, misplaced, wanted.name)
            # The unit's remarks have these as well.
            problems = [] if found and wanted.is_quiz else problems
        if not found:
            if problems := [*of_notebooks, *problems]:
                raise UnreadableError(problems[0])
            is_only = wanted.unit == self.files.only
            sentence = self.files.instead_of if is_only else missing_file
            raise UnreadableError(sentence(wanted.unit, wanted.is_quiz))
        chosen, remarks = choose(found, problems)
        has_answers = any(one.has_answers for one in (chosen, *misplaced))
        if wanted.unit == self.files.only and not has_answers:
            elsewhere = [*(beside := self.files.beside_stub(wanted.unit, wanted.is_quiz)), *elsewhere]
            problems += beside
        self.has_answers |= has_answers or bool(problems)
        self.files.seen.update(one.path for one in found)
        return chosen, (*elsewhere, *chosen.source.remarks, *remarks)

    def _under_right_names(
        self, wanted: Wanted, right: Sequence[str]
    ) -> tuple[Sequence[Candidate], list[tuple[str, UnreadableError]]]:
        """Read the files in the right places; return them, and the errors of the others with their paths."""
        found: list[Candidate] = []
        errors: list[tuple[str, UnreadableError]] = []
        for path in right:
            try:
                candidate = wanted.candidate(self.tree, path)
            except UnreadableError as error:
                errors.append((path, error))
            else:
                found += [candidate] if candidate else []
        return found, errors

    def _beside(self, path: str) -> list[str]:
        """Return a remark on the files beside a graded one that another grader would import or obey."""
        beside = [name for name in NEVER_READ if self._is_there(str(Path(path).with_name(name)))]
        return [f"Files beside {path} are neither read nor run: {', '.join(beside)}."] if beside else []

    def _is_there(self, path: str) -> bool:
        """Return whether a file of that name exists that is not the course's own."""
        if self.tree.kind(path) is None:
            return False
        with contextlib.suppress(UnreadableError):
            text = read_text(self.tree, path, SHEET_LIMIT)
            return text not in (self.files.course_files.text(Path(path).name), EARLIER_CONFTEST)
        return True


GIT_LIMIT = 4 * MEGABYTE

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# What git allows, including `$(…)` and quotes: it is only used as a path, never in a shell.
_GIT_REFERENCE = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")


def read_commit(folder: Files) -> str | None:
    """Return the hash of the commit checked out; None if there is none or it cannot be read."""
    head = _git_text(folder, "HEAD")
    reference = head.removeprefix("ref: ")
    if reference == head:
        return head if COMMIT.fullmatch(head) else None
    if not _GIT_REFERENCE.fullmatch(reference) or not {"", ".", ".."}.isdisjoint(reference.split("/")):
        return None
    packed = _git_text(folder, "packed-refs")
    commits = [_git_text(folder, reference)]
    commits += [line[: -len(reference) - 1] for line in packed.split("\n") if line.endswith(f" {reference}")]
    return next((commit for commit in commits if COMMIT.fullmatch(commit)), None)


def _git_text(folder: Files, name: str) -> str:
    """Return a file of .git without its last line end; "" if it cannot be read."""
    try:
        return (read_text(folder, f".git/{name}", GIT_LIMIT) or "").removesuffix("\n")
    except UnreadableError:
        return ""
