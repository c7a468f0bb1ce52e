"""The roster: every student of a class, with the names that platforms know them by, extensions and exemptions.

It is a CSV file of the instructor's own, or one that a platform exports.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.exported_roster import is_canvas, is_export, read_exported
from grader.classes.tables import Row, Table, TableError, read_table
from grader.submissions.names import STUDENT, student_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

COLUMNS = ("student", "name", "id", "email", "sis_user_id", "sis_login_id", "section", "repository", "folder")
EXEMPT = "exempt"

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
        repository: OWNER/NAME on GitHub.
        folder: The name of the folder or archive that is handed in.
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

    def __str__(self) -> str:
        """The student's own name, if it is known, and the one in reports."""
        return f"{self.name} ({self.student})" if self.name else self.student


class Roster(list[Entry]):
    """The students of a class, with sentences on people of an export who are none."""

    def __init__(self, entries: Iterable[Entry] = (), notes: Sequence[str] = ()) -> None:
        """Keep the students, and the sentences."""
        super().__init__(entries)
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
    own = table.has("student") and not is_canvas(table)
    if own:
        table.require_known(["student", *(["repository"] if needs_repository else [])], [*COLUMNS, *units])
    elif needs_repository or not is_export(table):
        raise TableError(
            f"{path}, line {table.header}: there is no column 'student'. The columns can be {', '.join(COLUMNS)}, and "
            "the units; or give a roster in English that a platform exports."
        )
    rows, notes = (table.rows, []) if own else read_exported(table)
    entries = []
    for row in rows:
        entry = _entry(row, units)
        for column, sentence in _problems(entry, reserved, needs_repository) if own or entry.student else ():
            table.report(row, column, sentence)
        for unit in units if own else ():
            if (cell := row[unit]) and cell.casefold() != EXEMPT and unit not in entry.due:
                table.report(
                    row, unit, f"{cell!r} is no extension: write a time such as 2027-02-03T23:59+01:00, or exempt."
                )
        entries.append(entry)
    if own:
        _report_doubles(table, entries)
    table.require_sound()
    if not entries:
        raise TableError(f"{path} names no student: add a line for each.")
    return Roster(entries, notes)


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
    """Report what two students share and only one can have. Some disks, and GitHub, ignore case."""
    seen: dict[tuple[str, str], int] = {}
    for row, entry in zip(table.rows, entries, strict=True):
        for column in ("student", "id", "email", "sis_user_id", "sis_login_id", "repository", "folder"):
            cell = getattr(entry, column)
            first = seen.setdefault((column, cell.casefold()), row.line) if cell else row.line
            if first != row.line:
                table.report(row, column, f"{cell!r} is in line {first}, too: remove one.")


def _local(text: str) -> str:
    """Return the id that a platform makes of a login or an address: of the part before the @."""
    return student_id(text.partition("@")[0]).casefold()


def _letters(found: str) -> str:
    """Return the letters of a name, without the number that a platform has added."""
    return re.sub(r"_\d+$|[^a-z0-9]", "", student_id(found).casefold())


def _spellings(name: str) -> set[str]:
    """Return a name without spaces, from each of its words on: Canvas writes Jane Doe as doejane."""
    words = [word for word in re.split(r"[^a-z0-9]+", student_id(name).casefold()) if word]
    return {"".join([*words[start:], *words[:start]]) for start in range(len(words))}


def _whole(text: str) -> set[str]:
    """Return a login or an address as it may be the name of a folder."""
    return {text.casefold(), student_id(text).casefold()}


def _logins(entry: Entry) -> set[str]:
    """Return what a clone may be called after its assignment."""
    return {entry.student.casefold(), *_whole(entry.sis_login_id), _local(entry.sis_login_id)}


def _unlinked(entry: Entry) -> set[str]:
    """Return the same for a student without a login."""
    return set() if entry.sis_login_id else {*_whole(entry.email), _local(entry.email), _local(entry.sis_user_id)}


_Rule = tuple[str, "Callable[[Entry], set[str]]", "Callable[[str], str]"]
_RULES: Sequence[_Rule] = (
    ("folder", lambda entry: {entry.folder.casefold()}, str.casefold),
    ("student", lambda entry: {entry.student.casefold()}, str.casefold),
    ("sis_login_id", lambda entry: _whole(entry.sis_login_id), str.casefold),
    ("email", lambda entry: _whole(entry.email), str.casefold),
    ("id", lambda entry: {entry.id}, lambda found: found.rpartition("_")[2]),
    ("sis_login_id", lambda entry: {_local(entry.sis_login_id)}, str.casefold),
    ("sis_user_id", lambda entry: {_local(entry.sis_user_id)}, str.casefold),
    ("email", lambda entry: {_local(entry.email)}, str.casefold),
    ("repository", lambda entry: {_local(entry.repository.partition("/")[2])}, str.casefold),
    ("name", lambda entry: _spellings(entry.name), _letters),
)
"""How a submission is matched to a student, by the columns of the roster: what of an entry equals what of its name."""
_BY_LOGIN: Sequence[_Rule] = (("login", _logins, str.casefold), ("login", _unlinked, str.casefold))
"""The same for what is left of the name of a clone."""


class Matcher:
    """Finds the students of submissions by their names."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Sort the entries by what each rule compares."""
        entries = list(entries)
        self._rules = [_index(rule, entries) for rule in _RULES]
        self._by_login = [_index(rule, entries) for rule in _BY_LOGIN]

    def match(self, found: str, prefixes: Iterable[str] = ()) -> tuple[Entry, str] | None:
        """Return the student of a submission with this name, and the rule that fits; None if not exactly one does."""
        fitting, rule = self.fitting(found, prefixes)
        return (fitting[0], rule) if len(fitting) == 1 else None

    def fitting(self, found: str, prefixes: Iterable[str] = ()) -> tuple[list[Entry], str]:
        """Return the students who may have made a submission with this name, and the rule that they fit.

        Args:
            found: The name.
            prefixes: What names may begin with, before a login; see `prefixes`.
        """
        fitting, rule = _narrowed(found, self._rules)
        if rule == "id" and len(fitting) == 1:
            # Some platforms number submissions, and not students. A name that is another student's says so.
            named = _narrowed(found, self._rules[-1:])[0]
            return (fitting if fitting[0] in named else [*fitting, *named]), rule
        for prefix in () if fitting else prefixes:
            if found.casefold().startswith(f"{prefix}-"):
                others, rule = _narrowed(found[len(prefix) + 1 :], self._by_login)
                fitting += [entry for entry in others if entry not in fitting]
        return fitting, rule

    def prefixes(self, names: Sequence[str]) -> set[str]:
        """Return what the names of clones begin with, before the login: two students share it, or it is the only name.

        `gh classroom clone` and `gh teacher download` write `attention-ada` and `class-attention-ada`.
        """
        students: dict[str, set[str]] = {}
        for name in names:
            fitting, rule = self.fitting(name)
            for dash in re.finditer("-", name) if not fitting or rule == "repository" else ():
                others, _ = _narrowed(name[dash.end() :], self._by_login)
                students.setdefault(name[: dash.start()].casefold(), set()).update(one.student for one in others)
        return {prefix for prefix, own in students.items() if len(own) > 1 or (own and len(names) == 1)}


_Index = tuple[str, dict[str, list[Entry]], "Callable[[str], str]"]


def _index(rule: _Rule, entries: Iterable[Entry]) -> _Index:
    """Sort entries by what a rule compares."""
    name, texts, of_name = rule
    index: dict[str, list[Entry]] = {}
    for entry in entries:
        for text in filter(None, texts(entry)):
            index.setdefault(text, []).append(entry)
    return name, index, of_name


def _narrowed(found: str, rules: Iterable[_Index]) -> tuple[list[Entry], str]:
    """Return the entries that the first fitting rule finds, and its name. Of several, later rules may leave one."""
    left: list[Entry] = []
    by = ""
    for rule, index, of_name in rules:
        fitting = index.get(of_name(found), [])
        if narrowed := [entry for entry in fitting if entry in left or not left]:
            left, by = narrowed, rule
        if len(left) == 1:
            break
    return left, by
