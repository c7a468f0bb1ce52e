"""The ways in which submissions come: one rule for each, which assigns an entry to a student or does not know it."""

from __future__ import annotations

import contextlib
import datetime
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from grader.submissions.archives import CLASS, Folder, Unopened, open_archive
from grader.submissions.file_text import read_text
from grader.submissions.submission import (
    FOLDER,
    STUDENT,
    SubmissionError,
    filenames,
    intended_name,
    missing,
    quoted,
    require_folder,
    student_id,
)
from grader.submissions.tree import ARCHIVE, MEGABYTE, Entry, Files, UnreadableError, read_bytes, walk

METADATA = "submission_metadata.yml"
ROSTER = "roster"
"""The layout of a download in which the roster names the student of every folder."""
ADVICE = "name its student in the column `folder` of a roster, with --roster"
WRAPPERS = {"submission", "src"}
"""Folders that students put their answers into."""

_MOODLE = re.compile(r"(.*?)_(\d+)_assignsubmission_(file|onlinetext)(?:[_.](.*))?", re.DOTALL)
# An assignment may hide the names of students: `LATE` comes first then.
_CANVAS = re.compile(
    r"(?:(?P<marked>LATE_)?(?P<anonymous>anon_[A-Za-z0-9]{5})|(?P<name>.+?)(?P<late>_LATE)?_(?P<user>\d+))"
    r"_(?:(?:question_\d+_)?(?P<upload>\d+)_(?P<file>.+)|(?P<text>(?:text|link)\.html))",
    re.DOTALL,
)
_ANONYMOUS = re.compile(r"(?:.*-)?Participant_\d+|anon_[A-Za-z0-9]{5}|submission_\d+")
_AGAIN = re.compile(r"-\d+(?=\.\w+$)")
_GRADESCOPE = re.compile(r"submission_\d+")


@dataclass(frozen=True)
class ClassTree:
    """A tree that may hold a class or one submission.

    Attributes:
        tree: Its files.
        path: The path that messages name.
        units: The names of the course's units.
    """

    tree: Files
    path: Path
    units: frozenset[str]

    @functools.cached_property
    def entries(self) -> list[Entry]:
        """What the tree holds, without what programs make."""
        return [entry for entry in self.tree.entries() if not entry.is_junk]

    @property
    def relevant(self) -> list[Entry]:
        """The entries that may be submissions, or that a learning platform has named."""
        return [entry for entry in self.entries if entry.is_tree or is_marked(entry)]

    @functools.cached_property
    def created(self) -> dict[str, datetime.datetime]:
        """When each submission in Gradescope's export came, as far as it says so. Raises SubmissionError."""
        found = {name: one.get(":created_at") for name, one in self.metadata.items()}
        return {name: at for name, at in found.items() if isinstance(at, datetime.datetime) and at.tzinfo}

    @functools.cached_property
    def metadata(self) -> dict[str, dict[Any, Any]]:
        """What Gradescope's export says of each submission. Raises SubmissionError."""
        import yaml

        try:
            text = read_text(self.tree, METADATA, 64 * MEGABYTE)
            loaded = yaml.load(text or "", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (UnreadableError, yaml.YAMLError, ValueError) as error:
            raise SubmissionError(
                f"{quoted(self.path / METADATA)} cannot be read ({str(error).splitlines()[0]}): download it again, "
                "or remove it to use the numbers."
            ) from None
        found = loaded if isinstance(loaded, dict) else {}
        return {str(name): submission for name, submission in found.items() if isinstance(submission, dict)}

    def below(self, name: str) -> Files:
        """Return the tree of one entry. An archive, or a part of one, is opened only when it is read."""
        is_folder = isinstance(self.tree, Folder) and self.tree.kind(name) == "folder"
        return self.tree.below(name) if is_folder else Unopened(self.tree, name)

    def within(self, entry: Entry) -> ClassTree:
        """Return an entry as the tree of a class: an archive has the limits of a download."""
        tree = self.below(entry.name)
        if entry.kind == "archive":
            with contextlib.suppress(UnreadableError):
                tree = open_archive(self.tree.read_bytes(entry.name, CLASS.size) or b"", entry.name, 0, CLASS)
        return ClassTree(tree, self.path / entry.name, self.units)

    def is_answer(self, entry: Entry) -> bool:
        """Return whether an entry is named like a unit's file."""
        return intended_name(entry.name, self.units) is not None

    def has_loose_answers(self) -> bool:
        """Return whether files at the top are named like a unit's, by students and not by a platform."""
        return any(one.kind == "file" and self.is_answer(one) and not is_marked(one) for one in self.entries)

    def is_wrapped(self, entry: Entry) -> bool:
        """Return whether an entry is a submission, or has one in submission/ or src/."""
        tree = self.below(entry.name)
        inner = (tree.below(name) for name in WRAPPERS if tree.kind(name) == "folder")
        return any(is_submission(one, self.units) for one in (tree, *inner))

    def holds_answers(self, entry: Entry) -> bool:
        """Return whether an entry is a folder or an archive with answers at its top."""
        if not entry.is_tree:
            return False
        tree = self.below(entry.name)
        return is_submission(tree, self.units) or ClassTree(tree, self.path, self.units).has_loose_answers()

    def holds_answers_anywhere(self, entry: Entry) -> bool:
        """Return whether there are answers at any depth of an entry."""
        return any(intended_name(file.name, self.units) for file in walk(self.below(entry.name)).files)


def class_tree(path: Path, units: Iterable[str]) -> ClassTree:
    """Open a folder or an archive that may hold a class. Raises SubmissionError if it cannot be read."""
    try:
        if not ARCHIVE.search(path.name) or (path.is_dir() and not path.is_symlink()):
            require_folder(path)
            next(path.iterdir(), None)
            return ClassTree(Folder(path), path, frozenset(units))
        content = read_bytes(path.parent, path.name, CLASS.size)
        if content is None:
            raise missing(path)
        return ClassTree(open_archive(content, path.name, 0, CLASS), path, frozenset(units))
    except UnreadableError as error:
        raise SubmissionError(str(error)) from None
    except OSError:
        raise SubmissionError(f"{quoted(path)} cannot be listed: make it readable for the grader.") from None


class Claim(NamedTuple):
    """The student that a layout assigns a file or folder to, and its place in that submission.

    Attributes:
        key: The text that identifies the student in the download, before it becomes an id.
        student: The id.
        source: The path in the class.
        place: The path in the submission; "" if it is the whole submission.
        number: Of several for one place, the highest counts.
        is_late: Whether the platform marked it as late.
        identifiers: The student's ids and addresses, if the platform has them beside the name. A number at the end of
            the name is then the submission's, and not the student's.
        at: When it came, if the platform says so, with a zone.
    """

    key: str
    student: str
    source: str
    place: str = ""
    number: int = 0
    is_late: bool = False
    identifiers: tuple[str, ...] | None = None
    at: datetime.datetime | None = None


class Layout(NamedTuple):
    """A way in which submissions come. `claims` returns None for an entry that the rule does not know."""

    sentence: str
    claims: Callable[[ClassTree, Entry], list[Claim] | None]


def _moodle(_: ClassTree, entry: Entry) -> list[Claim] | None:
    found = _MOODLE.fullmatch(entry.name)
    if not found or (entry.kind != "folder") != bool(found[4]):
        return None
    place = found[4] or ("onlinetext" if found[3] == "onlinetext" else "")
    return [Claim(f"{found[1]}_{found[2]}", _with_number(found[1], found[2]), entry.name, place)]


def _canvas(_: ClassTree, entry: Entry) -> list[Claim] | None:
    found = _CANVAS.fullmatch(entry.name)
    if not found or entry.kind not in ("file", "archive"):
        return None
    place = _AGAIN.sub("", found["file"]) if found["file"] else found["text"]
    key = found["anonymous"] or f"{found['name']}_{found['user']}"
    student = found["anonymous"] or _with_number(found["name"], found["user"])
    return [Claim(key, student, entry.name, place, int(found["upload"] or 0))]


def _gradescope(root: ClassTree, entry: Entry) -> list[Claim] | None:
    if entry.name == METADATA:
        return []
    # Without the metadata each folder is a student's like any other.
    if entry.kind != "folder" or not _GRADESCOPE.fullmatch(entry.name) or METADATA not in dict(root.entries):
        return None
    at, listed = root.created.get(entry.name), root.metadata.get(entry.name, {}).get(":submitters")
    submitters = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if not submitters:
        return [Claim(entry.name, entry.name, entry.name, at=at)]
    people = [[str(one.get(key) or "").strip() for key in (":name", ":email", ":sid")] for one in submitters]
    names, number = [name for name, _, _ in people], entry.name.removeprefix("submission_")
    claims = []
    for name, email, sid in people:
        # Of two with one name in a group, the addresses are the names.
        called = (name if names.count(name) == 1 else "") or email or sid or name
        identifiers = tuple(filter(None, (sid, email)))
        student = _with_number(called, number)
        claims.append(Claim(f"{called}_{number}", student, entry.name, at=at, identifiers=identifiers))
    return claims


def _units(root: ClassTree, entry: Entry) -> list[Claim] | None:
    if entry.kind != "folder" or entry.name not in root.units:
        return None
    students = [one for one in root.tree.entries(entry.name) if one.is_tree and not one.is_junk]
    inside = ClassTree(root.below(entry.name), root.path / entry.name, frozenset({entry.name}))
    # If these are named after units as well, the folder is rather that of one student.
    if any(one.name in root.units for one in students) and not any(map(inside.holds_answers, students)):
        return None
    ids = [(one.name, id_of(one)) for one in students]
    return [Claim(student or name, student, f"{entry.name}/{name}", entry.name) for name, student in ids]


def _folders(root: ClassTree, entry: Entry) -> list[Claim] | None:
    if not entry.is_tree or is_marked(entry):
        return None
    if entry.name in root.units and not is_submission(root.below(entry.name), root.units):
        return None
    return [Claim(entry.name, id_of(entry), entry.name)]


LAYOUTS = {
    "moodle": Layout("Moodle's download: <name>_<number>_assignsubmission_file_, a folder or a file", _moodle),
    "canvas": Layout("Canvas's download: files named <name>_<user>_<upload>_<file>, or anon_<id>_…", _canvas),
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


def is_submission(tree: Files, units: Iterable[str]) -> bool:
    """Return whether there are unit files in the tree, in its exercises/ or in folders named after the units."""
    files = {name for unit in units for name in filenames(unit)}
    for entry in tree.entries():
        # In a folder named after a unit, as nbgrader keeps it, the notebook may have another name.
        if entry.name in units:
            if any(one.name in files or one.name.endswith(".ipynb") for one in tree.entries(entry.name)):
                return True
        elif entry.name in files or entry.name == FOLDER:
            return True
    return False


def is_marked(entry: Entry) -> bool:
    """Return whether only a learning platform can have made a name."""
    is_canvas = entry.kind != "folder" and _CANVAS.fullmatch(entry.name)
    return entry.name == METADATA or bool(is_canvas or _MOODLE.fullmatch(entry.name))


def moodle_number(name: str) -> str:
    """Return the number in a name that Moodle made, which its grading worksheet has too; "" if it made none."""
    found = _MOODLE.fullmatch(name)
    return found[2] if found else ""


def is_late(entry: Entry) -> bool:
    """Return whether Canvas marked an upload as late."""
    found = _CANVAS.fullmatch(entry.name)
    return bool(found and (found["late"] or found["marked"]))


def is_anonymous(student: str) -> bool:
    """Return whether a platform has hidden the name of a student behind this one."""
    return bool(_ANONYMOUS.fullmatch(student))


def _with_number(name: str, number: str) -> str:
    """Return an id made of a name that others may have as well, and the platform's number."""
    # The number alone may be the login of somebody else.
    return "_".join(filter(None, (student_id(name) or "student", number)))
