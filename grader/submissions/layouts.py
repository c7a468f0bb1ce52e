"""The ways in which submissions come, one rule for each: whose an entry is, or that the rule does not know it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.claims import ROSTER, Claim
from grader.submissions.class_tree import CANVAS, METADATA, MOODLE, ClassTree, is_marked, is_submission
from grader.submissions.names import STUDENT, student_id
from grader.submissions.tree import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.submissions.tree import Entry

_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
_GRADESCOPE = re.compile(r"submission_\d+")


class Layout(NamedTuple):
    """A way in which submissions come. `claims` returns None for an entry that the rule does not know."""

    sentence: str
    claims: Callable[[ClassTree, Entry], list[Claim] | None]


def _moodle(_: ClassTree, entry: Entry) -> list[Claim] | None:
    found = MOODLE.fullmatch(entry.name)
    if not found or (entry.kind != "folder") != bool(found[4]):
        return None
    place = found[4] or ("onlinetext" if found[3] == "onlinetext" else "")
    return [Claim(f"{found[1]}_{found[2]}", _with_number(found[1], found[2]), entry.name, place)]


def _canvas(_: ClassTree, entry: Entry) -> list[Claim] | None:
    found = CANVAS.fullmatch(entry.name)
    if not found or entry.kind not in ("file", "archive"):
        return None
    place = _AGAIN.sub("", found[5]) if found[5] else found[6]
    return [Claim(f"{found[1]}_{found[3]}", _with_number(found[1], found[3]), entry.name, place, int(found[4] or 0))]


def _gradescope(where: ClassTree, entry: Entry) -> list[Claim] | None:
    if entry.name == METADATA:
        return []
    # Without its metadata each folder is a student's like any other.
    if entry.kind != "folder" or not _GRADESCOPE.fullmatch(entry.name) or METADATA not in dict(where.entries):
        return None
    names = where.submitters.get(entry.name)
    number = entry.name.removeprefix("submission_")
    return [Claim(entry.name, _with_number(" ".join(names), number) if names else entry.name, entry.name)]


def _units(where: ClassTree, entry: Entry) -> list[Claim] | None:
    if entry.kind != "folder" or entry.name not in where.units:
        return None
    students = [one for one in where.tree.entries(entry.name) if one.is_tree and not one.is_junk]
    inside = ClassTree(where.below(entry.name), where.path / entry.name, frozenset({entry.name}))
    # Folders named after units are rather those of one student.
    if any(one.name in where.units for one in students) and not any(map(inside.holds_answers, students)):
        return None
    ids = [(one.name, id_of(one)) for one in students]
    return [Claim(student or name, student, f"{entry.name}/{name}", entry.name) for name, student in ids]


def _folders(where: ClassTree, entry: Entry) -> list[Claim] | None:
    if not entry.is_tree or is_marked(entry):
        return None
    if entry.name in where.units and not is_submission(where.below(entry.name), where.units):
        return None
    return [Claim(entry.name, id_of(entry), entry.name)]


LAYOUTS = {
    "moodle": Layout("Moodle's download: <name>_<number>_assignsubmission_file_, a folder or a file", _moodle),
    "canvas": Layout("Canvas's download: files named <name>_<user>_<upload>_<file>", _canvas),
    "gradescope": Layout(f"Gradescope's export: submission_<number> folders, and {METADATA}", _gradescope),
    "units": Layout("a folder for each unit, with one for each student in it", _units),
    "folders": Layout("a folder or an archive for each student", _folders),
}
SINGLE = "single"
NAMES = [*LAYOUTS, SINGLE]


def described(layout: str) -> str:
    """Return the name of a layout and what it is."""
    others = {SINGLE: "all of it is one submission", ROSTER: "it names the student of each folder"}
    return f"{layout} ({LAYOUTS[layout].sentence if layout in LAYOUTS else others[layout]})"


def id_of(entry: Entry) -> str:
    """Return the id of a student whose folder or archive has the student's name."""
    name = ARCHIVE.sub("", entry.name) if entry.kind == "archive" else entry.name
    return name if STUDENT.fullmatch(name) else student_id(name)


def _with_number(name: str, number: str) -> str:
    """Return an id of a name that others may have as well, and the platform's number."""
    return "_".join(filter(None, (student_id(name), number)))
