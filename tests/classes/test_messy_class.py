"""A messy class of 60 on five platforms: points, time and status of each student are as planned, in every output.

The quick tests grade the folders, which have the most; the proof grades the downloads of all platforms.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import courses
import pytest
from bs4 import BeautifulSoup
from grader.classes.open_cases import OpenCase, open_cases
from messy_class import (
    COMMENT,
    NOT_GRADED,
    PLATFORMS,
    POSSIBLE,
    STRANGER,
    UNIT,
    MessyClass,
    Planned,
    make_course,
    students,
)
from typer.testing import CliRunner, Result

from grader.classes.decisions import read_decisions
from grader.classes.gradebook import read_gradebook
from grader.cli.instructor import app
from grader.course.model import load_course
from grader.reports.folder import not_graded, read_report
from grader.reports.model import Report
from grader.reports.reading import not_handed_in

QUICK = "folders"
ROSTER = "roster.csv"
# What a student who is graded, absent, exempt or not graded has in each format.
NO_POINTS = {
    "csv": {"exempt": "exempt", NOT_GRADED: ""},
    "moodle": {"exempt": "-", NOT_GRADED: "-"},
    "canvas": {"exempt": "EX", NOT_GRADED: ""},
}
# Canvas needs a number of everybody, which other exports lack.
FORMATS = {"folders": [*NO_POINTS], "moodle": ["csv", "moodle"], "canvas": ["csv", "canvas"]}


class Graded:
    """The class after `grader grade`."""

    def __init__(self, made: MessyClass, root: Path, folder: Path) -> None:
        self.made, self.root, self.folder = made, root, folder
        self.plan = made.plan()
        downloads = [path.name for path in made.write(folder)]
        command = courses.grader_command(
            "grade", *downloads, "--unit", UNIT, "--roster", ROSTER, "--out", "reports", "--course", root
        )
        self.done = subprocess.run(
            command, cwd=folder, env=courses.environment(root), capture_output=True, text=True, check=False
        )
        assert "Traceback" not in self.done.stderr
        assert (folder / "reports").is_dir(), self.done.stderr

    @property
    def stranger(self) -> str:
        return self.made.named(STRANGER)

    def report(self, name: str) -> Report | None:
        return read_report(name, self.folder / "reports")

    def run(self, *arguments: str) -> Result:
        """Run another command in this process."""
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(app, [*arguments, "--course", str(self.root)])

    def gradebook(self, *arguments: str) -> str:
        done = self.run("gradebook", "--reports", "reports", "--roster", ROSTER, "--out", "grades", *arguments)
        is_whole = all(one.status != NOT_GRADED for one in self.plan.values())
        assert done.exit_code == (0 if is_whole else 1), done.output
        return (self.folder / "grades").read_text(encoding="utf-8")

    def open_cases(self) -> list[OpenCase]:
        course = load_course(self.root)
        decisions = read_decisions(self.folder / ROSTER, course)
        found = read_gradebook(decisions, self.folder / "reports", datetime.datetime.now(datetime.UTC))
        return open_cases(found, course.late)

    def named_in(self, text: str) -> list[str]:
        """The students whose names in reports a text has, in the order of the alphabet."""
        names = [*self.plan, self.stranger]
        return sorted(name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name == QUICK else pytest.mark.proof(part="grading")) for name in PLATFORMS],
)
def graded(request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    made = MessyClass(PLATFORMS[request.param], root / "solutions" / "sums_quiz.yml")
    return Graded(made, root, tmp_path_factory.mktemp(request.param))


def of_report(report: Report | None) -> Planned:
    """What a report says, in the words of the plan."""
    if report is None:
        return Planned(NOT_GRADED)
    unit = report.units[UNIT]
    if unit.exempt:
        return Planned("exempt")
    if not_handed_in(report):
        return Planned("not handed in", unit.points)
    if unit.received is None:
        time, at = "", None
    elif unit.received.at is None:
        time, at = "unknown", None
    else:
        time = "late" if any(change.kind == "late" for change in unit.changes) else "in time"
        at = datetime.datetime.fromisoformat(unit.received.at)
    return Planned("graded", unit.points, time, at, report.together)


def test_the_reports_are_as_planned(graded: Graded) -> None:
    assert {name: of_report(graded.report(name)) for name in graded.plan} == graded.plan
    assert of_report(graded.report(graded.stranger)) == graded.made.planned(STRANGER)
    named = {path.stem for path in (graded.folder / "reports").glob("*.json")}
    assert named == {name for name, one in graded.plan.items() if one.status != NOT_GRADED} | {graded.stranger}
    assert {*not_graded(graded.folder / "reports")} == {
        name for name, one in graded.plan.items() if one.status == NOT_GRADED
    }


def table_rows(graded: Graded) -> Iterator[tuple[str, str, str]]:
    """Yield the student of each row of the table, the total and the main issue."""
    _, _, table = graded.done.stdout.partition("\nstudent ")
    for line in table.partition("\n\n")[0].splitlines()[1:]:
        found = re.match(r"(.+?) +\S+ +(\d+/\d+|-)(?: +(.*))?$", line)
        if found:  # other lines are the rest of a long issue
            [name] = graded.named_in(found[1])
            yield name, found[2], (found[3] or "").strip()


def test_the_table_is_as_planned(graded: Graded) -> None:
    rows = [*table_rows(graded)]
    totals = {"exempt": "0/0", NOT_GRADED: "-"}
    plan = {**graded.plan, graded.stranger: graded.made.planned(STRANGER)}
    assert {name: total for name, total, _ in rows} == {
        name: totals.get(one.status, f"{one.points}/{POSSIBLE}") for name, one in plan.items()
    }
    unknown = [name for name, _, issue in rows if "Time unknown" in issue]
    assert sorted(unknown) == sorted(name for name, one in plan.items() if one.time == "unknown")
    assert unknown == [name for name, *_ in rows][: len(unknown)]


def test_the_exit_code_and_the_matches_say_who_was_not_graded(graded: Graded) -> None:
    is_whole = all(one.status != NOT_GRADED for one in graded.plan.values())
    assert graded.done.returncode == (0 if is_whole else 1)
    before_the_table = graded.done.stdout.partition("\nstudent ")[0]
    refused = [line for line in before_the_table.splitlines() if "column `folder`" in line]
    assert sorted({name for line in refused for name in graded.named_in(line)}) == sorted(
        name for name, one in graded.plan.items() if one.status == NOT_GRADED
    )


def cells(graded: Graded, reader: str, *more: str) -> dict[str, tuple[str, str]]:
    """The grade of each student in an export, and what is noticed if it says so."""
    key = {"csv": "student", "moodle": "Email address", "canvas": "ID"}[reader]
    of = {
        "csv": {name: name for name in graded.plan},
        "moodle": {one.email: graded.made.named(one) for one in students()},
        "canvas": {str(500 + one.number): graded.made.named(one) for one in students()},
    }[reader]
    rows = [*csv.DictReader(io.StringIO(graded.gradebook("--format", reader, *more)))]
    rows = rows[1:] if reader == "canvas" else rows  # the first has the possible points
    assert [of[row[key]] for row in rows] == [*graded.plan]
    return {of[row[key]]: (row[UNIT], row.get("noticed", "")) for row in rows}


def test_the_gradebook_is_as_planned_in_every_format(graded: Graded) -> None:
    for reader in FORMATS.get(graded.made.platform.name, ["csv", "moodle"]):
        expected = NO_POINTS[reader]
        assert {name: points for name, (points, _) in cells(graded, reader).items()} == {
            name: expected.get(one.status, str(one.points)) for name, one in graded.plan.items()
        }


def test_the_percent_of_the_gradebook_are_as_planned(graded: Graded) -> None:
    found = cells(graded, "csv", "--percent")
    assert {name: float(cell) for name, (cell, _) in found.items() if re.match(r"\d", cell)} == {
        name: one.percent for name, one in graded.plan.items() if one.percent is not None
    }


def test_the_gradebook_names_whose_time_is_unknown_and_who_is_not_graded(graded: Graded) -> None:
    noticed = {name: text for name, (_, text) in cells(graded, "csv").items() if text}
    assert sorted(name for name, text in noticed.items() if "Time unknown" in text) == sorted(
        name for name, one in graded.plan.items() if one.time == "unknown"
    )
    assert {name for name, text in noticed.items() if "column `folder`" in text} == {
        name for name, one in graded.plan.items() if one.status == NOT_GRADED
    }


def test_the_open_cases_are_the_planned_ones(graded: Graded) -> None:
    found: dict[tuple[str, bool], set[str]] = {}
    for case in graded.open_cases():
        found.setdefault((case.kind, bool(graded.named_in(case.text))), set()).update(graded.named_in(case.text))
    assert sorted((kind, sorted(names)) for (kind, _), names in found.items()) == sorted(graded.made.open_cases())


def test_the_open_cases_are_printed_last_and_on_the_page(graded: Graded) -> None:
    texts = [case.text for case in graded.open_cases()]
    last = graded.done.stdout.partition("Reports: reports/<student>.json\n")[2]
    assert [text for text in texts if text not in last] == []
    shown = " ".join(page(graded).get_text(" ").split())
    assert [text for text in texts if " ".join(text.replace("`", "").split()) not in shown] == []


def page(graded: Graded) -> BeautifulSoup:
    """The page on the class."""
    done = graded.run("summary", "--reports", "reports", "--roster", ROSTER, "--out", "class.html")
    assert done.exit_code in (0, 1), done.output
    return BeautifulSoup((graded.folder / "class.html").read_text(encoding="utf-8"), "html.parser")


def test_the_numbers_of_the_page_are_as_planned(graded: Graded) -> None:
    tiles = {
        tile.dt.get_text(): tile.dd.get_text() for tile in page(graded).select(".tiles > div") if tile.dt and tile.dd
    }
    states = Counter(one.status for one in graded.plan.values())
    expected = {
        "students": len(graded.plan),
        "handed in": states["graded"],
        "handed in nothing": states["not handed in"],
        "not graded": states[NOT_GRADED],
    }
    assert {name: int(tiles[name]) for name in expected} == expected


@pytest.fixture(scope="module")
def feedback(graded: Graded) -> dict[str, str]:
    """The text of each student's page."""
    done = graded.run("feedback", "reports", "--to", "folder", "--html", "--out", "feedback")
    assert done.exit_code == 0, done.output
    pages = (graded.folder / "feedback").glob("*.html")
    return {
        one.stem: " ".join(BeautifulSoup(one.read_text(encoding="utf-8"), "html.parser").get_text(" ").split())
        for one in pages
    }


def test_each_students_page_is_as_planned(graded: Graded, feedback: dict[str, str]) -> None:
    plan = {name: one for name, one in graded.plan.items() if one.status != NOT_GRADED}
    assert feedback.keys() == {*plan, graded.stranger}
    for name, one in plan.items():
        text = feedback[name]
        if one.points is not None:
            assert f"{one.points} of {POSSIBLE} points" in text, name
        assert ("Late: " in text) == (one.time == "late"), name
        assert (COMMENT in text) == (name in adjusted(graded)), name


def adjusted(graded: Graded) -> list[str]:
    return [graded.made.named(one) for one in students() if one.adjusted is not None]


WRONG_FILES = {"another unit": "means.py", "a PDF": "sums.pdf", "a Word document": "my sums.docx"}


def test_what_is_no_answer_is_named_wherever_its_student_is(graded: Graded, feedback: dict[str, str]) -> None:
    issues = {name: issue for name, _, issue in table_rows(graded)}
    [ignored] = re.findall(r"^Ignored: (.*)$", graded.done.stdout, re.MULTILINE)
    for student in students():
        if file := WRONG_FILES.get(student.kind):
            name = graded.made.named(student)
            assert file in issues[name], name
            assert file in feedback[name], name
            assert file in ignored
            assert name in graded.named_in(ignored)
