"""Finds the files that could be a unit's code or the answers to its quiz, and chooses the one that is graded."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from grader.submissions.contents import ANOTHER, SubmissionFiles, Wrong
from grader.submissions.file_text import (
    IS_DOCUMENT,
    MisnamedError,
    code_of,
    read_remarked,
    refuse_others,
    require_script,
)
from grader.submissions.notebook import CODE_LIMIT, NOTEBOOK_LIMIT, answer_lines, code_lines, repaired
from grader.submissions.submission import (
    DEFINITION,
    SHEET_LIMIT,
    UnitSource,
    exported_name,
    filenames,
    intended_name,
    is_published,
    quoted_name,
    written_lines,
)
from grader.submissions.tree import Files, Ignored, TreePart, UnreadableError, View, refuse_beyond, renamed

# So many of the files that have one name are read.
_MOST_TRIED = 10


class NoQuizCellsError(UnreadableError):
    """A notebook has no cells with answers to the quiz."""


@dataclass(frozen=True)
class Wanted:
    """What is searched for in the files of a submission: the code of a unit, or the answers to its quiz."""

    files: SubmissionFiles
    unit: str
    is_quiz: bool

    @property
    def name(self) -> str:
        """The name of the file, if it is not a notebook."""
        script, _, sheet = filenames(self.unit)
        return sheet if self.is_quiz else script

    def candidate(self, tree: Files, path: str, own_path: str | None = None) -> Candidate | None:
        """Read a file as a candidate; None if there is none, or it has no cells of the quiz. Raises UnreadableError."""
        try:
            source = self._answers(tree, path) if self.is_quiz else self._code(tree, path, own_path or path)
        except MisnamedError as error:
            if self.is_quiz:
                raise
            return self._renamed(tree, path, own_path, error)
        if source is None:
            return None
        if not self.is_quiz:
            lines = code_lines(source.cells)
        else:
            lines = answer_lines(source.cells) if source.is_notebook else written_lines(source.cells[0])
        return Candidate(own_path or path, source, lines, lines not in self._untouched)

    def _renamed(self, tree: Files, path: str, own_path: str | None, misnamed: MisnamedError) -> Candidate | None:
        """Read a file of another kind than its name says under the name that it should have."""
        try:
            found = self.candidate(View({misnamed.right: TreePart(tree, path, path)}), misnamed.right, own_path or path)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), misnamed.right, path)) from None
        if found is None or own_path:  # then a remark names it already
            return found
        source = dataclasses.replace(found.source, remarks=(str(misnamed), *found.source.remarks))
        return dataclasses.replace(found, source=source)

    @functools.cached_property
    def _untouched(self) -> list[list[str]]:
        """The lines of the files that students receive."""
        stub = self.files.course_files.text(self.name)
        if stub is None:
            return [[]] if self.is_quiz else []
        return [[], written_lines(stub)] if self.is_quiz else [code_lines([stub])]

    def _code(self, tree: Files, path: str, own_path: str) -> UnitSource | None:
        """Read the code in a script or a notebook; None if there is no file. Raises UnreadableError."""
        if path.endswith(".ipynb"):
            notebook = self.files.notebook(tree, path)
            source, fault = notebook and notebook.code, "has no code in it"
        else:
            source, fault = self._script(tree, path, own_path), "is empty"
        if source is None:
            return None
        if not code_lines(source.cells):
            fault = "holds only comments" if any(cell.strip() for cell in source.cells) else fault
            raise UnreadableError(f"{path} {fault}: write your answers there and save it.")
        if other := self.files.other_unit("\n".join(source.cells), self.unit):
            advice = f"hand in your answer to {self.unit}"
            raise UnreadableError(self.files.named([Wrong(path, ANOTHER, other)], advice))
        stub = self.files.course_files.text(self.name) or ""
        return repaired(source, stub) if source.is_notebook else source

    def _script(self, tree: Files, path: str, own_path: str) -> UnitSource | None:
        read = read_remarked(tree, path, NOTEBOOK_LIMIT)  # it may be a notebook, or an export of one
        if read is None:
            return None
        require_script(read.text, path)
        refuse_beyond(CODE_LIMIT, len(read.text), path)
        text, remarks = code_of(read, path, own_path)
        return UnitSource(path, (text,), remarks)

    def _answers(self, tree: Files, path: str) -> UnitSource | None:
        """Read the answers to a quiz in a sheet, or in a notebook that has any. Raises UnreadableError."""
        if not path.endswith(".ipynb"):
            read = read_remarked(tree, path, SHEET_LIMIT)
            if read is None:
                return None
            refuse_others(read.text, path)
            return UnitSource(path, (read.text,), read.remarks)
        notebook = self.files.notebook(tree, path)
        if notebook is None or notebook.quiz.cells:
            return notebook and notebook.quiz
        if tree is self.files.tree:
            raise NoQuizCellsError(
                f"{path} has no cells like `answer_1 = ...`, and {self.name} is missing: answer the quiz in one of the "
                "two."
            )
        return None

    def misplaced(self, places: Collection[str]) -> tuple[list[Candidate], list[str]]:
        """Find such files outside the right places.

        A file under another name is read only if those under the right names are as students receive them.

        Returns:
            The candidates, and sentences on what could not be read.
        """
        files, problems, _ = self.files.walked
        names = (self.name, f"{self.unit}.ipynb")
        candidates: list[Candidate] = []
        unreadable: list[str] = []
        for name_of in (self._own_name, self._near_name, self._only_name, self._exported_name):
            if any(one.has_answers for one in candidates):
                break
            known = {*places, *(one.own_path for one in candidates)}
            found = [(file, name) for file in files if file.path not in known and (name := name_of(file)) in names]
            found.sort(key=lambda one: (one[0].folder, one[1].endswith(".ipynb")))
            for file, name in found[:_MOST_TRIED]:
                self.files.seen.add(file.path)
                try:
                    candidate = self._candidate(file, name, {other.path for other in candidates})
                except UnreadableError as error:
                    unreadable.insert(0, str(error))
                    self.files.unreadable.append(Ignored.because(file.path, str(error), quoted_name(file.path)))
                else:
                    cells = candidate.source.cells if candidate else ()
                    is_document = name_of == self._exported_name and not self.is_quiz
                    if is_document and not any(map(DEFINITION.search, cells)):
                        self.files.seen.discard(file.path)  # a text about the unit
                    elif candidate and not is_published(cells[0]):
                        candidates.append(candidate)
        return candidates, unreadable + problems

    def _candidate(self, file: TreePart, name: str, taken: Collection[str]) -> Candidate | None:
        path = f"{file.folder}{name}"
        while path in taken:  # each gets a path of its own, which ends in the course's name
            path = f"_/{path}"
        try:
            return self.candidate(View({path: file}), path, file.path)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), path, quoted_name(file.path))) from None

    def _own_name(self, file: TreePart) -> str:
        return file.name

    def _near_name(self, file: TreePart) -> str | None:
        """Return the name that a misnamed file should have. In the folder of a unit, any notebook is the unit's."""
        if file.path in self.files.sheets:
            return filenames(self.files.sheets[file.path])[2]
        if file.name in self.files.course_files:
            return None
        is_the_units = file.path.startswith(f"{self.unit}/") and file.name.lower().endswith(".ipynb")
        return intended_name(file.name, self.files.units) or (f"{self.unit}.ipynb" if is_the_units else None)

    def _only_name(self, file: TreePart) -> str | None:
        """Return the name that a file of any name should have, if one unit is graded and no other file fits."""
        suffix = "ipynb" if ".ipynb" in file.name.lower() else "py"
        return f"{self.unit}.{suffix}" if self.unit == self.files.only and file in self.files.unnamed else None

    def _exported_name(self, file: TreePart) -> str | None:
        """Return the name of what a document was made of, so that a sentence says what it is."""
        is_known = file.name in self.files.course_files or file.path in self.files.sheets
        return None if is_known else exported_name(file.name, self.files.units)


@dataclass(frozen=True)
class Candidate:
    """A file that may be the one to grade.

    Attributes:
        own_path: Its path in the submission.
        source: What was read from it.
        lines: The lines that are compared: equal for two copies of the same work.
        has_answers: Whether it differs from what students receive.
    """

    own_path: str
    source: UnitSource
    lines: list[str]
    has_answers: bool

    @property
    def path(self) -> str:
        """Its path under the name that it should have."""
        return self.source.path

    @property
    def is_misnamed(self) -> bool:
        """Whether the student gave it another name."""
        return self.own_path.rpartition("/")[2] != self.source.filename


_KINDS = {"py": "script", "ipynb": "notebook", "md": "sheet"}


def choose(candidates: Sequence[Candidate], problems: Sequence[str]) -> tuple[Candidate, list[str]]:
    """Choose the first candidate with answers, or else the first.

    Args:
        candidates: One or more, the preferred ones first.
        problems: Sentences on files that could not be read.

    Returns:
        The candidate, and remarks on the other files.
    """
    chosen, *others = [one for one in candidates if one.has_answers] or candidates
    # Two copies of the same work need no choice.
    rivals = [other for other in others if other.has_answers and other.lines != chosen.lines]
    remarks = [_also_has_answers(chosen, other) for other in rivals]
    return chosen, remarks + [f"{problem} {chosen.path} is graded." for problem in dict.fromkeys(problems)]


def replace_untouched(
    candidates: Sequence[Candidate], misplaced: Sequence[Candidate], name: str
) -> tuple[Sequence[Candidate], list[str]]:
    """Prefer files with answers in other places or under other names to files as students receive them.

    Args:
        candidates: The files under the right names, none of which has answers.
        misplaced: The files found elsewhere.
        name: The name that such a file should have.

    Returns:
        The candidates to choose from, and remarks on the choice.

    Raises:
        UnreadableError: There are no candidates, and it is not clear which of the misplaced files counts.
    """
    usable = [one for one in misplaced if one.has_answers] or ([] if candidates else misplaced)
    if not usable:
        return candidates, []
    # Between a script and a notebook under their right names in one folder, `choose` decides.
    is_one_place = (
        not any(one.is_misnamed for one in usable) and len({one.own_path.rpartition("/")[0] for one in usable}) == 1
    )
    if len({tuple(one.lines) for one in usable}) > 1 and not is_one_place:
        several = " and ".join(quoted_name(one.own_path) for one in usable[:3])
        sentence = f"{several} may each be your {name}: hand in one of them under that name."
        if candidates:
            return candidates, [sentence]
        raise UnreadableError(f"{name} is missing, and {sentence}")
    first, remarks = usable[0], []
    right = first.source.filename
    if first.is_misnamed and any(IS_DOCUMENT in one for one in first.source.remarks):
        named = tuple(renamed(one, first.path, quoted_name(first.own_path)) for one in first.source.remarks)
        first = dataclasses.replace(first, source=dataclasses.replace(first.source, remarks=named))
    elif first.is_misnamed:
        remarks = [f"{quoted_name(first.own_path)} was graded as {right}: rename it to {right}."]
    elif candidates:
        remarks = [f"{quoted_name(first.own_path)} was graded, because {candidates[0].path} has no answers."]
    return (usable if is_one_place else [first]), remarks


def _also_has_answers(chosen: Candidate, other: Candidate) -> str:
    kinds = [_KINDS[one.path.rpartition(".")[2]] for one in (chosen, other)]
    graded = f"`{chosen.own_path}`" if kinds[0] == kinds[1] else f"the {kinds[0]}"
    return f"Both `{chosen.own_path}` and `{other.own_path}` contain answers; only {graded} was graded."
