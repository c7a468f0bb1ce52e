"""Finds the submissions in the folders and archives that an instructor gives, by the layout that fits.

If no layout fits, or several do, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from grader.documents import nearest
from grader.submissions.archives import Archive, Folder, handed_in
from grader.submissions.layouts import (
    ADVICE,
    LAYOUTS,
    METADATA,
    NAMES,
    ROSTER,
    SINGLE,
    WRAPPERS,
    Claim,
    ClassTree,
    class_tree,
    described,
    id_of,
    is_late,
    is_marked,
    is_submission,
)
from grader.submissions.submission import (
    FOLDER,
    SubmissionError,
    exported_name,
    folded,
    is_code,
    quoted,
    require_name,
    student_id,
)
from grader.submissions.tree import ARCHIVE, Entry, Files, Ignored, TreePart, View

if TYPE_CHECKING:
    import datetime

_BRANCH = re.compile(r".*-(main|master)")
_MOST_WRAPPED = 3
"""The most folders around the one of the class."""


class Found(NamedTuple):
    """A student's submission.

    Attributes:
        student: The name in the download, or the one that was given for its folder.
        tree: The folder or tree to grade.
        path: The path that was given.
        place: Where it lies in what was given: the students of a group have the same.
        is_late: Whether the platform marked it as late.
        at: When it came, if the platform says so, with a zone.
        identifiers: The student's ids and addresses, if the download has any beside the name.
        is_named: Whether the caller named the student of its folder.
        written: The name as it is written in the download, in any alphabet; "" where the caller gives the name.
    """

    student: str
    tree: Path | Files
    path: Path
    place: Path
    is_late: bool = False
    at: datetime.datetime | None = None
    identifiers: tuple[str, ...] | None = None
    is_named: bool = False
    written: str = ""


@dataclass(frozen=True)
class Submissions:
    """The submissions that were found.

    Attributes:
        found: The submissions, in the order of the paths, one of a group for each member. Nobody has two in one path.
        layouts: The layouts that were used.
        problems: Sentences on submissions that cannot be graded.
        refused: The names of those submissions, each with its sentence.
        ignored: The names that were ignored.
        unknown: The folders that the caller named and that do not exist.
    """

    found: list[Found] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    ignored: list[Ignored] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def refuse(self, student: str, sentence: str) -> None:
        """Note that a submission with this name cannot be graded."""
        self.problems.append(sentence)
        self.refused[student] = sentence


def find_submissions(
    paths: Sequence[Path],
    unit_names: Iterable[str],
    student: str | None = None,
    layout: str | None = None,
    folders: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Submissions:
    """Find the submissions in folders and archives.

    Args:
        paths: The folders and archives.
        unit_names: The units of the course.
        student: The name of the one submission that the only path is.
        layout: The layout to use, one of NAMES, if more than one might fit.
        folders: The students of folders, archives or files, by their names in any case. They come before the layouts.

    Raises:
        SubmissionError: A path cannot be read, holds nothing, or fits no layout. What is wrong with one submission
            among others is in `problems`.
    """
    _require_valid(paths, student, layout)
    result = Submissions()
    known: set[str] = set()
    for path in paths:
        root = class_tree(path, unit_names)
        if student is not None:
            require_name(student, path)
            chosen = SINGLE
            members = [_whole(root, student)]
        else:
            chosen, members = _members(root, layout, folders, known, result)
        if chosen not in result.layouts:
            result.layouts.append(chosen)
        result.found.extend(one._replace(path=path) for one in _distinct(members, result))
    result.unknown.extend(
        name for name in folders if known.isdisjoint({folded(name), student_id(ARCHIVE.sub("", name)).casefold()})
    )
    if not result.found:
        none = f"{' and '.join(map(quoted, paths))} holds no submission: give the folder of a submission or of a class."
        raise SubmissionError("\n".join(result.problems) or none)
    return result


def _require_valid(paths: Sequence[Path], student: str | None, layout: str | None) -> None:
    if not paths:
        raise SubmissionError("There is nothing to grade: give the folder of a submission or of a class.")
    places = [path.resolve() for path in paths]
    if doubled := [path for number, path in enumerate(paths) if places[number] in places[:number]]:
        raise SubmissionError(f"{quoted(doubled[0])} is given twice: give it once.")
    if student is not None and len(paths) > 1:
        raise SubmissionError(
            f"The student {student!r} is named, but {len(paths)} paths are given: give exactly one path."
        )
    if layout is not None and layout not in NAMES:
        raise SubmissionError(
            f"--layout: there is no layout {layout!r}; there are {', '.join(NAMES)}.{nearest(layout, NAMES)}"
        )


def _members(
    root: ClassTree, layout: str | None, folders: Mapping[str, Sequence[str]], known: set[str], result: Submissions
) -> tuple[str, list[Found]]:
    """Return the layout of a tree, and its submissions. Add to `known` the names in `folders` that it holds."""
    if layout is None:
        root = unwrapped(root)
    students: dict[str, list[str]] = {}
    for name, own in folders.items():
        students.setdefault(folded(name), []).extend(own)
    named = {
        entry.name: [
            Claim(name, name, entry.name, entry.name if entry.kind == "file" else "", at=root.created.get(entry.name))
            for name in group
        ]
        for entry in root.entries
        if (group := students.get(folded(entry.name), []))
    }
    chosen = layout or layout_of(root, named)
    if chosen == SINGLE:
        whole = Entry(root.path.resolve().name, "archive" if isinstance(root.tree, Archive) else "folder")
        return chosen, [_whole(root, id_of(whole), ARCHIVE.sub("", whole.name))]
    result.ignored.extend(root.tree.refused)
    claims = [claim for entry in root.entries for claim in _claims(root, entry, chosen, named, result)]
    known.update(one for claim in claims for one in (claim.student.casefold(), folded(claim.source.rpartition("/")[2])))
    claims = [one for claim in claims for one in _without_id(claim, students)]
    members = _put_together(root, _without_rivals(claims, named, result), result)
    return chosen, [one._replace(is_named=one.place.name in named) for one in members]


def _without_id(claim: Claim, students: Mapping[str, Sequence[str]]) -> list[Claim]:
    """Return the claims of the students whom the roster names, if no id can be made of the folder's name."""
    names = [] if claim.student else students.get(folded(claim.key), [])
    return [claim._replace(key=name, student=name) for name in names] or [claim]


def _without_rivals(claims: Iterable[Claim], named: Mapping[str, list[Claim]], result: Submissions) -> Iterator[Claim]:
    """Yield claims. Of a student whose folder is named, other folders that only look like it are ignored."""
    students = {claim.student.casefold(): claim for own in named.values() for claim in own}
    for claim in claims:
        rival = students.get(claim.student.casefold())
        if rival and claim.source not in named:
            reason = f"the roster names {rival.source!r} for {rival.student}"
            result.ignored.append(Ignored(claim.source, reason=reason))
        else:
            yield claim


def _whole(root: ClassTree, student: str, written: str = "") -> Found:
    """Return a download as one submission."""
    tree = handed_in(root.tree) if isinstance(root.tree, Archive) else root.tree
    return Found(student, _path_or_tree(tree), root.path, root.path, written=written)


def _path_or_tree(tree: Files) -> Path | Files:
    return tree.path if isinstance(tree, Folder) else tree


def _claims(
    root: ClassTree, entry: Entry, layout: str, named: Mapping[str, list[Claim]], result: Submissions
) -> list[Claim]:
    """Return the claims on an entry; if there are none, it is a problem or ignored."""
    label = quoted(root.path / entry.name)
    found = named.get(entry.name) or (LAYOUTS[layout].claims(root, entry) if layout in LAYOUTS else None)
    if entry.kind == "link":
        result.refuse(id_of(entry), f"{label} is a symbolic link: put the submission's own folder there.")
    elif found is not None:
        return [claim._replace(is_late=True) for claim in found] if layout == "canvas" and is_late(entry) else found
    elif entry.name == METADATA:
        pass
    elif entry.is_tree or is_marked(entry):
        result.refuse(id_of(entry), f"{label} does not fit the layout {layout}: {ADVICE}, or move it away.")
    else:
        advice = "put it into its student's folder" if root.is_answer(entry) else ""
        result.ignored.append(Ignored(entry.name, advice))
    return []


def _put_together(root: ClassTree, claims: Iterable[Claim], result: Submissions) -> list[Found]:
    """Make one tree of each student's files. Who has two files for one place is refused; older uploads are ignored."""
    groups: dict[str, dict[str, Claim]] = {}
    refused: set[str] = set()
    for claim in claims:
        group = groups.setdefault(claim.key, {})
        rival = group.get(claim.place)
        if rival and not claim.number and not rival.number:
            paths = f"{quoted(root.path / rival.source)} and {quoted(root.path / claim.source)}"
            result.refuse(claim.student, f"{paths} both belong to {claim.student!r}: remove one of them.")
            refused.add(claim.key)
        elif rival:
            older, claim = sorted((rival, claim), key=lambda one: one.number)
            result.ignored.append(Ignored(older.source, reason=f"an older upload of {claim.source}"))
        group[claim.place] = claim
    return [_joined(root, list(group.values())) for key, group in groups.items() if key not in refused]


def _joined(root: ClassTree, claims: Sequence[Claim]) -> Found:
    """Return a student's files as one submission."""
    whole = next((claim for claim in claims if not claim.place), None)
    first = whole or claims[0]
    base = root.below(whole.source) if whole else Files()
    mounts = {}
    for one in (claim for claim in claims if claim.place):
        is_unit = one.place in root.units and root.tree.kind(one.source) in ("folder", "archive")
        tree, inside = (root.below(one.source), "") if is_unit else (root.tree, one.source)
        mounts[one.place] = TreePart(tree, inside, one.place)
    whole_tree = _path_or_tree(View(mounts, base) if mounts else base)
    about = any(claim.is_late for claim in claims), first.at, first.identifiers
    written = ARCHIVE.sub("", first.key)
    return Found(first.student, whole_tree, root.path, root.path / first.source, *about, written=written)


def _distinct(members: Iterable[Found], result: Submissions) -> Iterator[Found]:
    """Yield the students whose name nobody else has; the others are problems.

    Names that differ only in case are the same: reports are files, and some disks do not distinguish case.
    """
    seen: dict[str, list[Found]] = {}
    for member in members:
        seen.setdefault(member.student.casefold(), []).append(member)
    for key, same in seen.items():
        if not key:
            for one in same:
                renamed = "cannot be graded under its name: rename it with letters from a to z"
                result.refuse(one.written, f"{quoted(one.place)} {renamed}, or {ADVICE}.")
        elif len(same) > 1:
            paths = " and ".join(quoted(one.place) for one in same)
            is_one_name = len({one.student for one in same}) == 1
            are = f"both called {same[0].student!r}" if is_one_name else "named alike except for case"
            result.refuse(same[0].student, f"{paths} are {are}: rename one of the folders.")
        else:
            yield same[0]


def layout_of(root: ClassTree, in_roster: Collection[str]) -> str:
    """Return the only layout that explains every entry that may be a submission and that the roster does not name.

    Raises SubmissionError if none fits, or several do.
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
