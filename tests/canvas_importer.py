"""Canvas' rules for an uploaded gradebook, in a course that has no assignments yet.

The rules are those of `GradebookImporter` in instructure/canvas-lms, lib/gradebook_importer.rb at 00b222d77e, as
read on 25 November 2026. Comments name its methods, or another file with the rule. Custom columns, overrides and
grading periods are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Row = list[str | None]

# Columns with totals, which Canvas' own export contains. Their names count anywhere in a heading.
_TOTALS = re.compile(
    r"Current Score|Current Points|Current Grade|Final Score|Final Points|Final Grade|Override (?:Score|Grade|Status)"
)
_HIDDEN = re.compile(r"^\s*(Muted|Manual Posting.*)?\s*$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"^-?[0-9.,]+%?$", re.MULTILINE)
_POINTS = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)")
# interpret_grade in app/models/abstract_assignment.rb: where points are given, only these have a score.
_SCORE = re.compile(r"[+-]?\d*\.?\d+%?|pass|complete|fail|incomplete")


class ImportFailed(Exception):
    """Canvas would refuse the file, or its job would end with an error."""


@dataclass(frozen=True)
class User:
    """A student of the course."""

    id: int
    name: str
    sis_user_id: str = ""
    sis_login_id: str = ""
    section: str = ""

    @property
    def sortable_name(self) -> str:
        """The name with the last name first."""
        first, _, last = self.name.rpartition(" ")
        return f"{last}, {first}" if first else last


@dataclass
class Result:
    """What Canvas does with a file, if the instructor confirms all of it.

    Attributes:
        assignments: The points possible of each assignment in the file, by its title.
        grades: For each student the grade in each assignment. "" clears a grade, and "EX" excuses the student.
        missing_students: The names in rows that match no student. Canvas asks who they are, or ignores the row.
        warnings: What Canvas does not tell, but an instructor would not expect.
    """

    assignments: dict[str, float | None] = field(default_factory=dict)
    grades: dict[int, dict[str, str]] = field(default_factory=dict)
    missing_students: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Assignment(NamedTuple):
    title: str
    column: int


class _Students(NamedTuple):
    """The columns about students. An index is None without its column."""

    width: int
    user_id: int | None = None
    login_id: int | None = None


def import_gradebook(text: str, users: Sequence[User]) -> Result:
    """Return the result of an upload. Raises ImportFailed."""
    rows = _rows(text, ";" if _is_semicolon_delimited(text) else ",")
    header = next(rows, None)
    if header is None:
        raise ImportFailed("The file is empty.")
    students = _student_columns(header)
    result = Result()
    assignments = list(_assignments(header, students, result))
    points: dict[str, float | None] = {one.title: None for one in assignments}
    graded: list[Row] = []
    for row in rows:
        # check_for_non_student_row: this row may come anywhere below the header.
        if "Points Possible" in (_cell(row, 0) or ""):
            points |= {one.title: _float(cell) for one in assignments if (cell := _cell(row, one.column)) is not None}
        # check_for_non_student_row: the row that says which grades are hidden, and rows without content.
        elif not all(_HIDDEN.search(cell) for cell in row if cell is not None):
            graded.append(row)
    for row in graded:
        user = _user(row, students, users)
        if user is None:
            result.missing_students.append(_cell(row, 0) or "")
        else:
            # process_submissions: of several rows for a student, the last counts.
            result.grades[user.id] = {one.title: _grade(_cell(row, one.column), one, result) for one in assignments}
    # upload in ui/features/gradebook_uploads/jquery/process_gradebook_upload.js: without a student, nothing is saved.
    result.assignments = points if result.grades else {}
    return result


def _is_semicolon_delimited(text: str) -> bool:
    # semicolon_delimited?, identify_delimiter: a separator counts if the first three lines have the same number of
    # fields with it. If they differ with commas, each line is one field with semicolons, which then wins.
    counts = {}
    for separator in ";,":
        try:
            sizes = {len(next(_records(line, separator), [])) for line in re.findall(r"[^\n]*\n|[^\n]+", text)[:3]}
        except ImportFailed:
            sizes = set()
        counts[separator] = sizes.pop() if len(sizes) == 1 else 0
    return counts[";"] > counts[","]


def _rows(text: str, separator: str) -> Iterator[Row]:
    # csv_stream: every cell is converted, also in the header. Nothing removes a byte order mark.
    for record in _records(text, separator, skip=re.compile(r"[;, ]+")):
        yield [_decimal(cell) for cell in record]


def _records(text: str, separator: str, skip: re.Pattern[str] | None = None) -> Iterator[Row]:
    """Yield the records as Ruby's CSV reads them: strictly, with one kind of line break, nil for an empty cell."""
    end = (re.findall(r"\r\n|\n|\r", text) or ["\n"])[0]
    cell = re.compile(rf'(?:"((?:[^"]|"")*)"|([^{separator}"\r\n]*))({separator}|{end}|\Z)')
    place = 0
    while place < len(text):
        if skip and skip.fullmatch(line := text[place:].split(end, 1)[0]):
            place += len(line) + len(end)
            continue
        row: Row = []
        last = separator
        while last == separator:
            found = cell.match(text, place)
            if not found:
                raise ImportFailed(f"The CSV is malformed at {text[place : place + 20]!r}.")
            row.append(found[2] or None if found[1] is None else found[1].replace('""', '"'))
            place, last = found.end(), found[3]
        yield [] if row == [None] else row


def _decimal(cell: str | None) -> str | None:
    # decimal_comma_to_period: the last comma or point of a number is its decimal point, and the others are dropped. So
    # 1,234 is 1.234, and 1.2.3 is 12.3.
    if cell is None or not _NUMBER.search(cell):
        return cell
    parts = re.split("[,.]", cell)
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) < 2:
        return parts[0] if parts else None
    return f"{''.join(parts[:-1])}.{parts[-1]}"


def _student_columns(header: Row) -> _Students:
    def has(index: int, pattern: str) -> bool:
        return bool(re.search(pattern, _cell(header, index) or ""))

    # row_has_student_headers?: more than three columns. A heading may contain more, such as a byte order mark.
    if not (len(header) > 3 and has(0, "Student") and has(1, "ID")):
        # Two columns for the name are a feature of the account that is off by default (update_column_count).
        raise ImportFailed("The header row is invalid: it does not begin with Student, ID.")
    # update_column_count: these columns, in this order.
    students = _Students(3)
    if has(2, r"SIS\s+Login\s+ID"):
        students = _Students(4, login_id=2)
    elif has(2, r"SIS\s+User\s+ID") and has(3, r"SIS\s+Login\s+ID"):
        width = 6 if has(4, r"Integration\s+ID") else 5
        students = _Students(width + has(width - 1, r"Root\s+Account"), user_id=2, login_id=3)
    # header?: the section is the last of them.
    if not has(students.width - 1, "Section"):
        raise ImportFailed(f"The header row is invalid: column {students.width} is not Section.")
    return students


def _assignments(header: Row, students: _Students, result: Result) -> Iterator[_Assignment]:
    for place, heading in enumerate(header[students.width :], students.width):
        # strip_non_assignment_columns: totals are not read. All other columns are assignments, also without a heading.
        if heading and _TOTALS.search(heading):
            result.warnings.append(f"{heading}: not an assignment for Canvas")
            continue
        # calc_assignment_indices: the first column with this heading, even if it is one about students.
        index = header.index(heading)
        if index != place:
            result.warnings.append(f"{heading}: read from column {index + 1}, not {place + 1}")
        # title_and_id in app/models/abstract_assignment.rb: a title loses a number in brackets at its end.
        found = re.fullmatch(r"(.*)\s\((\d+)\)", heading or "")
        yield _Assignment(found[1].strip() if found else heading or "", index)


def _user(row: Row, students: _Students, users: Sequence[User]) -> User | None:
    def text_of(index: int | None) -> str:
        cell = None if index is None else _cell(row, index)
        return cell if cell and cell.strip() else ""

    # process_student: by ID, then the SIS user id, then the SIS login id, then the name or the sortable name, all
    # exactly. "12 b" is the ID 12, as Ruby's to_i reads it.
    number = re.match(r"\s*[+-]?\d+", text_of(1))
    name, user_id, login_id = _cell(row, 0), text_of(students.user_id), text_of(students.login_id)
    ways = (
        [one for one in users if number and one.id == int(number[0])],
        [one for one in users if user_id and one.sis_user_id == user_id],
        [one for one in users if login_id and one.sis_login_id == login_id],
        [one for one in users if name in (one.name, one.sortable_name)],
    )
    return next((found[0] for found in ways if found), None)


def _grade(cell: str | None, assignment: _Assignment, result: Result) -> str:
    grade = (cell or "").strip()
    # no_score?: both mean that there is no grade. Where Canvas has one, it is cleared.
    if grade in ("", "-"):
        return ""
    # populateGradeDataPerSubmission in ui/features/gradebook_uploads/jquery/process_gradebook_upload.js: in any case.
    if grade.upper() in ("EX", "EXCUSED"):
        return "EX"
    if not _SCORE.fullmatch(grade):
        result.warnings.append(f"{assignment.title}: {grade!r} has no score")
    return grade


def _float(cell: str) -> float | None:
    # process_pp assigns the text, and Rails reads a float from its beginning: no number is 0, and blank is no value.
    found = _POINTS.match(cell)
    return float(found[0]) if found else 0.0 if cell.strip() else None


def _cell(row: Row, index: int) -> str | None:
    return row[index] if index < len(row) else None
