"""The roster: each student's name and repository."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GraderError
from grader.submissions.names import STUDENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HEADER = ["student", "repository"]

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}(?<!\.git)", re.ASCII)
_LONGEST_NAME = 100
# Windows reads these names as devices, with any suffix, and drops a dot at the end.
_NOT_A_FOLDER = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.", re.IGNORECASE)


class RosterError(GraderError):
    """The roster is wrong: one line for each problem."""


class Entry(NamedTuple):
    """A student of the roster."""

    student: str
    repository: str


def read_roster(path: Path, reserved: Collection[str] = ()) -> list[Entry]:
    """Read the students of the roster, in its order.

    Args:
        path: The roster.
        reserved: Names of folders, which no student can have.

    Raises:
        RosterError: A line is wrong, or there is none.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RosterError(f"{path} does not exist: write it, with the first line {','.join(HEADER)}") from None
    except UnicodeDecodeError:
        raise RosterError(f"{path} is not UTF-8: save it as CSV in UTF-8.") from None
    except OSError as error:
        raise RosterError(f"{path} cannot be read ({error.strerror}): put a readable file there.") from None
    entries: list[Entry] = []
    problems: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in _rows(path, text):
        if problem := _problem(cells, reserved):
            problems.append(f"{path}, line {line}: {problem}")
            continue
        # Some disks, and GitHub, ignore case. Reports are files named after students.
        for what, cell in zip(HEADER, cells, strict=True):
            first = seen.setdefault((what, cell.casefold()), line)
            if first != line:
                problems.append(f"{path}, line {line}: the {what} {cell!r} is in line {first}, too: remove one.")
        entries.append(Entry(*cells))
    if problems:
        raise RosterError("\n".join(problems))
    if not entries:
        raise RosterError(f"{path} names no student: add a line for each, such as ada,our-course/attention-ada")
    return entries


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header that are not blank, each with the line on which it ends."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if header != HEADER:
            raise RosterError(f"{path}, line 1: the first line must be {','.join(HEADER)}, with commas between.")
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield rows.line_num, cells
    except csv.Error as error:
        raise RosterError(f"{path}, line {rows.line_num}: this is not CSV ({error}): correct the quotes.") from None


def _problem(cells: list[str], reserved: Collection[str]) -> str | None:
    """Return the first problem of a row."""
    if len(cells) != len(HEADER):
        many = f"there are {len(cells)} values" if len(cells) > 1 else "there is no comma"
        return f"{many}: write a student and a repository with one comma between, as in ada,our-course/attention-ada"
    student, repository = cells
    if not STUDENT.fullmatch(student):
        return (
            f"{student!r} cannot be a student's name: use letters, digits, '.', '_' and '-' only, and a letter or a "
            "digit first."
        )
    if len(student) > _LONGEST_NAME:
        return (
            f"the student's name has {len(student)} characters: write {_LONGEST_NAME} at most, for use in file names."
        )
    if _NOT_A_FOLDER.fullmatch(student):
        return f"{student!r} cannot be the name of a folder on Windows: give the student another name."
    if student.casefold() in {name.casefold() for name in reserved}:
        return f"{student!r} is the name of a folder of the course: give the student another name."
    if not _REPOSITORY.fullmatch(repository):
        return f"{repository!r} is not a repository on GitHub: write OWNER/NAME, such as our-course/attention-ada."
    return None
