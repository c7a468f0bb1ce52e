"""Finds the layout that fits what an instructor gives. If none or several fit, nothing is guessed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.submissions.archives import Archive, Folder, open_archive
from grader.submissions.layouts import (
    ADVICE,
    LAYOUTS,
    ROSTER,
    SINGLE,
    WRAPPERS,
    ClassTree,
    described,
    is_marked,
    is_submission,
)
from grader.submissions.members import CLASS
from grader.submissions.names import FOLDER, SubmissionError, exported_name, is_code, missing, quoted, require_folder
from grader.submissions.plain_files import UnreadableError, read_bytes
from grader.submissions.tree import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from grader.submissions.tree import Entry, Files

_BRANCH = re.compile(r".*-(main|master)")
_MOST_WRAPPED = 3
"""The most folders around the one of the class."""


def open_given(path: Path) -> Files:
    """Open a folder or an archive of a class. Raises SubmissionError if it cannot be read."""
    try:
        if not ARCHIVE.search(path.name) or (path.is_dir() and not path.is_symlink()):
            require_folder(path)
            next(path.iterdir(), None)
            return Folder(path)
        content = read_bytes(path.parent, path.name, CLASS.size)
        if content is None:
            raise missing(path)
        return open_archive(content, path.name, 0, CLASS)
    except UnreadableError as error:
        raise SubmissionError(str(error)) from None
    except OSError:
        raise SubmissionError(f"{quoted(path)} cannot be listed: make it readable for the grader.") from None


def layout_of(root: ClassTree, in_roster: Collection[str]) -> str:
    """Return the only layout that explains every entry that may be a submission.

    Args:
        root: The tree that the instructor gives.
        in_roster: The entries whose student the roster names.

    Raises:
        SubmissionError: None fits, or several do.
    """
    fitting = _fitting(root, in_roster)
    if len(fitting) != 1:
        raise SubmissionError(_refusal(root, in_roster, fitting))
    return fitting[0]


def _fitting(root: ClassTree, in_roster: Collection[str]) -> list[str]:
    trees = [entry for entry in root.entries if entry.is_tree]
    relevant = root.relevant
    if is_submission(root.tree, root.units):
        return _fitting_submission(root, trees)
    if len(trees) == 1 == len(relevant) and not in_roster and root.holds_answers(trees[0]):
        only = trees[0]
        is_archive = isinstance(root.tree, Archive)
        own_name = ARCHIVE.sub("", root.path.resolve().name)
        if only.name in WRAPPERS or (is_archive and (only.name == own_name or _BRANCH.fullmatch(only.name))):
            return [SINGLE]
        if is_archive and not is_marked(only):
            return [SINGLE, "folders"]
    if not relevant:
        names = [entry.name for entry in root.entries if entry.kind == "file"]
        has_code = any(is_code(name) or exported_name(name, root.units) for name in names)
        return [SINGLE] if has_code or root.has_loose_answers() else []
    if root.has_loose_answers() and not any(map(root.holds_answers_anywhere, trees[:3])):
        return [SINGLE]
    rest = [entry for entry in relevant if entry.name not in in_roster]
    return _knowing(root, rest) if rest else [ROSTER]


def _fitting_submission(root: ClassTree, trees: Sequence[Entry]) -> list[str]:
    """Return the layouts that fit a tree with unit files, which may also be a class with files beside the students'."""
    if marked := [entry for entry in root.relevant if is_marked(entry)]:
        return [SINGLE, *_knowing(root, marked)]
    others = [one for one in trees if one.name not in {*root.units, *WRAPPERS, FOLDER}]
    return [SINGLE, "folders"] if sum(map(root.is_wrapped, others)) > 1 else [SINGLE]


def _knowing(root: ClassTree, entries: Sequence[Entry]) -> list[str]:
    """Return the layouts that know all of these entries."""
    return [name for name, layout in LAYOUTS.items() if all(layout.claims(root, one) is not None for one in entries)]


def _refusal(root: ClassTree, in_roster: Collection[str], fitting: Sequence[str]) -> str:
    path = quoted(root.path)
    if fitting:
        several = " and ".join(map(described, fitting))
        return f"{path} fits more than one layout, {several}: name the right one with --layout."
    relevant = [one for one in root.relevant if one.name not in in_roster]
    if not relevant:
        what = "holds none of the course's files" if root.entries else "is empty"
        return f"{path} {what}: give the folder of a submission or of a class."
    partly = []
    for name, layout in LAYOUTS.items():
        unknown = [entry.name for entry in relevant if layout.claims(root, entry) is None]
        if len(unknown) < len(relevant):
            partly.append(f"{name} fits {len(relevant) - len(unknown)} of {len(relevant)}, and not {unknown[0]!r:.80}")
    if not partly:
        return f"{path} fits no layout: name one with --layout, or {ADVICE}."
    return f"{path} fits no layout as a whole: {'; '.join(partly)}. Name the layout with --layout, or {ADVICE}."


def unwrapped(root: ClassTree) -> ClassTree:
    """Return the folder of the class, without folders around it. Raises SubmissionError if it is not clear."""
    for _ in range(_MOST_WRAPPED):
        trees = [entry for entry in root.entries if entry.is_tree]
        if len(trees) != 1 or root.has_loose_answers() or any(map(is_marked, root.entries)):
            return root
        [child] = trees
        if child.name in root.units or child.name == FOLDER or root.holds_answers(child):
            return root
        inside = root.within(child)
        if not any(map(is_marked, inside.entries)) and _is_the_class(root, child, inside):
            return root
        root = inside
    return root


def _is_the_class(root: ClassTree, child: Entry, inside: ClassTree) -> bool:
    """Return whether this is the class and the child a submission. Raises SubmissionError if it is not clear."""
    within = [entry for entry in inside.entries if entry.is_tree]
    holding = [entry.name for entry in within[:3] if inside.holds_answers_anywhere(entry)]
    by_unit = [claim.student for one in within for claim in LAYOUTS["units"].claims(inside, one) or ()]
    is_one = not holding or holding[0] in {*WRAPPERS, *root.units, FOLDER} or bool(_BRANCH.fullmatch(holding[0]))
    if (is_one and len(by_unit) > 1) or (not is_one and len(holding) == 1):
        raise SubmissionError(
            f"{quoted(root.path)} may be the folder of a class with the student {child.name!r:.80}, or hold a class "
            f"with the student {(by_unit or holding)[0]!r:.80}: give the path of the class, or of the submission."
        )
    return is_one
