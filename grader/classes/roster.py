"""The roster: every student of a class, with the names that platforms know them by, extensions and exemptions.

It is a CSV file of the instructor's own, or one that a platform exports: Canvas, Moodle, Gradescope, GitHub Classroom
and Classroom 50. All are read into the columns of our own: one row for each student, and a name in reports that nobody
else has.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.classes.tables import Table, TableError, TableRow, read_table
from grader.submissions.submission import STUDENT, student_id
from grader.text import listed, who

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
class RosterEntry:
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


class Roster(list[RosterEntry]):
    """The students of a class; of an export also who only teaches, without a name in reports, and who that is."""

    def __init__(
        self, entries: Iterable[RosterEntry], staff: Sequence[RosterEntry] = (), notes: Sequence[str] = ()
    ) -> None:
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
        if own or entry.student:
            _check_names(table, row, entry, reserved, needs_repository)
        for unit in units:
            cell, is_points = row[unit], not own and _POINTS.fullmatch(row[unit])
            if cell and unit not in {*entry.exempt, *entry.due} and not is_points:
                sentence = f"{cell!r} is no extension: write a time such as 2027-02-03T23:59+01:00, or exempt."
                table.report(row, unit, sentence)
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


def _entry(row: TableRow, units: Iterable[str], is_exported: bool = True) -> RosterEntry:
    due = {unit: time for unit in units if (time := parse_time(row[unit]))}
    exempt = frozenset(unit for unit in units if row[unit].casefold() == EXEMPT)
    return RosterEntry(**{column: row[column] for column in COLUMNS}, due=due, exempt=exempt, is_exported=is_exported)


def _check_names(
    table: Table, row: TableRow, entry: RosterEntry, reserved: Collection[str], needs_repository: bool
) -> None:
    """Report what is wrong in the name in reports and that of the repository."""
    student, problem = entry.student, ""
    if not STUDENT.fullmatch(student):
        allowed = "use letters, digits, '.', '_' and '-' only, and a letter or a digit first"
        problem = f"{student!r} cannot be a student's name: {allowed}."
    elif len(student) > _LONGEST_NAME:
        problem = f"the name has {len(student)} characters: write {_LONGEST_NAME} at most, for use in file names."
    elif _NOT_A_FOLDER.fullmatch(student):
        problem = f"{student!r} cannot be the name of a folder on Windows: give the student another name."
    elif student.casefold() in {name.casefold() for name in reserved}:
        problem = f"{student!r} is the name of a folder of the course: give the student another name."
    if problem:
        table.report(row, "student", problem)
    if (entry.repository or needs_repository) and not _REPOSITORY.fullmatch(entry.repository):
        right = "write OWNER/NAME, such as our-course/attention-ada"
        table.report(row, "repository", f"{entry.repository!r} is not a repository on GitHub: {right}.")


def _report_doubles(table: Table, entries: list[RosterEntry]) -> None:
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


# Our columns, and what exports call them, in English and in any case. The first that is there counts.
_EXPORTED = {
    "name": ("Student", "Student Name", "Full name", "Fullname", "name"),
    "id": ("ID", "github_id"),
    "email": ("Email address", "Email"),
    "sis_user_id": ("SIS User ID", "ID number", "SID"),
    "sis_login_id": ("SIS Login ID", "Username", "github_username"),
    "section": ("Section", "Sections", "Groups", "Group"),
    "role": ("Role", "Roles"),
}
_FIRST_AND_LAST = (
    ("First name", "Last name"),
    ("First name", "Surname"),
    ("first_name", "last_name"),
    ("FirstName", "LastName"),
)
# Moodle's number of a student in an assignment; or GitHub Classroom's address, number or name.
_MOODLE_NUMBER = "Identifier"
_IDENTIFIERS = ("id", "email", "sis_user_id", "sis_login_id")
# Only Canvas's gradebook has these beside `Student`, which is the column of names in our own roster.
_CANVAS = ("SIS User ID", "SIS Login ID", "Integration ID", "Root Account")
# Rows of Canvas itself: the points of each assignment, and a student for trying things. Another one has no name.
_OF_CANVAS = ("points possible", "student, test", "test student")
_STUDENTS = {"student", "students", "learner"}
_STAFF = {
    "teacher", "editing teacher", "non editing teacher", "instructor", "ta", "hta", "head ta", "teaching assistant",
    "assistant", "student assistant", "reader", "grader", "manager", "course creator", "designer", "observer",
    "admin", "administrator", "owner", "staff", "guest",
}  # fmt: skip


def is_export(table: Table) -> bool:
    """Return whether a table has the columns of an export: a name and something else that tells students apart."""
    if table.has("student") and not _is_canvas(table):
        return False
    has_name = any(map(table.has, _EXPORTED["name"])) or any(table.has(*pair) for pair in _FIRST_AND_LAST)
    has_more = any(table.has(name) for column in _IDENTIFIERS for name in _EXPORTED[column])
    # A grading worksheet of an assignment without names has no other column on students.
    return (has_name and (has_more or table.has(_MOODLE_NUMBER))) or table.has(_MOODLE_NUMBER, "Status")


def _is_canvas(table: Table) -> bool:
    """Return whether a table with a column `Student` is Canvas's gradebook, and no roster of ours."""
    begins_alike = table.columns[:2] == ["Student", "ID"] and not (table.has("name") or table.has("email"))
    return table.has("Student", "ID") and (begins_alike or any(map(table.has, _CANVAS)))


def read_exported(table: Table) -> tuple[list[TableRow], list[TableRow], list[str]]:
    """Read the students of an export under our columns, each with a name in reports.

    Rows of one person are one student; rows that contradict are reported.

    Returns:
        The students, who only teaches, and sentences on their roles.

    Raises:
        TableError: A column is there twice.
    """
    known = [*(name for names in (*_EXPORTED.values(), *_FIRST_AND_LAST) for name in names), _MOODLE_NUMBER]
    table.require_single(known)
    of_canvas = _is_canvas(table)
    rows = [in_our_columns(table, row) for row in table.rows if not (of_canvas and _is_of_canvas(row))]
    for row in rows:
        if not any(row[column] for column in ("name", *_IDENTIFIERS)):
            table.report(row, "name", "nothing says who this is: add a name, an address or a login, or remove it.")
    people = _merged(table, rows)
    # Who is a student as well is no staff.
    staff = [row for row in people if (roles := _roles(row)) and roles <= _STAFF]
    students = [row for row in people if row not in staff]
    unknown = [row for row in students if row["role"] and not _roles(row) & _STUDENTS]
    said = {"Left out of the class by their role": staff, "Counted as students, with another role": unknown}
    named = {what: [f"{_called(row)} ({row['role']})" for row in some] for what, some in said.items() if some}
    notes = [f"{what}: {listed(names, 50)}." for what, names in named.items()]
    return _named(table, students), staff, notes


def _is_of_canvas(row: TableRow) -> bool:
    return row["Student"].casefold() in _OF_CANVAS or (not row["Student"] and "Manual Posting" in row.cells.values())


def in_our_columns(table: Table, row: TableRow) -> TableRow:
    """Return a row under our columns."""
    cells = {column: next(filter(None, map(row.__getitem__, names)), "") for column, names in _EXPORTED.items()}
    if not cells["name"]:
        pairs = [pair for pair in _FIRST_AND_LAST if table.has(*pair)]
        cells["name"] = next(filter(None, (f"{row[a]} {row[b]}".strip() for a, b in pairs)), "")
    if identifier := row[_MOODLE_NUMBER]:
        if not table.has("github_username"):
            cells["id"] = re.sub(r".*\s(?=\d+$)", "", identifier)
        elif " " in identifier:  # two people may have one name
            cells["name"] = cells["name"] or identifier
        else:
            cells["email" if "@" in identifier else "sis_user_id"] = identifier
    return TableRow(row.line, {**row.cells, **cells})


def _merged(table: Table, rows: Iterable[TableRow]) -> list[TableRow]:
    """Return one row for each person, where the first one is. Canvas lists a student once for each section."""
    people: dict[int, list[TableRow]] = {}
    lines: dict[tuple[str, str], int] = {}
    for row in rows:
        earlier = sorted({lines[key] for key in _keys(row) if key in lines})
        first = earlier[0] if earlier else row.line
        people.setdefault(first, [])
        for line in earlier[1:]:
            people[first] += people.pop(line)
        people[first].append(row)
        lines.update({key: first for one in people[first] for key in _keys(one)})
    return [_one(table, same) if len(same) > 1 else same[0] for same in people.values()]


def _keys(row: TableRow) -> list[tuple[str, str]]:
    return [(column, _plain(row[column])) for column in _IDENTIFIERS if row[column]]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()


def _one(table: Table, same: Sequence[TableRow]) -> TableRow:
    """Return one row for several of one person. Report what differs in them."""
    first, *others = same
    cells = dict(first.cells)
    lines = dict.fromkeys(cells, first.line)
    for row in others:
        for column in [name for name in cells if name not in ("section", "role")]:
            there, here = cells[column], row[column]
            is_known = column in ("name", "folder", *_IDENTIFIERS)
            if is_known and there and here and _plain(there) != _plain(here):
                shared = next(key for key in _keys(row) if any(key in _keys(one) for one in same if one is not row))
                table.report(
                    row,
                    _heading(table, column),
                    f"{here!r} here, and {there!r} in line {lines[column]}, which is the same student by "
                    f"{row[shared[0]]!r}: correct one of the lines, or remove it.",
                )
            if here and not there:
                cells[column], lines[column] = here, row.line
        for column in ("section", "role"):
            cells[column] = ", ".join(dict.fromkeys(filter(None, (cells[column], row[column]))))
    return TableRow(first.line, cells)


def _heading(table: Table, column: str) -> str:
    """Return what the table calls one of our columns."""
    return next(filter(table.has, _EXPORTED.get(column, ())), column)


def _roles(row: TableRow) -> set[str]:
    return {re.sub(r"[-_\s]+", " ", one).strip().casefold() for one in re.split(r"[,;/|]", row["role"]) if one.strip()}


def _called(row: TableRow) -> str:
    return next((row[column] for column in ("name", "sis_login_id", "email", *_IDENTIFIERS) if row[column]), "")


def _named(table: Table, rows: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows with names in reports, of which no two are the same. The order of rows does not matter."""
    names = [_names(row) for row in rows]
    many = Counter(short.casefold() for short, _ in names)
    chosen = [whole if many[short.casefold()] > 1 else short for short, whole in names]
    seen: dict[str, TableRow] = {}
    for row, name in zip(rows, chosen, strict=True):
        first = seen.setdefault(name.casefold(), row)
        if not name and _called(row):
            table.report(
                row,
                _heading(table, "name"),
                f"no name for reports can be made of {_called(row)!r}: add a login or an address, or write a roster of "
                "your own with the column `student`.",
            )
        elif name and first is not row:
            table.report(
                row,
                _heading(table, "name"),
                f"{_called(row)!r} would have the same name in reports as line {first.line}, {name!r}: add a login, an "
                "address or a number that tells the two apart, remove one of the lines, or write a roster of your own "
                "with the column `student`.",
            )
    return [TableRow(row.line, {**row.cells, "student": name}) for row, name in zip(rows, chosen, strict=True)]


def _names(row: TableRow) -> tuple[str, str]:
    """Return a short name in reports, and a longer one for students who share it."""
    account = row["sis_login_id"] or row["email"]
    number = student_id(row["id"] or row["sis_user_id"])
    if short := student_id(account.partition("@")[0]):
        return short, student_id(account)
    if short := student_id(row["name"]):
        return short, f"{short}_{number}" if number else short
    # Without a name, a download calls a student so, too.
    anonymous = f"Participant_{number}" if row[_MOODLE_NUMBER].startswith("Participant ") and number else number
    return anonymous, anonymous
