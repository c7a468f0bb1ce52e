"""The gradebook as a table: columns, and texts that no reader takes for anything else."""

from __future__ import annotations

import csv
import re

import pytest
from made_reports import exercise, unit
from markdown_it import MarkdownIt

from grader.classes.exports import cells, columns, csv_text, markdown_text
from grader.classes.gradebook import Gradebook, StudentRow, UnitGrade
from grader.classes.roster import RosterEntry
from grader.errors import GraderError
from grader.integrations import learning_platforms

HOSTILE = "=1+1|</td><script>@ada"
ANOMALY = "- [x](http://x) `y`\n# z"


def gradebook(*rows: StudentRow, **possible: int) -> Gradebook:
    return Gradebook(possible, rows)


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
    whole = {"sums": UnitGrade("not handed in"), "means": UnitGrade("exempt")}
    found = gradebook(StudentRow(RosterEntry("ada"), whole), sums=3, means=7)
    assert [one.values for one in columns(found, has_total_only=False, is_percent=True)] == [[0.0], ["exempt"]]
    [total] = columns(found, has_total_only=True, is_percent=True)
    assert (total.values, total.possible) == ([0.0], 100)
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
