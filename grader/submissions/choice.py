"""Chooses the file that is graded among those that could be a unit's code or the answers to its quiz."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from grader.submissions.kinds import IS_DOCUMENT
from grader.submissions.names import quoted_name
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tree import renamed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.submissions.candidates import Candidate

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
