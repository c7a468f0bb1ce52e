"""Moodle's rules for a course's Grades > Import > CSV file, for grade items that are there already.

The rules are those of moodle/moodle in public/ at ead32c158e, as read on 25 November 2026, for a site in English, with
commas and without unlimited grades. Comments name the file, below the site's folder, and its method. New grade items,
scales, feedback and groups are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

IGNORE = "ignore"
_LABELS = {"id": "id", "idnumber": "idnumber", "email": "email address", "username": "username"}

_QUOTED = re.compile(r'[ \t]*"((?:[^"\\]|\\.|"")*)(?:"([^,\n]*)|\Z)', re.DOTALL)
_NUMERIC = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")


class ImportFailed(Exception):
    """Moodle discards the whole file."""


@dataclass(frozen=True)
class User:
    """A user of the site, who need not be in the course."""

    id: int
    username: str
    idnumber: str = ""
    email: str = ""
    name: str = ""


def import_grades(
    text: str,
    users: Sequence[User],
    identify: tuple[str, str],
    map: Mapping[str, str],
    existing: Mapping[str, float],
) -> dict[int, dict[str, float | None]]:
    """Return each user's grades after an import. None removes a grade. Raises ImportFailed.

    identify: the column that identifies users, and the field of a user that it holds. map: the grade item that the
    instructor selects for a column, or "ignore", as for all other columns. existing: the maximum of each grade item of
    the course.
    """
    header, *rows = _read(text)
    # trim_headers in grade/import/csv/classes/load_data.php. All rules below are from this file.
    header = [one.strip() for one in header]
    if missing := {identify[0], *map} - set(header):
        raise ImportFailed(f"The file has no column {sorted(missing)[0]!r}.")
    # prepare_import_grade_data: the column that identifies users has no grades. Two columns may not be one item.
    targets = [IGNORE if name == identify[0] else map.get(name, IGNORE) for name in header]
    items = [target for target in targets if target != IGNORE]
    if len(items) != len(set(items)):
        raise ImportFailed("Two columns are mapped to the same grade item.")
    grades: dict[int, dict[str, float | None]] = {}
    for number, row in enumerate(rows, 2):
        # prepare_import_grade_data: a line of one cell has no data.
        if len(row) < 2:
            continue
        cells = [cell.strip() for cell in row]
        user = _user(cells[header.index(identify[0])], users, identify[1])
        mine = grades.setdefault(user.id, {})
        for target, cell in zip(targets, cells, strict=True):
            if target != IGNORE:
                mine[target] = _grade(cell, number)
                _check_range(mine[target], existing[target])
    return grades


def _read(text: str) -> list[list[str]]:
    # load_csv_content in lib/csvlib.class.php: no byte order mark, no blank ends, and one kind of line break.
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff")).strip(" \t\n\r\0\x0b")
    rows = [row for row in _records(text) if row != [""]]
    if not rows:
        raise ImportFailed("The file is empty.")
    # There: one row of another length than the header, and the file is refused.
    if any(len(row) != len(rows[0]) for row in rows):
        raise ImportFailed("The number of columns is not constant.")
    return [[_escaped(cell) for cell in row] for row in rows]


def _records(text: str) -> list[list[str]]:
    """Return the cells as PHP's fgetcsv reads them: leniently, and a quote after a backslash does not end a cell."""
    rows: list[list[str]] = [[]]
    place = 0
    while True:
        if found := _QUOTED.match(text, place):
            cell = re.sub(r'\\.|""', lambda part: '"' if part[0] == '""' else part[0], found[1], flags=re.DOTALL)
            cell += found[2] or ""
            place = found.end()
        else:
            cell = re.split("[,\n]", text[place:], maxsplit=1)[0]
            place += len(cell)
        rows[-1].append(cell)
        if place >= len(text):
            return rows
        if text[place] == "\n":
            rows.append([])
        place += 1


def _escaped(cell: str) -> str:
    # load_csv_content stores the cells with add_data, both in lib/csvlib.class.php. escape_spreadsheet_formula in
    # lib/classes/dataformat.php: what may be a formula gets a quote, but not "-" alone. Older releases add none.
    return f"'{cell}" if cell != "-" and cell.lstrip()[:1] in ("=", "+", "-", "@") else cell


def _user(value: str, users: Sequence[User], field: str) -> User:
    # check_user_exists: e-mail addresses and user names are compared without case, and others exactly. One unknown user
    # ends the import. A blank cell is looked for like any other.
    same = str.casefold if field in ("email", "username") else str
    found = [one for one in users if same(str(getattr(one, field))) == same(value)]
    if len(found) != 1:
        raise ImportFailed(f"{'Several users' if found else 'No user'} with {_LABELS[field]} {value!r}.")
    return found[0]


def _grade(cell: str, line: int) -> float | None:
    # update_grade_item: blank or "-" is no grade, and any other text than a number ends the import.
    if cell in ("", "-"):
        return None
    if not _NUMERIC.fullmatch(cell.replace(" ", "")):
        raise ImportFailed(f"The grade {cell!r} on line {line} is incorrect.")
    return _unformatted(cell)


def _check_range(grade: float | None, maximum: float) -> None:
    # insert_grade_record: a grade out of its item's range ends the import. Releases before late 2024 compare with 100
    # for all items, and then cut a grade to its item's range (bounded_grade in lib/grade/grade_item.php).
    if grade is not None and grade > maximum:
        raise ImportFailed(f"One of the grades is larger than the maximum of {maximum:.1f}.")
    if grade is not None and grade < 0:
        raise ImportFailed("One of the grades is smaller than the minimum of 0.0.")


def _unformatted(cell: str) -> float | None:
    # unformat_float in lib/moodlelib.php: without spaces, and with the decimal separator of the language, so that "1,5"
    # is no number in English. PHP reads the number at the beginning of a text, or 0.
    number = _NUMERIC.match(cell.replace(" ", ""))
    return None if not cell.strip() else float(number[0]) if number else 0.0
