"""The roster: every student of a class, with the names that platforms know them by, extensions and exemptions.

It is a CSV file of the instructor's own, or one that Canvas, Moodle or GitHub Classroom exports.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.tables import Row, Table, TableError, read_table
from grader.submissions.names import STUDENT, student_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

COLUMNS = ("student", "name", "id", "email", "sis_user_id", "sis_login_id", "section", "repository", "folder")
EXEMPT = "exempt"

# The columns of exports, in English, and ours. The first that is there counts.
_EXPORTED = {
    "name": ("Student", "Student Name", "Full name", "Fullname", "name"),
    "id": ("ID", "Identifier", "github_id"),
    "email": ("Email address", "Email"),
    "sis_user_id": ("SIS User ID", "ID number", "identifier"),
    "sis_login_id": ("SIS Login ID", "Username", "github_username"),
    "section": ("Section", "Groups", "Group"),
}
_FIRST_AND_LAST = (("First name", "Last name"), ("First name", "Surname"))
# Rows of Canvas itself: the points of each assignment, and a student for trying things.
_NOT_STUDENTS = ("Points Possible", "Student, Test", "Test Student")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}(?<!\.git)", re.ASCII)
_LONGEST_NAME = 100
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

    @property
    def teams(self) -> list[str]:
        """The names of the student's groups, as a platform writes them in the name of a download."""
        return list(filter(None, map(student_id, re.split("[,;]", self.section))))


def read_roster(
    path: Path, units: Collection[str], reserved: Collection[str] = (), needs_repository: bool = False
) -> list[Entry]:
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
    own = "student" in table.columns
    if own:
        table.require_known(["student", *(["repository"] if needs_repository else [])], [*COLUMNS, *units])
    elif needs_repository or not _is_export(table):
        raise TableError(
            f"{path}, line 1: there is no column 'student'. The columns can be {', '.join(COLUMNS)}, and the units."
        )
    entries = []
    for row in table.rows if own else _exported_rows(table):
        entry = _entry(row, units)
        for column, sentence in _problems(entry, reserved, needs_repository):
            table.report(row, column, sentence)
        for unit in units:
            if (cell := row[unit]) and cell.casefold() != EXEMPT and unit not in entry.due:
                table.report(
                    row, unit, f"{cell!r} is no extension: write a time such as 2027-02-03T23:59+01:00, or exempt."
                )
        entries.append(entry)
    _report_doubles(table, entries)
    table.require_sound()
    if not entries:
        raise TableError(f"{path} names no student: add a line for each.")
    return entries


def parse_time(text: str) -> datetime.datetime | None:
    """Return an ISO 8601 time with an offset; None if it is something else."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


def _entry(row: Row, units: Iterable[str]) -> Entry:
    due = {unit: time for unit in units if (time := parse_time(row[unit]))}
    exempt = frozenset(unit for unit in units if row[unit].casefold() == EXEMPT)
    return Entry(**{column: row[column] for column in COLUMNS}, due=due, exempt=exempt)


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
    for row, entry in zip(table.rows if "student" in table.columns else [], entries, strict=False):
        for column in ("student", "id", "email", "sis_user_id", "sis_login_id"):
            cell = getattr(entry, column)
            first = seen.setdefault((column, cell.casefold()), row.line) if cell else row.line
            if first != row.line:
                table.report(row, column, f"{cell!r} is in line {first}, too: remove one.")


def _is_export(table: Table) -> bool:
    """Return whether a table has the columns of an export: a name and something else that tells students apart."""
    has_name = any(name in table.columns for name in _EXPORTED["name"]) or any(
        set(pair) <= set(table.columns) for pair in _FIRST_AND_LAST
    )
    return has_name and any(
        name in table.columns for column in ("id", "email", "sis_login_id") for name in _EXPORTED[column]
    )


def _exported_rows(table: Table) -> list[Row]:
    """Return the rows of an export under our columns. The name in reports is the login, or else the student's name."""
    rows = []
    for row in table.rows:
        cells = {column: next(filter(None, map(row.__getitem__, names)), "") for column, names in _EXPORTED.items()}
        cells["name"] = cells["name"] or next(
            filter(None, (f"{row[a]} {row[b]}".strip() for a, b in _FIRST_AND_LAST)), ""
        )
        if cells["name"] in _NOT_STUDENTS or not (cells["id"] or cells["email"] or cells["sis_login_id"]):
            continue
        cells["id"] = cells["id"].removeprefix("Participant ")
        login = (cells["sis_login_id"] or cells["email"]).partition("@")[0]
        cells["student"] = student_id(login) or student_id(cells["name"])
        rows.append(Row(row.line, {**row.cells, **cells}))
    names = [row["student"].casefold() for row in rows]
    return [
        row
        if names.count(row["student"].casefold()) == 1
        else Row(row.line, {**row.cells, "student": f"{row['student']}_{row['id']}"})
        for row in rows
    ]


def _local(text: str) -> str:
    """Return the id that a platform makes of a login or an address: of the part before the @."""
    return student_id(text.partition("@")[0]).casefold()


def _letters(found: str) -> str:
    """Return the letters of a name, without the number that a platform has added."""
    return re.sub(r"_\d+$|[^a-z0-9]", "", student_id(found).casefold())


def _spellings(entry: Entry) -> set[str]:
    """Return a name without spaces, from each of its words on: Canvas writes Jane Doe as doejane.

    If a group hands in together, Moodle writes `Group A-Jane Doe`.
    """
    words = [word for word in re.split(r"[^a-z0-9]+", student_id(entry.name).casefold()) if word]
    alone = {"".join([*words[start:], *words[:start]]) for start in range(len(words))}
    return alone | {f"{_letters(team)}{name}" for team in entry.teams for name in alone}


_RULES: dict[str, tuple[Callable[[Entry], set[str]], Callable[[str], str]]] = {
    "folder": (lambda entry: {entry.folder.casefold()}, str.casefold),
    "student": (lambda entry: {entry.student.casefold()}, str.casefold),
    "id": (lambda entry: {entry.id}, lambda found: found.rpartition("_")[2]),
    "sis_login_id": (lambda entry: {_local(entry.sis_login_id)}, str.casefold),
    "sis_user_id": (lambda entry: {_local(entry.sis_user_id)}, str.casefold),
    "email": (lambda entry: {_local(entry.email)}, str.casefold),
    "repository": (lambda entry: {_local(entry.repository.partition("/")[2])}, str.casefold),
    "name": (_spellings, _letters),
}
"""How a submission is matched to a student, by the columns of the roster: what of an entry equals what of its name."""


_GROUPS = ("folder", "repository")
"""The columns that the students of a group share."""
_IDENTIFIERS = ("student", "id", "email", "sis_user_id", "sis_login_id")


class Matcher:
    """Finds the students of submissions by their names."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Sort the entries by what each rule compares."""
        self._by_rule: dict[str, dict[str, list[Entry]]] = {rule: {} for rule in _RULES}
        self._by_identifier: dict[str, list[Entry]] = {}
        self._groups: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            for column in _GROUPS:
                self._groups.setdefault((column, getattr(entry, column).casefold()), []).append(entry)
            for identifier in {getattr(entry, column).casefold() for column in _IDENTIFIERS}:
                self._by_identifier.setdefault(identifier, []).append(entry)
            for rule, (texts, _) in _RULES.items():
                if entry is not self.group(entry, rule)[0]:
                    continue  # the first of a group stands for it
                for text in filter(None, texts(entry)):
                    self._by_rule[rule].setdefault(text, []).append(entry)

    def match(self, found: str, identifiers: Iterable[str] | None = None) -> tuple[Entry, str] | None:
        """Return the student of a submission, and the rule that fits; None if not exactly one does.

        Args:
            found: The name of the submission.
            identifiers: The student's ids and addresses, if the download has them: then the name has no number of the
                student.
        """
        if named := {entry.student: entry for one in identifiers or () for entry in self._identified(one)}:
            return (next(iter(named.values())), "ID or address") if len(named) == 1 else None
        for rule, (_, text) in _RULES.items():
            if rule == "id" and identifiers is not None:
                continue
            if fitting := self._by_rule[rule].get(text(found)):
                return (fitting[0], rule) if len(fitting) == 1 else None
        return None

    def group(self, entry: Entry, rule: str) -> list[Entry]:
        """Return the students who share what a rule compares, because they are a group; otherwise the student alone."""
        cell = getattr(entry, rule) if rule in _GROUPS else ""
        return self._groups[rule, cell.casefold()] if cell else [entry]

    def _identified(self, identifier: str) -> list[Entry]:
        return self._by_identifier.get(identifier.casefold(), [])
