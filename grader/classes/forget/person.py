"""What identifies one student in the files of a term, and where that is still found."""

from __future__ import annotations

import contextlib
import csv
import html
import io
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.collected import COLLECTED, CollectError, read_collected
from grader.classes.exported_roster import is_export, read_exported
from grader.classes.tables import TableError, read_table
from grader.errors import GraderError
from grader.submissions.archives import LEVELS, open_archive
from grader.submissions.members import CLASS
from grader.submissions.names import STUDENT
from grader.submissions.tree import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

# Folders of a course or a term. A student of this name cannot be told from them.
_RESERVED = {
    "autograded", "base-code", "collected", "earlier", "exercises", "feedback", "grader", "instructor", "release",
    "reports", "solutions", "source", "submissions", "submitted",
}  # fmt: skip
_NAMES = ("name", "full_name", "full name")
_ADDRESSES = ("email", "e-mail", "email address")
_ZIP = b"PK\x03\x04"


@dataclass
class Person:
    """One student, and what the files of a term say about who that is.

    Attributes:
        student: The name in reports.
        names: The real name, as a roster or a download has it.
        addresses: The e-mail addresses.
        repositories: The repositories, OWNER/NAME.
        folders: The folders, archives or files that a roster assigns.
        shared: The folders and repositories that the student shares with a group.
        others: The same of other students, in lower case.
    """

    student: str
    names: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    repositories: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    def is_called(self, name: str) -> bool:
        """Return whether a text is the student's name in reports. As on some disks, case does not matter."""
        return name.strip().casefold() == self.student.casefold()

    def is_other(self, name: str) -> bool:
        """Return whether a text is the name in reports of another student."""
        return name.casefold() in self.others

    def learn(self, files: Iterable[Path]) -> None:
        """Read in rosters, other tables and collected.json who this is. Raises OSError."""
        for path in files:
            if path.name == COLLECTED:
                with contextlib.suppress(CollectError):
                    for one in read_collected(path).students:
                        self._learn({"student": one.student, "repository": one.repository})
            elif path.suffix.lower() == ".csv":
                for row in _people(path):
                    self._learn(row)
        self.shared = {one for one in {*self.repositories, *self.folders} if one.casefold() in self.others}
        self.repositories -= self.shared
        self.folders -= self.shared
        # Canvas has the real name in the column `Student`, so its gradebook looks like a table with another student.
        self.others -= {one.casefold() for one in {*self.names, *self.addresses}}

    def _learn(self, row: Mapping[str, str]) -> None:
        if self.is_called(row["student"]):
            for columns, known in (
                (_NAMES, self.names),
                (_ADDRESSES, self.addresses),
                (("repository",), self.repositories),
                (("folder",), self.folders),
            ):
                known.update(filter(None, (row.get(column, "").strip().rstrip("/") for column in columns)))
        else:
            names = ("student", "repository", "folder", *_NAMES, *_ADDRESSES)
            cells = (row.get(name, "").strip().rstrip("/") for name in names)
            self.others.update(cell.casefold() for cell in cells if cell)

    @property
    def terms(self) -> list[str]:
        """The texts by which others could recognize the student."""
        return sorted({self.student, *self.names, *self.addresses, *self.repositories})

    def pattern(self) -> re.Pattern[str]:
        """Return what finds the student in a text; a match without a group is another student."""
        forms = {form for term in self.terms for form in (term, html.escape(term), json.dumps(term)[1:-1])}
        longer = [
            other
            for other in self.others
            if any(form.casefold() in other and form.casefold() != other for form in forms)
        ]
        # The names of others come first: theirs may contain the student's.
        texts = [*sorted(map(re.escape, longer), key=len, reverse=True), f"({'|'.join(map(re.escape, sorted(forms)))})"]
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(texts)})(?![^\W_])", re.IGNORECASE)


def require_student(student: str) -> None:
    """Raise GraderError if nobody can have this name in reports, or a folder of the course has it."""
    if not STUDENT.fullmatch(student):
        raise GraderError(f"{student!r} is not a student's name in reports: write it as in the roster.")
    if student.casefold() in _RESERVED:
        raise GraderError(
            f"{student!r} is also the name of a folder of the course: remove this student's files by hand."
        )


def _people(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the rows of a table of ours, or of an exported roster under our columns. Raises OSError."""
    with contextlib.suppress(TableError):
        table = read_table(path, "student")
        if is_export(table):
            return [row.cells for row in read_exported(table).students]
    return rows_by_column(path)


def rows_by_column(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with the column `student`; none if there is no such column. Raises OSError."""
    rows = read_rows(path.read_bytes().decode("utf-8-sig", "replace"))
    header = [cell.strip().casefold() for cell in rows[0]] if rows else []
    if "student" not in header:
        return []
    return [dict(zip(header, [*row, *[""] * len(header)], strict=False)) for row in rows[1:]]


def read_rows(text: str) -> list[list[str]]:
    """Return the rows of a CSV file; none if it is not one."""
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:
        return []


def is_found(pattern: re.Pattern[str], content: bytes, name: str, level: int = 1) -> bool:
    """Return whether a student is in a file or in an archive. Raises UnreadableError if that cannot be read."""
    if is_named(pattern, _text(content)):
        return True
    if level > LEVELS or not (ARCHIVE.search(name) or content.startswith(_ZIP)):
        return False
    archive = open_archive(content, name, level, CLASS)
    archive.require(CLASS)
    inner = {path: member for path, member in archive.members.items() if member.kind in ("file", "archive")}
    return any(is_named(pattern, path) for path in archive.members) or any(
        is_found(pattern, archive.read_bytes(path, CLASS.size) or b"", path, level + 1) for path in inner
    )


def is_named(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a text names the student."""
    return any(found[1] for found in pattern.finditer(text))


def _text(content: bytes) -> str:
    is_utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if is_utf_16 else "utf-8", "replace")
