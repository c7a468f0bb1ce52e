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
import zipfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import courses
import pytest
from bs4 import BeautifulSoup
from downloads import zipped
from messy_class import (
    COMMENT,
    NOT_GRADED,
    PLATFORMS,
    POSSIBLE,
    UNIT,
    MessyClass,
    Planned,
    make_course,
    students,
)
from typer.testing import CliRunner, Result

from grader.classes.decisions import read_decisions
from grader.classes.gradebook import gradebook_of, read_reports
from grader.classes.open_cases import OpenCase, open_cases
from grader.cli.instructor import app
from grader.course.model import load_course
from grader.reports.folder import not_graded, read_report
from grader.reports.reading import not_handed_in
from grader.reports.report_model import Report

QUICK = "folders"
ROSTER = "roster.csv"
# What a student who is graded, absent, exempt or not graded has in each format.
NO_POINTS = {
    "csv": {"exempt": "exempt", NOT_GRADED: ""},
    "moodle": {"exempt": "-", NOT_GRADED: "-"},
    "canvas": {"exempt": "EX", NOT_GRADED: ""},
}
# Canvas needs a number of everybody, and Moodle an address, which other exports lack.
FORMATS = {"folders": [*NO_POINTS], "canvas": ["csv", "canvas"], "moodle without names": ["csv"]}


class Graded:
    """The class after `grader grade`."""

    def __init__(self, platform: str, root: Path, hides_names: bool = False) -> None:
        """Make a course, with the class in its folder, and grade the class."""
        self.root = make_course(root)
        self.made = MessyClass(PLATFORMS[platform], root / "solutions" / "sums_quiz.yml")
        self.plan, self.strangers = self.made.plan(), self.made.plan_of_strangers()
        self.downloads = [path.name for path in self.made.write(root)]
        if hides_names:
            hide_names(root / "class.zip")
        self.done = self.graded("grade")
        assert (root / "reports").is_dir(), self.done.stderr

    def graded(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run `grader grade` or `grader regrade` on the downloads."""
        options = ("--unit", UNIT, "--roster", ROSTER, "--out", "reports")
        done = courses.run_grader(self.root, command, *self.downloads, *options)
        assert "Traceback" not in done.stderr
        return done

    def report(self, name: str) -> Report | None:
        return read_report(name, self.root / "reports")

    def run(self, *arguments: str) -> Result:
        """Run another command in this process."""
        with contextlib.chdir(self.root):
            return CliRunner().invoke(app, [*arguments, "--course", str(self.root)])

    def gradebook(self, *arguments: str) -> str:
        done = self.run("gradebook", "--reports", "reports", "--roster", ROSTER, "--out", "grades", *arguments)
        is_whole = all(one.status != NOT_GRADED for one in self.plan.values())
        assert done.exit_code == (0 if is_whole else 1), done.output
        return (self.root / "grades").read_text(encoding="utf-8")

    def open_cases(self) -> list[OpenCase]:
        course = load_course(self.root)
        decisions = read_decisions(self.root / ROSTER, course)
        now = datetime.datetime.now(datetime.UTC)
        reports = self.root / "reports"
        return open_cases(gradebook_of(decisions, read_reports(course, reports), now), course, now, reports)

    @cached_property
    def page(self) -> BeautifulSoup:
        """The page on the class."""
        done = self.run("summary", "--reports", "reports", "--roster", ROSTER, "--out", "class.html")
        assert done.exit_code in (0, 1), done.output
        return BeautifulSoup((self.root / "class.html").read_text(encoding="utf-8"), "html.parser")

    def named_in(self, text: str) -> list[str]:
        """The students whose names in reports a text has, in the order of the alphabet."""
        names = [*self.plan, *self.strangers]
        return sorted(name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text))


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name == QUICK else pytest.mark.proof(part="grading")) for name in PLATFORMS],
)
def graded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    return Graded(request.param, tmp_path_factory.mktemp("class") / "course")


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
    plan = graded.plan | graded.strangers
    assert {name: of_report(graded.report(name)) for name in plan} == plan
    named = {path.stem for path in (graded.root / "reports").glob("*.json")}
    assert named == {name for name, one in plan.items() if one.status != NOT_GRADED}
    assert {*not_graded(graded.root / "reports")} == {
        name for name, one in graded.plan.items() if one.status == NOT_GRADED
    }


def table_rows(graded: Graded) -> Iterator[tuple[str, str, str]]:
    """Yield the student of each row of the table, the total and the main issue."""
    _, _, table = graded.done.stdout.partition("\nstudent ")
    for line in table.partition("\n\n")[0].splitlines()[1:]:
        found = re.match(r"(.+?) +(?:\d+|-|exempt) +(\d+/\d+|-)(?: +(.*))?$", line)
        if found:  # other lines are the rest of a long issue
            [name] = graded.named_in(found[1])
            yield name, found[2], (found[3] or "").strip()


def test_the_table_is_as_planned(graded: Graded) -> None:
    rows = [*table_rows(graded)]
    totals = {"exempt": "0/0", NOT_GRADED: "-"}
    plan = graded.plan | graded.strangers
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
    members = rows[: len(graded.plan)]
    assert [of[row[key]] for row in members] == [*graded.plan]
    # For people, who is in no roster comes last.
    assert [row[key] for row in rows[len(members) :]] == ([*graded.strangers] if reader == "csv" else [])
    return {of[row[key]]: (row[UNIT], row.get("noticed", "")) for row in members}


def test_the_gradebook_is_as_planned_in_every_format(graded: Graded) -> None:
    for reader in FORMATS.get(graded.made.platform.name, ["csv", "moodle"]):
        expected = NO_POINTS[reader]
        assert {name: points for name, (points, _) in cells(graded, reader).items()} == {
            name: expected.get(one.status, str(one.points)) for name, one in graded.plan.items()
        }
    found = cells(graded, "csv", "--percent")
    assert {name: float(cell) for name, (cell, _) in found.items() if re.match(r"\d", cell)} == {
        name: one.percent for name, one in graded.plan.items() if one.percent is not None
    }
    unknown = {name for name, one in graded.plan.items() if one.time == "unknown"}
    assert {name for name, (_, noticed) in found.items() if "Time unknown" in noticed} == unknown
    missing = {name for name, one in graded.plan.items() if one.status == NOT_GRADED}
    assert {name for name, (_, noticed) in found.items() if "column `folder`" in noticed} == missing


def test_the_open_cases_are_the_planned_ones_and_are_printed_last_and_on_the_page(graded: Graded) -> None:
    cases = graded.open_cases()
    found: dict[tuple[str, bool], set[str]] = {}
    for case in cases:
        found.setdefault((case.kind, bool(graded.named_in(case.text))), set()).update(graded.named_in(case.text))
    assert sorted((kind, sorted(names)) for (kind, _), names in found.items()) == sorted(graded.made.open_cases())
    last = graded.done.stdout.partition("Reports: reports/<student>.json\n")[2]
    assert [case.text for case in cases if case.text not in last] == []
    shown = without_spaces(graded.page.get_text())
    assert [case.text for case in cases if without_spaces(case.text) not in shown] == []


def without_spaces(text: str) -> str:
    return re.sub(r"[\s`\u200b]", "", text)


@pytest.fixture(scope="module")
def feedback(graded: Graded) -> dict[str, str]:
    """The text of each student's page."""
    done = graded.run("feedback", "reports", "--to", "folder", "--html", "--out", "feedback")
    assert done.exit_code == 0, done.output
    pages = (graded.root / "feedback").glob("*.html")
    return {
        one.stem: " ".join(BeautifulSoup(one.read_text(encoding="utf-8"), "html.parser").get_text(" ").split())
        for one in pages
    }


def test_each_students_page_is_as_planned(graded: Graded, feedback: dict[str, str]) -> None:
    plan = {name: one for name, one in graded.plan.items() if one.status != NOT_GRADED}
    assert feedback.keys() == {*plan, *graded.strangers}
    for name, one in plan.items():
        text = feedback[name]
        if one.points is not None:
            assert f"{one.points} of {POSSIBLE} points" in text, name
        assert ("Late: " in text) == (one.time == "late"), name
        if one.at:
            assert f"Handed in: {one.at:%Y-%m-%d %H:%M} " in text, name
        assert (COMMENT in text) == (name in adjusted(graded)), name


def adjusted(graded: Graded) -> list[str]:
    return [graded.made.named(one) for one in students() if one.adjusted is not None]


WRONG_FILES = {"another unit": "means.py", "a PDF": "sums.pdf", "a Word document": "homework.docx"}


def test_what_is_no_answer_is_named_wherever_its_student_is(graded: Graded, feedback: dict[str, str]) -> None:
    issues = {name: issue for name, _, issue in table_rows(graded)}
    [ignored] = re.findall(r"^Ignored: (.*)$", graded.done.stdout, re.MULTILINE)
    for student in students():
        if file := WRONG_FILES.get(student.kind):
            name = graded.made.named(student)
            assert file in issues[name], name
            assert file in feedback[name], name
            assert file in ignored
    wrong = sorted(graded.made.named(one) for one in students() if one.kind in WRONG_FILES)
    assert graded.named_in(ignored) == wrong  # and nothing that was graded


@pytest.mark.proof(part="grading")
def test_a_second_grading_changes_no_points(graded: Graded) -> None:
    count = sum(one.status != NOT_GRADED for one in (graded.plan | graded.strangers).values())
    assert f" of 0 of {count} students change." in graded.graded("regrade").stdout


@pytest.mark.proof(part="grading")
def test_nobody_has_points_or_zero_in_canvass_download_without_names(tmp_path: Path) -> None:
    one = Graded("canvas", tmp_path, hides_names=True)
    assert one.done.returncode == 1
    assert ": the download is anonymous" in one.done.stdout
    assert {*not_graded(tmp_path / "reports")} == {*one.plan}
    exported = one.run("gradebook", "--reports", "reports", "--roster", ROSTER, "--out", "grades")
    assert exported.exit_code == 1
    rows = [*csv.DictReader(io.StringIO((tmp_path / "grades").read_text(encoding="utf-8")))]
    assert {row[UNIT] for row in rows if row["student"] in one.plan} == {""}


def hide_names(download: Path) -> None:
    """Name uploads as Canvas does in an anonymous assignment."""
    with zipfile.ZipFile(download) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    hidden = {}
    for name, content in files.items():
        found = re.fullmatch(r"[a-z]+(_LATE)?_(\d+)_(\d+_.+)", name)
        assert found
        hidden[f"{'LATE_' if found[1] else ''}anon_{int(found[2]):05}_{found[3]}"] = content
    download.write_bytes(zipped(hidden))
