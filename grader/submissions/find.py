"""Finds the submissions in the folders and archives that an instructor gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.documents import nearest
from grader.submissions.archives import Archive, open_archive
from grader.submissions.claims import ROSTER, Claim, Member, distinct, put_together
from grader.submissions.class_tree import METADATA, ClassTree, is_late, is_marked
from grader.submissions.detect import layout_of, unwrapped
from grader.submissions.folder import Folder
from grader.submissions.ignored import Ignored
from grader.submissions.layouts import LAYOUTS, NAMES, SINGLE
from grader.submissions.members import CLASS
from grader.submissions.names import STUDENT, student_id
from grader.submissions.paths import SubmissionError, missing, quoted, require_folder, require_name
from grader.submissions.plain_files import UnreadableError, read_bytes
from grader.submissions.roster import read_roster
from grader.submissions.tree import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from grader.submissions.tree import Entry, Files


@dataclass(frozen=True)
class Submissions:
    """What was found.

    Attributes:
        found: Each student with the folder or tree to grade.
        layouts: The layouts that were used.
        problems: Sentences on what is not graded though it should be.
        ignored: Names that no layout needs.
        late: The students whom the platform marked as late.
    """

    found: list[tuple[str, Path | Files]] = field(default_factory=list)
    layouts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


def find_submissions(
    paths: Sequence[Path], unit_names: Iterable[str], student: str | None = None, layout: str | None = None
) -> Submissions:
    """Find the submissions in folders and archives.

    Args:
        paths: The folders and archives.
        unit_names: The units of the course.
        student: The name of the one submission that the only path is.
        layout: The layout to use, one of NAMES, where more than one might fit.

    Raises:
        SubmissionError: A path cannot be read, holds nothing, or fits no layout. What is wrong with one submission
            among others is in `problems`.
    """
    _require_sound(paths, student, layout)
    result = Submissions()
    members: list[Member] = []
    for path in paths:
        where = ClassTree(_open(path), path, frozenset(unit_names))
        if student is not None:
            require_name(student, path)
            chosen = SINGLE
            members.append(Member(student, path, where.tree))
        else:
            chosen, found = _members(where, layout, result)
            members += found
        if chosen not in result.layouts:
            result.layouts.append(chosen)
    result.found.extend(distinct(members, result.problems))
    if not result.found:
        none = f"{' and '.join(map(quoted, paths))} holds no submission: give the folder of a submission or of a class."
        raise SubmissionError("\n".join(result.problems) or none)
    return result


def _require_sound(paths: Sequence[Path], student: str | None, layout: str | None) -> None:
    if not paths:
        raise SubmissionError("There is nothing to grade: give the folder of a submission or of a class.")
    if student is not None and len(paths) > 1:
        raise SubmissionError(
            f"The student {student!r} is named, but {len(paths)} paths are given: give exactly one path."
        )
    if layout is not None and layout not in NAMES:
        raise SubmissionError(
            f"--layout: there is no layout {layout!r}; there are {', '.join(NAMES)}.{nearest(layout, NAMES)}"
        )


def _open(path: Path) -> Files:
    if not ARCHIVE.search(path.name):
        require_folder(path)
        return Folder(path)
    try:
        content = read_bytes(path.parent, path.name, CLASS.size)
        if content is None:
            raise missing(path)
        return open_archive(content, path.name, limits=CLASS)
    except UnreadableError as error:
        if path.is_dir() and not path.is_symlink():
            return Folder(path)
        raise SubmissionError(str(error)) from None


def _members(where: ClassTree, layout: str | None, result: Submissions) -> tuple[str, list[Member]]:
    """Return the layout of a tree, and its submissions."""
    if isinstance(where.tree, Folder) and not _can_be_listed(where.path):
        raise SubmissionError(f"{quoted(where.path)} cannot be listed: make it readable for the grader.")
    if layout is None:
        where = unwrapped(where)
    roster = read_roster(where, result.problems)
    chosen = layout or layout_of(where, roster)
    if chosen == SINGLE:
        name = where.path.resolve().name
        if isinstance(where.tree, Archive):
            name = ARCHIVE.sub("", name)
        return chosen, [Member(name if STUDENT.fullmatch(name) else student_id(name), where.path, where.tree)]
    claims: list[Claim] = []
    result.ignored.extend(where.tree.refused if isinstance(where.tree, Archive) else [])
    for entry in where.entries:
        claims += _claims(where, entry, chosen, roster, result)
    return chosen, put_together(where, claims, result.problems, result.ignored)


def _claims(
    where: ClassTree, entry: Entry, layout: str, roster: Mapping[str, list[Claim]], result: Submissions
) -> list[Claim]:
    """Return the claims on an entry; where there are none, it is a problem or ignored."""
    label = quoted(where.path / entry.name)
    found = roster.get(entry.name) or (LAYOUTS[layout].claims(where, entry) if layout in LAYOUTS else None)
    if entry.kind == "link":
        result.problems.append(f"{label} is a symbolic link: put the submission's own folder there.")
    elif found is not None:
        if layout == "canvas" and is_late(entry):
            result.late.append(found[0].student)
        return found
    elif entry.name in (ROSTER, METADATA):
        if entry.name == ROSTER and not roster:
            result.ignored.append(Ignored(ROSTER, reason="its first line is not student,folder"))
    elif entry.is_tree or is_marked(entry):
        result.problems.append(f"{label} does not fit the layout {layout}: add it to {ROSTER}, or move it away.")
    else:
        advice = "put it into its student's folder" if where.is_answer(entry) else ""
        result.ignored.append(Ignored(entry.name, advice))
    return []


def _can_be_listed(path: Path) -> bool:
    try:
        next(path.iterdir(), None)
    except OSError:
        return False
    return True
