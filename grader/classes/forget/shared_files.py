"""Files that name several students, and their content without one of them.

They are tables, what `grader collect` writes, and the reports on members of a group.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from grader.classes.collected import COLLECTED, SNAPSHOTS, read_collected
from grader.classes.forget.person import read_rows
from grader.reports.folder import NOT_GRADED
from grader.reports.model import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from grader.classes.forget.person import Person

# Columns of gradebooks, in any case, that tell students apart; and those with names, which several may have.
_IDS = {
    "student", "student id", "student_id", "full_name", "username", "user name", "login", "login id", "sis login id",
    "sis user id", "sid", "id number", "email", "e-mail", "email address",
}  # fmt: skip
_NAMES = {"student", "name", "full name", "student name"}
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_STRINGS = "xl/sharedStrings.xml"
_ROW = re.compile(r"(<(?:\w+:)?row\b[^>]*?)(?:/>|>(.*?)</(?:\w+:)?row>)", re.DOTALL)
_CELL = re.compile(r"<(?:\w+:)?c\b([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", re.DOTALL)
_TEXT = re.compile(r"<(?:\w+:)?(?:t|v)(?: [^>]*)?>(.*?)</(?:\w+:)?(?:t|v)>", re.DOTALL)
_STRING = re.compile(r"(<(?:\w+:)?si>)(.*?)(</(?:\w+:)?si>)", re.DOTALL)
_COLUMN = re.compile(r'\br="([A-Z]+)')
_FORMULA = re.compile(r"<(?:\w+:)?f\b")


class Rewritten(NamedTuple):
    """A file without a student, and what is left out."""

    content: bytes
    left_out: str


def without(path: Path, person: Person) -> Rewritten | None:
    """Return a file without a student; None if it has none of the student, or is no such file.

    Raises:
        OSError: It cannot be read.
        CollectError: It is a collected.json of another version.
    """
    if path.name == COLLECTED:
        return _collected_without(path, person)
    if path.name == NOT_GRADED:
        return _reasons_without(path, person)
    if path.name == SNAPSHOTS:
        return _lines_without(path, person)
    if path.suffix.lower() == ".csv":
        return _csv_without(path, person)
    if path.suffix.lower() == ".json":
        return _report_without(path, person)
    return _workbook_without(path, person) if path.suffix.lower() == ".xlsx" else None


def _collected_without(path: Path, person: Person) -> Rewritten | None:
    collected = read_collected(path)
    others = [one for one in collected.students if not person.is_called(one.student)]
    if len(others) == len(collected.students):
        return None
    content = collected.model_copy(update={"students": others}).to_json()
    return Rewritten(content.encode(), _count(1, len(collected.students), "student"))


def _reasons_without(path: Path, person: Person) -> Rewritten | None:
    """Return why students were not graded, without the student."""
    try:
        reasons = dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError):
        return None
    others = {student: reason for student, reason in reasons.items() if not person.is_called(student)}
    if len(others) == len(reasons):
        return None
    content = json.dumps(others, indent=1, ensure_ascii=False) + "\n"
    return Rewritten(content.encode(), _count(len(reasons) - len(others), len(reasons), "student"))


def _report_without(path: Path, person: Person) -> Rewritten | None:
    """Return the report on another member of a group without the student."""
    try:
        report = Report.model_validate_json(path.read_bytes())
    except ValueError:
        return None
    others = [one for one in report.together if not person.is_called(one)]
    if len(others) == len(report.together):
        return None
    content = report.model_copy(update={"together": others if len(others) > 1 else []}).to_json()
    return Rewritten(content.encode(), _count(1, len(report.together), "member"))


def _lines_without(path: Path, person: Person) -> Rewritten | None:
    """Return the snapshots without those of the student's repository."""
    own = {one.casefold() for one in person.repositories}
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if _repository(line).casefold() not in own]
    return Rewritten(b"".join(kept), _count(len(lines) - len(kept), len(lines), "line")) if kept != lines else None


def _repository(line: bytes) -> str:
    try:
        return str(json.loads(line)["repository"])
    except (ValueError, LookupError, TypeError):
        return ""


def _csv_without(path: Path, person: Person) -> Rewritten | None:
    """Return a CSV file without the student's rows; the others stay the same, to the byte."""
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    rows = read_rows(text.removeprefix("\ufeff"))
    own = _own_rows(rows, person)
    if not own:
        return None
    lines = list(io.StringIO(text, newline=""))
    kept = "".join(line for number, line in _row_numbers(lines) if number not in own)
    return Rewritten(kept.encode(), _count(len(own), len(rows) - 1, "row"))


def _row_numbers(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a CSV file, each with the number of the row that it belongs to."""
    position = 0
    reader = csv.reader(lines)
    for number, _ in enumerate(reader):
        while position < reader.line_num:
            yield number, lines[position]
            position += 1


def _own_rows(rows: Sequence[Sequence[str]], person: Person) -> set[int]:
    """Return the numbers of a student's rows. They are below the first row with the name of a column that is known."""
    names = _IDS | _NAMES
    first = next((n for n, row in enumerate(rows) if not names.isdisjoint(cell.strip().casefold() for cell in row)), 0)
    header = [cell.strip() for cell in rows[first]] if rows else []
    if "student" in header:  # the grader's own tables
        column = header.index("student")
        return {n for n, row in enumerate(rows) if n > first and person.is_called(_cell(row, column))}
    known = {one.casefold() for one in (person.student, *person.addresses)}
    of_ids = [n for n, name in enumerate(header) if name.casefold() in _IDS]
    if own := _rows_with(rows[first + 1 :], of_ids, known):
        return {n + first + 1 for n in own}
    of_names = [n for n, name in enumerate(header) if name.casefold() in _NAMES]
    own = _rows_with(rows[first + 1 :], of_names, {one.casefold() for one in person.names})
    return {n + first + 1 for n in own} if len(own) == 1 else set()


def _rows_with(rows: Sequence[Sequence[str]], columns: Sequence[int], known: set[str]) -> list[int]:
    cells = [{_cell(row, column).strip().casefold() for column in columns} for row in rows]
    return [number for number, found in enumerate(cells) if not known.isdisjoint(found)]


def _cell(row: Sequence[str], column: int) -> str:
    return row[column] if column < len(row) else ""


def _workbook_without(path: Path, person: Person) -> Rewritten | None:
    """Return an Excel workbook with the student's rows empty; None also if that needs a spreadsheet program."""
    try:
        with zipfile.ZipFile(path) as workbook:
            parts = {info: workbook.read(info) for info in workbook.infolist()}
            texts = {
                info.filename: content.decode("utf-8")
                for info, content in parts.items()
                if info.filename == _STRINGS or _SHEET.fullmatch(info.filename)
            }
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, UnicodeDecodeError):
        return None
    strings = [_texts(found[2]) for found in _STRING.finditer(texts.get(_STRINGS, ""))]
    sheets = [name for name in texts if name != _STRINGS]
    emptied: list[str] = []
    total = 0
    for name in sheets:
        found = list(_ROW.finditer(texts[name]))
        own = _own_rows([_cells(row[2] or "", strings) for row in found], person)
        for row in sorted((found[number] for number in own), key=lambda row: row.start(), reverse=True):
            texts[name] = f"{texts[name][: row.start()]}{row[1]}/>{texts[name][row.end() :]}"
            emptied.append(row[2])
        total += max(len(found) - 1, 0)
    if not emptied or any(map(_FORMULA.search, emptied)):
        return None
    unused = _used(emptied) - _used(texts[name] for name in sheets)
    if _STRINGS in texts:
        texts[_STRINGS] = _strings_without(texts[_STRINGS], unused)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as workbook:
        for info, content in parts.items():
            workbook.writestr(info, texts[info.filename].encode() if info.filename in texts else content)
    return Rewritten(written.getvalue(), _count(len(emptied), total, "row"))


def _strings_without(strings: str, numbers: set[int]) -> str:
    """Return the table of shared strings with those of these numbers empty."""
    count = itertools.count()
    return _STRING.sub(lambda one: f"{one[1]}<t/>{one[3]}" if next(count) in numbers else one[0], strings)


def _cells(row: str, strings: Sequence[str]) -> list[str]:
    """Return the texts of a row of a worksheet."""
    cells: dict[int, str] = {}
    for position, (attributes, inside) in enumerate(_CELL.findall(row)):
        found = _COLUMN.search(attributes)
        text = _texts(inside)
        is_shared = 't="s"' in attributes and text.isdigit() and int(text) < len(strings)
        cells[_number(found[1]) if found else position] = strings[int(text)] if is_shared else text
    return [cells.get(n, "") for n in range(max(cells, default=-1) + 1)]


def _texts(xml: str) -> str:
    return html.unescape("".join(_TEXT.findall(xml)))


def _used(parts: Iterable[str]) -> set[int]:
    """Return the numbers of the shared strings in parts of worksheets."""
    cells = [cell for part in parts for cell in _CELL.findall(part)]
    return {int(text) for attributes, inside in cells if 't="s"' in attributes and (text := _texts(inside)).isdigit()}


def _number(letters: str) -> int:
    """Return the number of a column, from 0, of its letters."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _count(number: int, total: int, what: str) -> str:
    return f"{number} of {total} {what}{'s' if total != 1 else ''}"
