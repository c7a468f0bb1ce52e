"""The gradebook as a table: CSV and xlsx for spreadsheets, and Markdown for people."""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from grader.classes.collected import alike
from grader.classes.gradebook import Gradebook, StudentRow
from grader.errors import GraderError
from grader.reports.exporters.job_summary import markdown
from grader.text import in_words

TOTAL = "total"
EXEMPT = "exempt"

# A spreadsheet reads text that begins like this as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What a zip file, and the workbook in it, have as their times: the earliest that a zip file can have.
_FIXED = (1980, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")

Value = int | float | str
"""A cell: points or percent, EXEMPT, or "" for no grade."""


@dataclass(frozen=True)
class Column:
    """A column of grades: its heading, the possible points or 100, and a value for each student."""

    heading: str
    possible: int
    values: Sequence[Value]


class Export(NamedTuple):
    """A file with grades: its content and columns, what an instructor has to know, and who has a grade and no entry."""

    content: str | bytes
    columns: Sequence[Column]
    noticed: Sequence[str] = ()
    left_out: Sequence[str] = ()


def columns(gradebook: Gradebook, has_total_only: bool, is_percent: bool) -> list[Column]:
    """Return a column for each unit, or one for all of them, in points or in percent, rounded down to hundredths.

    Raises:
        GraderError: Points of all units do not have the same total for everybody.
    """
    if has_total_only:
        return [_total(gradebook, is_percent)]
    found = []
    for unit, possible in gradebook.possible.items():
        grades = [row.grades[unit] for row in gradebook.rows]
        values = [EXEMPT if one.state == "exempt" else _value(one.points, possible, is_percent) for one in grades]
        found.append(Column(unit, 100 if is_percent else possible, values))
    return found


def _total(gradebook: Gradebook, is_percent: bool) -> Column:
    possible = sum(gradebook.possible.values())
    for row in gradebook.rows:
        if not is_percent and gradebook.total_possible(row) != possible:
            raise GraderError(
                f"{row.entry.student} has {gradebook.total_possible(row)} possible points and others {possible}, "
                "because of an extension or an exemption: use --percent."
            )
    values = [_value(gradebook.total(row), gradebook.total_possible(row), is_percent) for row in gradebook.rows]
    return Column(TOTAL, 100 if is_percent else possible, values)


def _value(points: int | None, possible: int, is_percent: bool) -> Value:
    if points is None or (is_percent and not possible):
        return ""
    return math.floor(Fraction(points, possible) * 10000) / 100 if is_percent else points


def require_points(gradebook: Gradebook) -> None:
    """Raise GraderError if a unit has nobody's points: a platform would take it as one of 0 possible points."""
    if gradebook.unknown:
        raise GraderError(
            f"Nobody is graded in {in_words(gradebook.unknown)}, so there are no grades to export: `--format csv` says "
            "why, and --unit exports another unit."
        )


def _notes(gradebook: Gradebook, row: StudentRow) -> str:
    """Return what an instructor has to know about a student's grades."""
    is_stranger = any(row.entry.student == one.entry.student for one in gradebook.strangers)
    about = ["Not in the roster."] if is_stranger else []
    about += alike({unit: grade.note for unit, grade in row.grades.items() if grade.state != "not due"})
    return " ".join([*about, *row.noticed])


def cells(gradebook: Gradebook, grades: Sequence[Column]) -> list[list[Value]]:
    """Return the table: who, the grades, the total and what is noticed."""
    headings = [one.heading for one in grades]
    sums = [] if headings == [TOTAL] else [TOTAL, "possible"]
    table: list[list[Value]] = [["student", "name", "email", *headings, *sums, "noticed"]]
    for number, row in enumerate(gradebook.rows):
        line: list[Value] = [row.entry.student, row.entry.name, row.entry.email]
        line += [one.values[number] for one in grades]
        if sums:
            total = gradebook.total(row)
            line += ["" if total is None else total, "" if gradebook.unknown else gradebook.total_possible(row)]
        table.append([*line, _notes(gradebook, row)])
    return table


def csv_text(table: Iterable[Iterable[Value]]) -> str:
    """Return a table as CSV. No text in it is a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([safe(value) for value in row] for row in table)
    return text.getvalue()


def safe(value: Value) -> Value:
    """Return a cell that no spreadsheet reads as a formula."""
    is_formula = isinstance(value, str) and value != "-" and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def xlsx_bytes(table: Iterable[Iterable[Value]]) -> bytes:
    """Return a table as a workbook. The same table gives the same bytes."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
    except ModuleNotFoundError:
        raise GraderError("xlsx needs openpyxl: pip install 'attention-from-scratch[spreadsheet]'.") from None
    book = Workbook(write_only=False)
    sheet = book.worksheets[0]
    sheet.title = "grades"
    for row in table:
        sheet.append([safe(value) for value in row])
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "B2"
    written, again = io.BytesIO(), io.BytesIO()
    book.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":
                content = _MODIFIED.sub(rb"\g<1>1980-01-01T00:00:00Z", content)
            target.writestr(zipfile.ZipInfo(name, _FIXED), content, zipfile.ZIP_DEFLATED)
    return again.getvalue()


def markdown_text(gradebook: Gradebook, grades: Sequence[Column]) -> str:
    """Return a table with one row for each student, then what is noticed."""
    if not grades:
        return "## Grades\n\nNo unit is over yet.\n"
    has_total = [one.heading for one in grades] != [TOTAL]
    headings = [*(markdown(one.heading) for one in grades), *([TOTAL] if has_total else [])]
    unknown = gradebook.unknown
    possible: list[Value] = ["–" if one.heading in unknown else one.possible for one in grades]
    possible += ["–" if unknown else sum(gradebook.possible.values())] if has_total else []
    lines = [
        "## Grades",
        "",
        f"| student | {' | '.join(headings)} |",
        f"| :-- | {' | '.join(['--:'] * len(headings))} |",
        f"| *of* | {' | '.join(f'*{one}*' for one in possible)} |",
    ]
    for number, row in enumerate(gradebook.rows):
        states = {unit: grade.state for unit, grade in row.grades.items()}
        own = [str(one.values[number]) or states.get(one.heading, "not graded") for one in grades]
        total = gradebook.total(row)
        sums = ["not graded" if total is None else f"**{total}**"] if has_total else []
        lines.append(f"| {markdown(str(row.entry))} | {' | '.join([*own, *sums])} |")
    by_row = [(str(row.entry), _notes(gradebook, row)) for row in gradebook.rows]
    noticed = [f"- **{markdown(name)}**: {markdown(text, 2000)}" for name, text in by_row if text]
    meaning = "It is for you to judge: no points were taken off for it, and nobody gets a zero for what is not graded."
    return "\n".join([*lines, *(["", "### What was noticed", "", meaning, "", *noticed] if noticed else [])]) + "\n"
