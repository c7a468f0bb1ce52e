"""Rosters that a platform exports: Canvas, Moodle, Gradescope, GitHub Classroom and Classroom 50.

All are read into the columns of our own roster: one row for each student, and a name in reports that nobody else has.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.tables import Row
from grader.submissions.names import student_id
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grader.classes.tables import Table

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
_IDENTIFIER = "Identifier"
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


class Exported(NamedTuple):
    """The people in an export under our columns, and sentences on their roles.

    Attributes:
        students: The students, each with a name in reports.
        staff: Who only teaches.
        notes: The sentences.
    """

    students: list[Row]
    staff: list[Row]
    notes: list[str]


def is_export(table: Table) -> bool:
    """Return whether a table has the columns of an export: a name and something else that tells students apart."""
    if table.has("student") and not _is_canvas(table):
        return False
    has_name = any(map(table.has, _EXPORTED["name"])) or any(table.has(*pair) for pair in _FIRST_AND_LAST)
    has_more = any(table.has(name) for column in _IDENTIFIERS for name in _EXPORTED[column])
    # A grading worksheet of an assignment without names has no other column on students.
    return (has_name and (has_more or table.has(_IDENTIFIER))) or table.has(_IDENTIFIER, "Status")


def _is_canvas(table: Table) -> bool:
    """Return whether a table with a column `Student` is Canvas's gradebook, and no roster of ours."""
    begins_alike = table.columns[:2] == ["Student", "ID"] and not (table.has("name") or table.has("email"))
    return table.has("Student", "ID") and (begins_alike or any(map(table.has, _CANVAS)))


def read_exported(table: Table) -> Exported:
    """Read the students of an export. Rows of one person are one student; rows that contradict are reported.

    Raises:
        TableError: A column is there twice.
    """
    known = [*(name for names in (*_EXPORTED.values(), *_FIRST_AND_LAST) for name in names), _IDENTIFIER]
    table.require_single(known)
    of_canvas = _is_canvas(table)
    rows = [in_our_columns(table, row) for row in table.rows if not (of_canvas and _is_of_canvas(row))]
    for row in rows:
        if not any(row[column] for column in ("name", *_IDENTIFIERS)):
            table.report(row, "name", "nothing says who this is: add a name, an address or a login, or remove it.")
    people = _merged(table, rows)
    staff = [row for row in people if _is_staff(row)]
    students = [row for row in people if row not in staff]
    return Exported(_named(table, students), staff, _notes(staff, students))


def _is_of_canvas(row: Row) -> bool:
    return row["Student"].casefold() in _OF_CANVAS or (not row["Student"] and "Manual Posting" in row.cells.values())


def in_our_columns(table: Table, row: Row) -> Row:
    """Return a row under our columns."""
    cells = {column: next(filter(None, map(row.__getitem__, names)), "") for column, names in _EXPORTED.items()}
    if not cells["name"]:
        pairs = [pair for pair in _FIRST_AND_LAST if table.has(*pair)]
        cells["name"] = next(filter(None, (f"{row[a]} {row[b]}".strip() for a, b in pairs)), "")
    if identifier := row[_IDENTIFIER]:
        if not table.has("github_username"):
            cells["id"] = re.sub(r".*\s(?=\d+$)", "", identifier)
        elif " " in identifier:  # two people may have one name
            cells["name"] = cells["name"] or identifier
        else:
            cells["email" if "@" in identifier else "sis_user_id"] = identifier
    return Row(row.line, {**row.cells, **cells})


def _merged(table: Table, rows: Iterable[Row]) -> list[Row]:
    """Return one row for each person, where the first one is. Canvas lists a student once for each section."""
    people: dict[int, list[Row]] = {}
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


def _keys(row: Row) -> list[tuple[str, str]]:
    return [(column, _plain(row[column])) for column in _IDENTIFIERS if row[column]]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split())).casefold()


def _one(table: Table, same: Sequence[Row]) -> Row:
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
    return Row(first.line, cells)


def _heading(table: Table, column: str) -> str:
    """Return what the table calls one of our columns."""
    return next(filter(table.has, _EXPORTED.get(column, ())), column)


def _roles(row: Row) -> set[str]:
    return {re.sub(r"[-_\s]+", " ", one).strip().casefold() for one in re.split(r"[,;/|]", row["role"]) if one.strip()}


def _is_staff(row: Row) -> bool:
    """Return whether somebody is only a teacher or an assistant. Who is a student as well stays."""
    roles = _roles(row)
    return bool(roles) and roles <= _STAFF


def _notes(staff: Iterable[Row], students: Iterable[Row]) -> list[str]:
    """Return who is left out, and who counts as a student although the role is not known."""
    unknown = [row for row in students if row["role"] and not _roles(row) & _STUDENTS]
    said = {"Left out of the class by their role": staff, "Counted as students, with another role": unknown}
    return [f"{what}: {listed([_with_role(row) for row in rows], 50)}." for what, rows in said.items() if rows]


def _with_role(row: Row) -> str:
    return f"{_called(row)} ({row['role']})"


def _called(row: Row) -> str:
    return next((row[column] for column in ("name", "sis_login_id", "email", *_IDENTIFIERS) if row[column]), "")


def _named(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return the rows with names in reports, of which no two are the same. The order of rows does not matter."""
    names = [_names(row) for row in rows]
    many = Counter(short.casefold() for short, _ in names)
    chosen = [whole if many[short.casefold()] > 1 else short for short, whole in names]
    seen: dict[str, Row] = {}
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
    return [Row(row.line, {**row.cells, "student": name}) for row, name in zip(rows, chosen, strict=True)]


def _names(row: Row) -> tuple[str, str]:
    """Return a short name in reports, and a longer one for students who share it."""
    account = row["sis_login_id"] or row["email"]
    number = student_id(row["id"] or row["sis_user_id"])
    if short := student_id(account.partition("@")[0]):
        return short, student_id(account)
    if short := student_id(row["name"]):
        return short, f"{short}_{number}" if number else short
    # Without a name, a download calls a student so, too.
    anonymous = f"Participant_{number}" if row[_IDENTIFIER].startswith("Participant ") and number else number
    return anonymous, anonymous
