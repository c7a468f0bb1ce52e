"""Whose each file of a class is, and each student's files as one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.folder import Folder
from grader.submissions.ignored import Ignored
from grader.submissions.paths import quoted
from grader.submissions.views import Mount, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from grader.submissions.class_tree import ClassTree
    from grader.submissions.tree import Files

ROSTER = "roster.csv"


class Claim(NamedTuple):
    """The student that a layout assigns a file or folder to, and its place in that submission.

    Attributes:
        key: What is different for each student, before it is made an id.
        student: The id.
        source: The path in the class.
        place: The path in the submission; "" where it is the whole submission.
        number: Of several for one place, the highest counts.
    """

    key: str
    student: str
    source: str
    place: str = ""
    number: int = 0


class Member(NamedTuple):
    """A submission of a class, and where messages say that it is."""

    student: str
    path: Path
    tree: Files


def put_together(
    where: ClassTree, claims: Iterable[Claim], problems: list[str], ignored: list[Ignored]
) -> list[Member]:
    """Make one tree of each student's files.

    Args:
        where: The class.
        claims: What the layout says of its entries.
        problems: Gets a sentence on each two files for one place.
        ignored: Gets the older ones of several uploads.
    """
    groups: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        group = groups.setdefault(claim.key, {})
        rival = group.get(claim.place)
        if rival and not claim.number and not rival.number:
            problems.append(
                f"{quoted(where.path / rival.source)} and {quoted(where.path / claim.source)} both belong to "
                f"{claim.student!r}: remove one of them."
            )
        elif rival:
            older, claim = sorted((rival, claim), key=lambda one: one.number)
            ignored.append(Ignored(older.source, reason=f"an older upload of {claim.source}"))
        group[claim.place] = claim
    members: list[Member] = []
    for group in groups.values():
        whole = group.pop("", None)
        base = where.below(whole.source) if whole else None
        mounts = {place: _mount(where, claim) for place, claim in group.items()}
        first = whole or next(iter(group.values()))
        tree = base if base is not None and not mounts else View(mounts, base)
        members.append(Member(first.student, where.path / first.source, tree))
    return members


def _mount(where: ClassTree, claim: Claim) -> Mount:
    is_tree = where.tree.kind(claim.source) in ("folder", "archive") and claim.place in where.units
    return (
        Mount(where.below(claim.source), "", claim.place) if is_tree else Mount(where.tree, claim.source, claim.place)
    )


def distinct(members: Iterable[Member], problems: list[str]) -> Iterator[tuple[str, Path | Files]]:
    """Yield the students whose name nobody else has, each with the folder or tree; the others are problems.

    Names that differ only in case are the same: reports are files, and some disks do not distinguish case.
    """
    seen: dict[str, list[Member]] = {}
    for member in members:
        seen.setdefault(member.student.casefold(), []).append(member)
    for key, same in seen.items():
        student, _, tree = same[0]
        if not key:
            problems.extend(
                f"{quoted(one.path)} cannot be graded under its name: rename it with letters from a to z, or name its "
                f"student in {ROSTER}."
                for one in same
            )
        elif len(same) > 1:
            where = " and ".join(quoted(one.path) for one in same)
            is_one_name = len({one.student for one in same}) == 1
            are = f"both called {student!r}" if is_one_name else "named alike except for case"
            problems.append(f"{where} are {are}: rename one of the folders.")
        else:
            yield student, tree.path if isinstance(tree, Folder) else tree
