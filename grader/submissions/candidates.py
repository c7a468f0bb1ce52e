"""Which of several files is graded, where more than one could be a unit's code or its quiz."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.submissions.names import SHEET_SUFFIX
from grader.submissions.plain_files import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grader.submissions.source import UnitSource
    from grader.submissions.tree import Files

_KINDS = {"py": "script", "ipynb": "notebook", "md": "sheet"}


@dataclass(frozen=True)
class Wanted:
    """What is searched for: the code of a unit, or the answers to its quiz.

    Attributes:
        unit: The unit's name.
        name: The name of the file where it is no notebook.
        missing: The sentence where there is no such file.
        read: Reads a file; None where there is none or it holds nothing of the kind. Raises UnreadableError.
        lines_of: Returns what counts of a source.
        untouched: What counts of the files that students receive.
    """

    unit: str
    name: str
    missing: str
    read: Callable[[Files, str], UnitSource | None]
    lines_of: Callable[[UnitSource], list[str]]
    untouched: list[list[str]]

    @property
    def is_quiz(self) -> bool:
        """Whether it is the answers to a quiz."""
        return self.name.endswith(SHEET_SUFFIX)

    def candidate(self, tree: Files, path: str, own_path: str | None = None) -> Candidate | None:
        """Read a file as a candidate; None where `read` returns None. Raises UnreadableError."""
        source = self.read(tree, path)
        if source is None:
            return None
        lines = self.lines_of(source)
        return Candidate(own_path or path, source, lines, lines not in self.untouched)


@dataclass(frozen=True)
class Candidate:
    """A file that may be the one to grade.

    Attributes:
        own_path: Its path in the submission.
        source: What was read from it.
        lines: What counts of it; equal for two copies of the same work.
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
        """Whether the student named it otherwise."""
        return self.own_path.rpartition("/")[2] != self.source.filename


def choose(candidates: Sequence[Candidate], problems: Sequence[str]) -> tuple[Candidate, list[str]]:
    """Choose the first candidate with answers, or else the first.

    Args:
        candidates: One or more, the preferred ones first.
        problems: Sentences on files that could not be read.

    Returns:
        The candidate, and remarks on the other files.
    """
    chosen, *others = [one for one in candidates if one.has_answers] or candidates
    # Two copies of the same work leave nothing to choose.
    rivals = [other for other in others if other.has_answers and other.lines != chosen.lines]
    remarks = [_also_has_answers(chosen.path, other.path) for other in rivals]
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
    # A script and a notebook under their right names in one folder are chosen from as always.
    is_one_place = (
        not any(one.is_misnamed for one in usable) and len({one.own_path.rpartition("/")[0] for one in usable}) == 1
    )
    if len({tuple(one.lines) for one in usable}) > 1 and not is_one_place:
        several = " and ".join(quoted(one.own_path) for one in usable[:3])
        sentence = f"{several} may each be your {name}: hand in one of them under that name."
        if candidates:
            return candidates, [sentence]
        raise UnreadableError(f"{name} is missing, and {sentence}")
    first, remarks = usable[0], []
    right = first.source.filename
    if first.is_misnamed:
        remarks = [f"{quoted(first.own_path)} was graded as {right}: rename it to {right}."]
    elif candidates:
        remarks = [f"{quoted(first.own_path)} was graded, because {candidates[0].path} has no answers."]
    return (usable if is_one_place else [first]), remarks


def quoted(path: str) -> str:
    """Quote a path that a student chose, so that it can be printed."""
    return repr(path)[:100]


def _also_has_answers(chosen: str, other: str) -> str:
    kinds = [_KINDS[path.rpartition(".")[2]] for path in (chosen, other)]
    graded = f"`{chosen}`" if kinds[0] == kinds[1] else f"the {kinds[0]}"
    return f"Both `{chosen}` and `{other}` contain answers; only {graded} was graded."
