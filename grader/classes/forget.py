"""Removes one student from what the grader wrote, and from the tables of a class.

A file is opened only if the user named it, or if it lies where the grader writes in a folder that the user named. So
nothing that students handed in is opened. What else has the student's name is found by the names of files and folders.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from grader.classes.collected import COLLECTED, LATE, SNAPSHOTS, read_collected
from grader.classes.roster import in_our_columns, is_export, read_exported
from grader.classes.tables import Table, TableRow, read_table
from grader.errors import GraderError
from grader.files import FolderInUse, held, write_atomically
from grader.reports.folder import EARLIER, INSTRUCTOR, NOT_GRADED, not_graded, read_report
from grader.submissions.submission import STUDENT

_IDENTIFIERS = ("id", "email", "sis_user_id", "sis_login_id")
_NAMES = ("student", "name", "email", "sis_login_id", "repository")
"""The columns whose values also occur elsewhere."""
_PAGES = (".md", ".html")


class FileChange(NamedTuple):
    """A file or folder to remove, or a file to rewrite: `content` is what it will hold, without what is `left_out`."""

    path: Path
    content: bytes | None = None
    left_out: str = ""

    def __str__(self) -> str:
        """Return what happens, as one line."""
        return f"remove {self.path}" if self.content is None else f"rewrite {self.path} without {self.left_out}"

    def make(self) -> None:
        """Do it. Raises OSError."""
        if self.content is not None:
            write_atomically(self.path, self.content)
        elif self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass
class Forgetting:
    """One student, and the folders and files to remove the student from.

    Attributes:
        student: The name in reports.
        paths: What the user named.
        rows: The student's rows in the tables, under the columns of the roster.
        others: The names in reports of other students.
    """

    student: str
    paths: Sequence[Path]
    rows: list[TableRow] = field(default_factory=list)
    others: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Read the tables. Raises GraderError if a path is missing, or no such table."""
        if not STUDENT.fullmatch(self.student):
            raise GraderError(f"{self.student!r} is not a student's name in reports: write it as in the roster.")
        if missing := [path for path in self.paths if not path.exists()]:
            raise GraderError(f"{missing[0]} does not exist: give the folders and files of the term.")
        self._folders = [path.resolve() if path.is_symlink() else path for path in self.paths if path.is_dir()]
        self._tables = [read_table(path, "student,name") for path in self.paths if _is_table(path)]
        own = [row for table in self._tables if _is_own(table) for row in table.rows]
        exported = [row for table in self._tables if is_export(table) for row in read_exported(table)[0]]
        for rows in (own, exported):  # the names in an export are made of it, so they may be another student's
            self.rows = self.rows or [row for row in rows if self._is_called(row["student"])]
        graded = [path.stem for path in self._folders if _is_folder(path / INSTRUCTOR) for path in path.glob("*.json")]
        others = [row for table in self._tables for row in _rows(table) if not self._is_in(table, row)]
        self.others = {one.casefold() for one in (*graded, *(row[column] for row in others for column in _NAMES))}
        self.others -= {"", *map(str.casefold, self._terms)}

    def changes(self) -> list[FileChange]:
        """Return what is to be done. Raises GraderError and OSError.

        The tables that say who the student is come last: if this is interrupted, the next run still knows it.
        """
        found = [change for folder in self._folders for change in self._in_folder(folder)]
        found += [change for table in sorted(self._tables, key=_is_own) if (change := self._in_table(table))]
        return list({change.path.parent.resolve() / change.path.name: change for change in found}.values())

    def run(self) -> None:
        """Make the changes to what is there now. Raises OSError, and GraderError if another command writes there."""
        with contextlib.ExitStack() as stack:
            for folder in self._folders:
                if _is_folder(folder / INSTRUCTOR) or (folder / COLLECTED).is_file():
                    try:
                        stack.enter_context(held(folder))
                    except FolderInUse:
                        raise GraderError(f"Another command is writing to {folder}: wait for its end.") from None
            for change in self.changes():
                change.make()

    def left(self) -> list[str]:
        """Return a sentence on each file that is not opened, and on each place where the student is still named."""
        pattern = _pattern(self._terms, self.others)
        found: list[str] = []
        for path in self.paths:
            if path.is_dir():
                found += _named(path, pattern)
            elif path.exists() and not _is_table(path):
                found.append(f"{path} was not opened: make it again, or take the student out by hand.")
            elif path.exists() and _is_named(pattern, path.read_text(encoding="utf-8")):
                found.append(f"{path} has the student's name in another place: take it out by hand.")
        return list(dict.fromkeys(found))

    @property
    def _terms(self) -> set[str]:
        """The texts by which others could recognize the student; of a repository without its owner."""
        return {self.student, *(row[column].rpartition("/")[2] for row in self.rows for column in _NAMES)} - {""}

    def _is_called(self, name: str) -> bool:
        """Return whether a text is the student's name in reports. As on some disks, case does not matter."""
        return name.casefold() == self.student.casefold()

    def _is_in(self, table: Table, row: TableRow) -> bool:
        """Return whether a row is the student's, by the name in reports or by what identifies the student elsewhere."""
        if _is_own(table):
            return self._is_called(row["student"])
        return any(not _identifiers(own).isdisjoint(_identifiers(row)) for own in self.rows)

    def _in_folder(self, folder: Path) -> Iterator[FileChange]:
        """Yield the changes in a folder that the user named, at the places where the grader writes."""
        yield from self._own(folder, *_PAGES)
        if (folder / COLLECTED).is_file():
            yield from self._in_collected(folder)
        if not _is_folder(folder / INSTRUCTOR):
            return
        yield from self._own(folder, ".json")
        yield from self._own(folder / INSTRUCTOR, ".pytest.json")
        yield from self._own(folder / EARLIER, "")
        places = [folder, *filter(_is_folder, _entries(folder / EARLIER))]
        # Where a student made the folder, a file may be a pipe or a link to a device, which has no end.
        for path in (path for place in places for path in sorted(place.glob("*.json")) if path.is_file()):
            report = None if self._is_called(path.stem) else read_report(path.stem, path.parent)
            if report and any(map(self._is_called, report.together)):
                others = [one for one in report.together if not self._is_called(one)]
                alone = report.model_copy(update={"together": others if len(others) > 1 else []})
                yield FileChange(path, alone.to_json().encode(), f"1 of {len(report.together)} members")
        reasons = not_graded(folder) if (folder / INSTRUCTOR / NOT_GRADED).is_file() else {}
        kept = {name: reason for name, reason in reasons.items() if not self._is_called(name)}
        if kept != reasons:
            content = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
            yield FileChange(folder / INSTRUCTOR / NOT_GRADED, content.encode(), f"1 of {len(reasons)} students")

    def _own(self, folder: Path, *suffixes: str) -> Iterator[FileChange]:
        """Yield the removal of what has the student's name and one of these suffixes in a folder of the grader."""
        own = {f"{self.student}{suffix}".casefold() for suffix in suffixes}
        yield from (FileChange(path) for path in _entries(folder) if path.name.casefold() in own)

    def _in_collected(self, folder: Path) -> Iterator[FileChange]:
        """Yield the changes in a folder of `grader collect`. What a group shares stays."""
        collected = read_collected(folder / COLLECTED)
        for path in (*_entries(folder), *_entries(folder / LATE)):
            if path.name in collected.units:
                yield from self._own(path, "")
        others = [one for one in collected.students if not self._is_called(one.student)]
        own = {one.repository.casefold() for one in collected.students if self._is_called(one.student)}
        own -= {one.repository.casefold() for one in others}
        snapshots = folder / SNAPSHOTS
        lines = snapshots.read_bytes().splitlines(keepends=True) if snapshots.is_file() else []
        marks = [f'"repository":"{one}"'.encode() for one in own]
        kept = [line for line in lines if not any(mark in line.lower() for mark in marks)]
        if kept != lines:
            yield FileChange(snapshots, b"".join(kept), f"{len(lines) - len(kept)} of {len(lines)} lines")
        if others != collected.students:
            content = collected.model_copy(update={"students": others}).to_json().encode()
            yield FileChange(folder / COLLECTED, content, f"1 of {len(collected.students)} students")

    def _in_table(self, table: Table) -> FileChange | None:
        """Return the change of a table that leaves out the student's rows. The others stay the same, to the byte."""
        lines = list(io.StringIO(table.path.read_bytes().decode("utf-8"), newline=""))
        kept, end, count = lines[: table.header], table.header, 0
        for row in _rows(table):
            is_in = self._is_in(table, row)
            count += is_in
            kept += [] if is_in else lines[end : row.line]
            end = row.line
        if not count:
            return None
        path = table.path.resolve() if table.path.is_symlink() else table.path
        return FileChange(path, "".join(kept + lines[end:]).encode(), f"{count} of {len(table.rows)} rows")


def _named(folder: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield a sentence on what has the student's name in its own, below a folder; no file is opened."""
    closed: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=closed.append):
        named = {one for one in (*folders, *files) if _is_named(pattern, one)}
        yield from (f"{Path(place, one)} has the student's name and was not changed." for one in sorted(named))
        folders[:] = sorted({*folders} - named - {".git"})
    yield from (f"{error.filename} cannot be read ({error.strerror}): look there by hand." for error in closed)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv" and path.is_file()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if it is a link, or no folder."""
    return sorted(folder.iterdir()) if _is_folder(folder) else []


def _is_own(table: Table) -> bool:
    """Return whether a table has the grader's own column of names in reports."""
    return table.has("student") and not is_export(table)


def _rows(table: Table) -> list[TableRow]:
    return table.rows if _is_own(table) else [in_our_columns(table, row) for row in table.rows]


def _identifiers(row: TableRow) -> set[tuple[str, str]]:
    """Return what tells a student apart; of Moodle's number, which others have in other assignments, with the name."""
    found = {(column, row[column].casefold()) for column in _IDENTIFIERS if row[column]}
    if row["Identifier"].startswith("Participant "):
        others = {(column, text) for column, text in found if column != "id"}
        return others or {("id", f"{row['id']} {row['name']}".casefold())}
    return found


def _pattern(terms: Iterable[str], others: Iterable[str]) -> re.Pattern[str]:
    """Return what finds one of the terms as a whole word; a match without a group is another student's longer name."""
    longer = sorted((one for one in others if any(term.casefold() in one for term in terms)), key=len, reverse=True)
    own = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    texts = [*map(re.escape, longer), f"({own})"]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(texts)})(?![^\W_])", re.IGNORECASE)


def _is_named(pattern: re.Pattern[str], name: str) -> bool:
    return any(found[1] for found in pattern.finditer(unicodedata.normalize("NFC", name)))
