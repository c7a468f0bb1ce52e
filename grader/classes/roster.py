"""The roster: every student of a class, with the names that platforms know them by, extensions and exemptions.

It is a CSV file of the instructor's own, or one that a platform exports.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.exported_roster import is_export, read_exported
from grader.classes.tables import Row, Table, TableError, read_table
from grader.submissions.names import STUDENT
from grader.text import who

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

COLUMNS = ("student", "name", "id", "email", "sis_user_id", "sis_login_id", "section", "repository", "folder")
EXEMPT = "exempt"

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}(?<!\.git)", re.ASCII)
_LONGEST_NAME = 100
# What an exported gradebook has in the column of a unit.
_POINTS = re.compile(r"-|\(read only\)|[\d.,]+ ?%?")
# Moodle's name for the group of those who are in none, or in several.
_NO_GROUP = "Default group"
# Windows reads these names as devices, with any suffix, and drops a dot at the end.
_NOT_A_FOLDER = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """A student of the roster. Texts that the roster lacks are empty.

    Attributes:
        student: The name in reports.
        name: The student's own name.
        id: The number in Canvas, or in Moodle's grading worksheet.
        repository: OWNER/NAME on GitHub. A group has the same.
        folder: The name of the folder or archive that is handed in. A group has the same.
        due: Extensions: another due date, by unit.
        exempt: The units that do not count.
        is_exported: Whether an export has the row: the name in reports may be another student's later.
    """

    student: str
    name: str = ""
    id: str = ""
    email: str = ""
    sis_user_id: str = ""
    sis_login_id: str = ""
    section: str = ""
    repository: str = ""
    folder: str = ""
    due: Mapping[str, datetime.datetime] = field(default_factory=dict)
    exempt: frozenset[str] = frozenset()
    is_exported: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """The student's own name, if it is known, and the one in reports. Who only teaches has none there."""
        return who(self.student, self.name) if self.student else self.name or self.sis_login_id or self.email

    @property
    def teams(self) -> list[str]:
        """The names of the student's groups, which Moodle writes into the name of a download."""
        return list(filter(None, map(str.strip, [*re.split("[,;]", self.section), _NO_GROUP])))


class Roster(list[Entry]):
    """The students of a class; of an export also who only teaches, without a name in reports, and who that is."""

    def __init__(self, entries: Iterable[Entry], staff: Sequence[Entry] = (), notes: Sequence[str] = ()) -> None:
        """Keep the students, the staff, and sentences on roles."""
        super().__init__(entries)
        self.staff = staff
        self.notes = notes


def read_roster(
    path: Path, units: Collection[str], reserved: Collection[str] = (), needs_repository: bool = False
) -> Roster:
    """Read the students of the roster, in its order.

    Args:
        path: The roster.
        units: The units of the course. A column with the name of one holds extensions and exemptions.
        reserved: Names of folders, which no student can have.
        needs_repository: Whether each student needs a repository.

    Raises:
        TableError: A line is wrong, or there is none.
    """
    table = read_table(path, "student,name,email")
    own = needs_repository or not is_export(table)
    if own and table.has("student"):
        table.require_known(["student", *(["repository"] if needs_repository else [])], [*COLUMNS, *units])
    elif own:
        raise TableError(
            f"{path}, line {table.header}: there is no column 'student'. The columns can be {', '.join(COLUMNS)}, and "
            "the units; or give a roster in English that a platform exports."
        )
    rows, staff, notes = (table.rows, [], []) if own else read_exported(table)
    entries = []
    for row in rows:
        entry = _entry(row, units, is_exported=not own)
        for column, sentence in _problems(entry, reserved, needs_repository) if own or entry.student else ():
            table.report(row, column, sentence)
        for unit in units:
            is_points = not own and _POINTS.fullmatch(row[unit])
            if (cell := row[unit]) and cell.casefold() != EXEMPT and unit not in entry.due and not is_points:
                table.report(
                    row, unit, f"{cell!r} is no extension: write a time such as 2027-02-03T23:59+01:00, or exempt."
                )
        entries.append(entry)
    if own:
        _report_doubles(table, entries)
    table.require_sound()
    if not entries:
        raise TableError(f"{path} names no student: add a line for each.")
    return Roster(entries, [_entry(row, ()) for row in staff], notes)


def parse_time(text: str) -> datetime.datetime | None:
    """Return an ISO 8601 time with an offset; None if it is something else."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


def _entry(row: Row, units: Iterable[str], is_exported: bool = True) -> Entry:
    due = {unit: time for unit in units if (time := parse_time(row[unit]))}
    exempt = frozenset(unit for unit in units if row[unit].casefold() == EXEMPT)
    return Entry(**{column: row[column] for column in COLUMNS}, due=due, exempt=exempt, is_exported=is_exported)


def _problems(entry: Entry, reserved: Collection[str], needs_repository: bool) -> Iterable[tuple[str, str]]:
    """Yield the columns that are wrong in a row, each with what is wrong and what to do."""
    student = entry.student
    if not STUDENT.fullmatch(student):
        yield (
            "student",
            f"{student!r} cannot be a student's name: use letters, digits, '.', '_' and '-' only, and a letter or a "
            "digit first.",
        )
    elif len(student) > _LONGEST_NAME:
        yield (
            "student",
            f"the name has {len(student)} characters: write {_LONGEST_NAME} at most, for use in file names.",
        )
    elif _NOT_A_FOLDER.fullmatch(student):
        yield "student", f"{student!r} cannot be the name of a folder on Windows: give the student another name."
    elif student.casefold() in {name.casefold() for name in reserved}:
        yield "student", f"{student!r} is the name of a folder of the course: give the student another name."
    if (entry.repository or needs_repository) and not _REPOSITORY.fullmatch(entry.repository):
        yield (
            "repository",
            f"{entry.repository!r} is not a repository on GitHub: write OWNER/NAME, such as our-course/attention-ada.",
        )


def _report_doubles(table: Table, entries: list[Entry]) -> None:
    """Report what two students share and only one can have. Some disks, and GitHub, ignore case.

    A group shares its repository or folder.
    """
    seen: dict[tuple[str, str], int] = {}
    for row, entry in zip(table.rows, entries, strict=True):
        for column in ("student", "id", "email", "sis_user_id", "sis_login_id"):
            cell = getattr(entry, column)
            first = seen.setdefault((column, cell.casefold()), row.line) if cell else row.line
            if first != row.line:
                table.report(row, column, f"{cell!r} is in line {first}, too: remove one.")
