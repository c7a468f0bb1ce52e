"""The gradebook as a table: columns, and texts that no reader takes for anything else."""

from __future__ import annotations

import csv
import io
import re

import canvas_importer
import moodle_importer
import pytest
from made_reports import exercise, unit
from markdown_it import MarkdownIt
from openpyxl import load_workbook

from grader.classes.exports import cells, columns, csv_text, markdown_text, xlsx_bytes
from grader.classes.gradebook import Gradebook, StudentRow, UnitGrade
from grader.classes.roster import RosterEntry
from grader.errors import GraderError
from grader.integrations import learning_platforms

POINTS = {"ada": 5, "bob": 4, "cyd": 2, "dan": None, "eve": 0}
HOSTILE = "=1+1|</td><script>@ada"
ANOMALY = "- [x](http://x) `y`\n# z"


def gradebook(*rows: StudentRow, **possible: int) -> Gradebook:
    return Gradebook(possible, rows)


@pytest.fixture
def a_class() -> Gradebook:
    """A class in one unit: dan is exempt, and eve handed in nothing."""
    rows = []
    for number, (name, points) in enumerate(POINTS.items(), 11):
        made = UnitGrade("graded", unit=unit({"add": exercise(points, 18 - points)})) if points else None
        grade = made or UnitGrade("exempt" if points is None else "not handed in")
        rows.append(StudentRow(RosterEntry(name, "Doe, Ada", str(number), f"{name}@x.org"), {"sums": grade}))
    return gradebook(*rows, sums=18)


def test_canvas_accepts_the_file(a_class: Gradebook) -> None:
    users = [canvas_importer.User(number, "Doe, Ada") for number in range(11, 16)]
    text = csv_text(learning_platforms.canvas_table(a_class, columns(a_class, False, False)))
    found = canvas_importer.import_gradebook(text, users)
    assert found.assignments == {"sums": 18.0}
    assert [found.grades[user]["sums"] for user in range(11, 16)] == ["5", "4", "2", "EX", "0"]
    assert (found.missing_students, found.warnings) == ([], [])


@pytest.mark.parametrize(
    ("column", "is_percent", "most", "grades"),
    [
        ("sums", False, 18.0, [5.0, 4.0, 2.0, None, 0.0]),
        ("sums", True, 100.0, [27.77, 22.22, 11.11, None, 0.0]),
        ("total", True, 100.0, [27.77, 22.22, 11.11, None, 0.0]),
    ],
)
def test_moodle_accepts_the_file(
    a_class: Gradebook, column: str, is_percent: bool, most: float, grades: list[float | None]
) -> None:
    users = [moodle_importer.User(number, name, email=f"{name}@x.org") for number, name in enumerate(POINTS)]
    text = csv_text(learning_platforms.moodle_table(a_class, columns(a_class, column == "total", is_percent)))
    found = moodle_importer.import_grades(text, users, ("Email address", "email"), {column: "Sums"}, {"Sums": most})
    assert [found[number]["Sums"] for number in range(5)] == grades


def test_a_workbook_is_the_same_to_the_byte_and_has_no_formula(a_class: Gradebook) -> None:
    table = cells(a_class, columns(a_class, False, False))
    table.append([HOSTILE])
    made = xlsx_bytes(table)
    assert made == xlsx_bytes(table)
    rows = list(load_workbook(io.BytesIO(made)).worksheets[0].iter_rows(values_only=True))
    assert (rows[1][:4], rows[-1][0]) == (("ada", "Doe, Ada", "ada@x.org", 5), f"'{HOSTILE}")


def test_no_text_is_a_formula_or_markup() -> None:
    grade = UnitGrade("not graded", note=HOSTILE)
    found = gradebook(StudentRow(RosterEntry("ada", HOSTILE, email="@x"), {"sums": grade}, [HOSTILE, ANOMALY]), sums=5)
    grades = columns(found, has_total_only=False, is_percent=False)
    [_, row] = csv.reader(csv_text(cells(found, grades)).splitlines(keepends=True))
    assert (row[1], row[2]) == (f"'{HOSTILE}", "'@x")
    assert row[-1].startswith("sums: =1+1|")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown_text(found, grades))
    ours = {"h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "p", "ul", "li"}
    assert set(re.findall(r"<(\w+)", html)) <= ours
    assert html.count("<tr>") == 3
    assert "@ada" not in html


def test_percents_are_rounded_down_and_a_total_leaves_out_what_does_not_count() -> None:
    whole = {"sums": UnitGrade("graded", unit=unit({"add": exercise(2, 1)})), "means": UnitGrade("exempt")}
    found = gradebook(StudentRow(RosterEntry("ada"), whole), sums=3, means=7)
    assert [one.values for one in columns(found, has_total_only=False, is_percent=True)] == [[66.66], ["exempt"]]
    [total] = columns(found, has_total_only=True, is_percent=True)
    assert (total.values, total.possible) == ([66.66], 100)
    with pytest.raises(GraderError, match="ada has 3 possible points and others 10"):
        columns(found, has_total_only=True, is_percent=False)


def test_canvas_gets_no_column_that_it_ignores() -> None:
    grades = {"Final_project": UnitGrade("not handed in"), "semifinals": UnitGrade("exempt")}
    found = gradebook(StudentRow(RosterEntry("ada", id="1"), grades), Final_project=3, semifinals=2)
    assert learning_platforms.canvas_table(found, columns(found, False, False))[0][5:] == ["last_project", "semilasts"]
    same = {name: UnitGrade("exempt") for name in ("a_final", "a_last")}
    both = gradebook(StudentRow(RosterEntry("ada", id="1"), same), a_final=1, a_last=1)
    with pytest.raises(GraderError, match="a_last is the name of another unit"):
        learning_platforms.canvas_table(both, columns(both, False, False))


def test_moodle_gets_no_grade_above_the_possible_points() -> None:
    five = UnitGrade("graded", unit=unit({"add": exercise(5)}))
    found = gradebook(StudentRow(RosterEntry("ada", email="a@x.org"), {"sums": five}), sums=4)
    with pytest.raises(GraderError, match="no grade above 4, and ada has 5 in sums: that is more than the unit has"):
        learning_platforms.moodle_table(found, columns(found, False, False))


def test_before_any_unit_is_over_the_table_says_so() -> None:
    found = gradebook(StudentRow(RosterEntry("ada"), {}))
    assert "No unit is over yet." in markdown_text(found, columns(found, False, False))
