"""A class through `grader grade`, `grader regrade` and `grader gradebook`, with a roster, times and adjustments."""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import courses
import pytest
from bs4 import BeautifulSoup
from canvas_importer import User as CanvasUser
from canvas_importer import import_gradebook
from classroom50_collector import load, shown
from courses import read_reports
from moodle_importer import User as MoodleUser
from moodle_importer import import_grades
from openpyxl import load_workbook
from typer.testing import CliRunner, Result

from grader.cli.instructor import app

DUE = "2027-01-25T23:59:00+01:00"
LATE = "late:\n  grace_minutes: 10\n  percent_per_day: 10\n  most_percent: 50\n"
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")
ROSTER = """\
student,name,id,email,sums
ada,"Doe, Ada",11,ada@x.org,
bob,Bob Roe,12,bob@x.org,2000-02-01T00:00:00+00:00
cyd,Cyd Ny,13,cyd@x.org,
dan,=1+1,14,dan@x.org,exempt
eve,Eve Li,15,eve@x.org,
"""
# The class was due on 1 January 2000. Moodle's names have a number that the roster does not know.
TIMES = """\
student,unit,time
ada,sums,2000-01-01T00:09:00Z
bob,sums,2000-02-02T12:00:00Z
cyd,sums,2000-01-03T12:00:00Z
"""
ADJUSTMENTS = "student,unit,points,comment,by\ncyd,sums,1.5,The network was down.,Ms Roe\n"


class Class:
    """A course of one unit, and a folder with a class."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*courses.grader_command(*arguments), "--course", str(self.root)]
        environment = courses.environment(self.root)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def export(self, *arguments: str) -> Result:
        """Run `grader gradebook` in this process."""
        with contextlib.chdir(self.folder):
            return CliRunner().invoke(app, ["gradebook", *arguments, "--out", "out", "--course", str(self.root)])

    def grade(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.run("grade", "class", "--out", "reports", "--roster", "roster.csv", *more)

    def reports(self) -> dict[str, dict[str, Any]]:
        return read_reports(self.folder / "reports")

    def points(self) -> dict[str, int]:
        return {student: report["points"] for student, report in sorted(self.reports().items())}

    def gradebook(self, reader: str, *more: str) -> str:
        done = self.export("--reports", "reports", "--roster", "roster.csv", "--format", reader, *more)
        assert done.exit_code == 0, done.stderr
        return (self.folder / "out").read_text(encoding="utf-8")


@pytest.fixture
def a_class(graded_class: Path, own_small_course: Path, tmp_path: Path) -> Class:
    """A class that was graded once."""
    shutil.copytree(graded_class, tmp_path / "term")
    return Class(_with_rules(own_small_course), tmp_path / "term")


@pytest.fixture(scope="module")
def graded_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("term")
    one = Class(_with_rules(courses.make_small_course(tmp_path_factory.mktemp("course"))), folder)
    for name, text in {"Ada Doe_4711": RIGHT, "bob": RIGHT, "Cyd Ny_77": WRONG, "dan": RIGHT, "Zoe Z": RIGHT}.items():
        courses.hand_in(folder / "class" / name, text)
    tables = {"roster.csv": ROSTER, "times.csv": TIMES, "adjustments.csv": ADJUSTMENTS}
    for name, text in tables.items():
        (folder / name).write_text(text, encoding="utf-8")
    done = one.grade()
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_text(done.stdout, encoding="utf-8")
    return folder


def _with_rules(root: Path) -> Path:
    courses.set_due(root, courses.LONG_PAST)
    settings = root / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("units:", f"{LATE}units:"), encoding="utf-8")
    return root


def test_everybody_of_the_roster_has_a_report_and_a_line(a_class: Class) -> None:
    printed = (a_class.folder / "printed").read_text(encoding="utf-8")
    assert "Roster: 5 students, 4 with a submission here." in printed
    assert "Matched by name: 2." in printed
    assert "Not in the roster, and graded under their own names: Zoe-Z." in printed
    assert "Nothing handed in here: eve." in printed
    assert a_class.points().keys() == {"ada", "bob", "cyd", "dan", "eve", "Zoe-Z"}
    [row] = [line.split() for line in printed.splitlines() if line.startswith("Eve Li (eve) ")]
    assert row == ["Eve", "Li", "(eve)", "-", "0/18", "nothing", "handed", "in", "yet"]


def test_the_line_of_a_student_who_handed_in_nothing_says_whether_the_unit_counts(a_class: Class) -> None:
    courses.hand_in(a_class.folder / "class" / "stub", courses.SMALL_COURSE["exercises/sums.py"])
    roster = ROSTER.replace("eve@x.org,", "eve@x.org,exempt")
    (a_class.folder / "roster.csv").write_text(roster, encoding="utf-8")
    lines = [line.split() for line in a_class.grade().stdout.splitlines()]
    assert ["stub", "-", "0/18", "nothing", "handed", "in", "yet"] in lines
    assert ["Eve", "Li", "(eve)", "exempt", "0/0"] in lines


def test_what_lies_beside_an_untouched_file_is_the_main_issue(a_class: Class) -> None:
    stub = courses.hand_in(a_class.folder / "scans" / "stub", courses.SMALL_COURSE["exercises/sums.py"])
    (stub / "scan.pdf").write_bytes(b"%PDF-1.7\n")
    done = a_class.run("grade", "scans", "--unit", "sums", "--out", "scans-reports", "--layout", "folders")
    [line] = [line for line in done.stdout.splitlines() if line.startswith("stub ")]
    assert " ".join(line.split()).startswith("stub 0 0/18 scan.pdf is a PDF document: write your answers into sums.py")


def test_a_report_has_what_was_earned_and_each_change(a_class: Class) -> None:
    units = {student: report["units"]["sums"] for student, report in a_class.reports().items()}
    # In the grace period; two days late by an extension; three days late, and adjusted; exempt.
    assert [(units[one]["earned"], units[one]["points"]) for one in ("ada", "bob", "cyd")] == [(5, 5), (5, 4), (1, 2)]
    assert [(change["kind"], change["points"]) for change in units["cyd"]["changes"]] == [
        ("late", -0.3),
        ("adjustment", 1.5),
    ]
    assert units["bob"]["received"] == {"at": "2000-02-02T12:00:00+00:00", "source": "times.csv"}
    assert (units["bob"]["due"], units["bob"]["extended"]) == ("2000-02-01T00:00:00+00:00", True)
    assert (units["dan"]["exempt"], a_class.reports()["dan"]["possible"]) == (True, 0)


def test_a_change_of_dates_alone_runs_nothing_and_keeps_the_earlier_report(a_class: Class) -> None:
    (a_class.folder / "times.csv").write_text(TIMES.replace("2000-01-03T12", "2000-01-01T00"))
    done = a_class.grade()
    assert "1 report has new dates, adjustments or groups" in done.stdout
    assert "graded" not in done.stderr
    assert a_class.reports()["cyd"]["points"] == 2
    [earlier] = (a_class.folder / "reports" / "earlier" / "cyd").glob("*.json")
    assert json.loads(earlier.read_text())["units"]["sums"]["changes"][0]["points"] == -0.3
    assert not (a_class.folder / "reports" / "earlier" / "bob").exists()


def test_late_work_without_a_time_comes_first_and_costs_nothing(a_class: Class) -> None:
    (a_class.folder / "class.zip").mkdir()
    (a_class.folder / "class.zip" / "nyeve_LATE_15_901_sums.py").write_text(RIGHT)
    done = a_class.run("grade", "class.zip", "--out", "reports", "--roster", "roster.csv", "--layout", "canvas")
    table = done.stdout.partition("\nstudent ")[2].splitlines()
    assert table[1].split()[:5] == ["Eve", "Li", "(eve)", "5", "5/18"]
    assert (
        "Time unknown: Canvas marked it as late, and does not say when it came: add the time to times.csv." in table[1]
    )


def test_of_two_submissions_that_seem_to_be_by_one_student_neither_is_graded(a_class: Class) -> None:
    for name in ("Eve Li_7", "lieve_8"):
        courses.hand_in(a_class.folder / "class" / name, RIGHT)
    done = a_class.grade()
    assert done.returncode == 1
    assert (
        "'Eve-Li_7' and 'lieve_8' both seem to be by 'eve', so neither was graded"
        in done.stdout.partition("Layout:")[0]
    )
    assert done.stderr.endswith("Not graded, for the reasons above: eve.\nAll others were graded.\n")
    # Until then there is no report that says that nothing was handed in.
    assert a_class.points().keys() == {"ada", "bob", "cyd", "dan", "Zoe-Z"}


def test_a_submission_that_two_may_have_made_is_named_first_and_graded_for_neither(a_class: Class) -> None:
    roster = ROSTER.replace("bob@x.org", "joe@x.org").replace("eve@x.org", "joe@y.org").replace("Bob Roe", "Joe Roe")
    (a_class.folder / "roster.csv").write_text(roster.replace("bob,", "jr,"), encoding="utf-8")
    (a_class.folder / "times.csv").unlink()
    (a_class.folder / "class" / "bob").rename(a_class.folder / "class" / "joe")
    done = a_class.grade()
    assert done.returncode == 1
    sentence = "'joe' fits Joe Roe (jr) and Eve Li (eve) in the roster, so it was not graded"
    assert sentence in done.stdout.partition("Layout:")[0]
    table = done.stdout.partition("\nstudent ")[2].partition("\n\n")[0].splitlines()
    rows = [line.partition(")")[0] for line in table if "not graded" in line]
    assert rows == ["Eve Li (eve", "Joe Roe (jr"]
    assert not {"jr", "eve"} & a_class.points().keys()


def test_who_was_not_graded_from_one_download_has_not_handed_in_nothing_in_the_next(a_class: Class) -> None:
    for name in ("Eve Li_7", "lieve_8"):
        courses.hand_in(a_class.folder / "class" / name, RIGHT)
    a_class.grade()
    courses.hand_in(a_class.folder / "next" / "ada", RIGHT)
    done = a_class.run("grade", "next", "--out", "reports", "--roster", "roster.csv")
    assert (done.returncode, "eve" in a_class.points()) == (1, False)
    assert "Not graded from an earlier download, and without a submission here: eve." in done.stdout
    assert "not graded. 'class': 'Eve-Li_7' and 'lieve_8' both" in done.stdout.partition("Open cases")[2]
    # What was not clear is settled in the download itself.
    for name in ("Eve Li_7", "lieve_8"):
        shutil.rmtree(a_class.folder / "class" / name)
    assert (a_class.grade().returncode, a_class.points()["eve"]) == (0, 0)


@pytest.mark.parametrize("hands_in", [True, False])
def test_nobody_gets_the_points_of_who_had_the_name_in_reports_before(a_class: Class, hands_in: bool) -> None:
    # In an export, jdoe@b.org is called like jdoe@a.org was, who left.
    export = re.sub("(?m)^[a-z]+,", "", ROSTER).replace("Bob Roe", "Rob Roe")
    (a_class.folder / "roster.csv").write_text(export, encoding="utf-8")
    if not hands_in:
        shutil.rmtree(a_class.folder / "class" / "bob")
    done = a_class.export("--reports", "reports", "--roster", "roster.csv")
    assert done.exit_code == 1
    sentence = "It was graded before a change of its student's name, Bob Roe: grade again."
    assert f"{sentence} Rob Roe (bob) (sums)." in done.stderr
    graded = a_class.grade()
    assert (graded.returncode, a_class.reports()["bob"]["name"]) == (1, "Bob Roe")
    assert graded.stdout.startswith("'reports/bob.json' is the report of Bob Roe, and the roster has Rob Roe (bob)")
    (a_class.folder / "reports" / "bob.json").rename(a_class.folder / "bob.json")
    assert a_class.grade().returncode == 0
    assert (a_class.points()["bob"], a_class.reports()["bob"]["name"]) == (4 if hands_in else 0, "Rob Roe")


@pytest.mark.parametrize(("counts", "points"), [("last", 1), ("best", 5)])
def test_of_several_submissions_the_last_or_the_best_counts(a_class: Class, counts: str, points: int) -> None:
    settings = a_class.root / "autograder.yml"
    settings.write_text(settings.read_text().replace("most_percent: 50", f"most_percent: 50\n  counts: {counts}"))
    courses.hand_in(a_class.folder / "again" / "ada", WRONG)
    courses.hand_in(a_class.folder / "again" / "bob", RIGHT)
    (a_class.folder / "times.csv").unlink()
    done = a_class.run("grade", "class", "again", "--out", "reports", "--roster", "roster.csv")
    assert a_class.points()["ada"] == points
    assert "Several submissions, of which the" in done.stdout
    remarks = a_class.reports()["ada"]["units"]["sums"]["remarks"]
    assert any("An earlier one counts" in remark for remark in remarks) == (counts == "best")


@pytest.mark.parametrize(("counts", "points"), [("best", 4), ("last", 2)])
def test_each_of_several_submissions_is_as_late_as_its_own_worksheet_says(
    a_class: Class, counts: str, points: int
) -> None:
    settings = a_class.root / "autograder.yml"
    rules = f"most_percent: 50\n  counts: {counts}\ntimezone: UTC"
    settings.write_text(settings.read_text().replace("most_percent: 50", rules))
    # 4 points in time, and 5 points six days late, of which 2.5 remain. Cyd has no time on Friday.
    in_time = RIGHT.replace("self.factor * x", "self.factor + x")
    for day, text, date in (
        ("monday", in_time, "Friday, 31 December 1999"),
        ("friday", RIGHT, "Friday, 7 January 2000"),
    ):
        for student, answers in {"Eve Li_15": text, "Cyd Ny_13": text, "Bob Roe_12": RIGHT}.items():
            courses.hand_in(a_class.folder / day / f"{student}_assignsubmission_file_", answers)
        sheet = f'Identifier,Full name,Last modified (submission)\nParticipant 15,Eve Li,"{date}, 10:00"\n'
        (a_class.folder / f"times_{day}.csv").write_text(sheet)
    with (a_class.folder / "times_monday.csv").open("a") as file:
        file.write(f'Participant 12,Bob Roe,"{date}, 10:00"\n')
    (a_class.folder / "times.csv").unlink()
    downloads = ("--out", "again", "--roster", "roster.csv")
    done = a_class.run("grade", "monday", "friday", *downloads)
    reports = read_reports(a_class.folder / "again")
    assert reports["eve"]["points"] == points
    assert reports["cyd"]["units"]["sums"]["received"] == {"at": None, "source": "times_friday.csv"}
    # Of equal ones, the best one is that whose time is known.
    known = {"best": "2000-01-07T10:00:00+00:00", "last": None}[counts]
    assert reports["bob"]["units"]["sums"]["received"]["at"] == known
    table = done.stdout.partition("\nstudent ")[2].splitlines()
    assert table[1 if counts == "best" else 2].startswith("Cyd Ny (cyd) ")
    assert "sums: Time unknown: times_friday.csv does not say when it came" in table[1 if counts == "best" else 2]
    # If times change, another one may count, and both are given.
    times = "eve,sums,1999-12-25T10:00Z,friday\neve,sums,1999-12-26T10:00Z,monday\n"
    (a_class.folder / "times.csv").write_text(f"student,unit,time,submission\n{times}")
    a_class.run("grade", "monday", "friday", *downloads)
    (a_class.folder / "times.csv").unlink()
    done = a_class.run("grade", "monday", "friday", *downloads)
    assert read_reports(a_class.folder / "again")["eve"]["points"] == points
    assert "Give its download too" not in done.stdout
    # A report on fewer submissions than before says so.
    done = a_class.run("grade", "friday" if counts == "best" else "monday", *downloads)
    why = "has more points: eve (sums: 4, now 2)" if counts == "best" else "came later: eve (sums: 2, now 4)"
    assert f"The report before is on another submission, which {why}. Give its download too." in done.stdout


def test_work_without_any_time_is_named_once(a_class: Class) -> None:
    printed = (a_class.folder / "printed").read_text(encoding="utf-8")
    sentence = "Time unknown: nothing says when this was handed in, so all counts as in time."
    assert sentence not in printed  # some are in times.csv
    (a_class.folder / "times.csv").unlink()
    assert a_class.grade().stdout.count(sentence) == 1


def test_regrade_shows_what_would_change_and_why_and_writes_only_then(a_class: Class) -> None:
    before = a_class.reports()
    settings = a_class.root / "autograder.yml"
    settings.write_text(settings.read_text().replace("      add: 2", "      add: 3"))
    (a_class.folder / "class" / "bob" / "sums.py").write_text(WRONG)
    (a_class.folder / "adjustments.csv").unlink()
    again = ("regrade", "class", "--out", "reports", "--roster", "roster.csv")
    done = a_class.run(*again)
    assert done.returncode == 1
    assert "Nothing was written: the same command with --write writes the reports." in done.stderr
    assert a_class.reports() == before
    lines = done.stdout.splitlines()
    assert "Bob Roe (bob): 4 of 18 → 0 of 20 (answers, weights)" in lines
    assert "    sum of two tensors: passed → failed" in lines
    assert "Doe, Ada (ada): 5 of 18 → 7 of 20 (weights)" in lines
    assert "  sums: no longer +1.5, The network was down." in lines
    assert not [line for line in lines if "(dan): 0 of 0" in line]
    assert "Eve Li (eve): 0 of 18 → 0 of 20 (weights)" in lines
    assert "The points or possible points of 5 of 6 students change." in lines
    assert a_class.run(*again, "--write").returncode == 0
    assert a_class.points() == {"Zoe-Z": 7, "ada": 7, "bob": 0, "cyd": 0, "dan": 0, "eve": 0}
    assert json.loads(next((a_class.folder / "reports/earlier/bob").glob("*.json")).read_text()) == before["bob"]


def test_the_table_has_everybody_and_no_formula(a_class: Class) -> None:
    rows = {row["student"]: row for row in csv.DictReader(io.StringIO(a_class.gradebook("csv")))}
    assert {name: row["sums"] for name, row in rows.items()} == {
        "ada": "5", "bob": "4", "cyd": "2", "dan": "exempt", "eve": "0", "Zoe-Z": "5",
    }  # fmt: skip
    assert rows["dan"]["name"] == "'=1+1"
    assert (rows["dan"]["possible"], rows["ada"]["possible"]) == ("0", "18")


def test_canvas_accepts_the_file(a_class: Class) -> None:
    users = [CanvasUser(11, "Doe, Ada"), *(CanvasUser(number, "x") for number in (12, 13, 14, 15))]
    found = import_gradebook(a_class.gradebook("canvas"), users, {})
    assert found.assignments == {"sums": 18.0}
    assert {user: grades["sums"] for user, grades in found.grades.items()} == {
        11: "5", 12: "4", 13: "2", 14: "EX", 15: "0",
    }  # fmt: skip
    assert (found.missing_students, found.warnings) == ([], [])


@pytest.mark.parametrize(
    ("options", "most", "grades"),
    [
        ((), 18.0, [5.0, 4.0, 2.0, None, 0.0]),
        (("--percent",), 100.0, [27.77, 22.22, 11.11, None, 0.0]),
        (("--percent", "--total"), 100.0, [27.77, 22.22, 11.11, None, 0.0]),
    ],
)
def test_moodle_accepts_the_file(
    a_class: Class, options: tuple[str, ...], most: float, grades: list[float | None]
) -> None:
    users = [
        MoodleUser(number, name, email=f"{name}@x.org")
        for number, name in enumerate(("ada", "bob", "cyd", "dan", "eve"))
    ]
    column = "total" if "--total" in options else "sums"
    found = import_grades(
        a_class.gradebook("moodle", *options), users, ("Email address", "email"), {column: "Sums"}, {"Sums": most}
    )
    assert [found[number]["Sums"] for number in range(5)] == grades


def test_classroom_50_accepts_the_file(a_class: Class) -> None:
    rows = [line.split(",") for line in ROSTER.replace('"Doe, Ada"', "Ada Doe").splitlines()]
    logins = "".join(f"{row[0]},{row[0]},{row[4]}\n" for row in rows[1:])
    (a_class.folder / "roster.csv").write_text(f"student,sis_login_id,sums\n{logins}", encoding="utf-8")
    a_class.grade("--force")
    spring = a_class.folder / "classroom50" / "spring"
    spring.mkdir(parents=True)
    assignment = {"slug": "sums", "name": "Sums", "mode": "individual", "autograder": "default"}
    content = {"schema": "classroom50/assignments/v1", "assignments": [assignment]}
    (spring / "assignments.json").write_text(json.dumps(content), encoding="utf-8")
    (spring / "roster.csv").write_text("username,email\nAda,\nbob,\ncyd,\ndan,\n,eve@x.org\n", encoding="utf-8")
    sheet = ("gradebook", "--reports", "reports", "--roster", "roster.csv", "--format", "classroom50")
    done = a_class.run(*sheet, "--out", str(spring / "scores.json"))
    assert done.returncode == 1
    assert "eve (sums): the roster names no login of spring/roster.csv: correct the repository" in done.stderr
    assert shown(load(spring / "scores.json"), "sums") == {"Ada": (5, 18), "bob": (4, 18), "cyd": (2, 18)}


def test_more_points_than_a_unit_has_are_refused_with_what_to_do(a_class: Class) -> None:
    more = ADJUSTMENTS.replace("1.5", "99")
    (a_class.folder / "adjustments.csv").write_text(more)
    a_class.grade()
    sheet = ("gradebook", "--reports", "reports", "--roster", "roster.csv", "--format", "moodle", "--out", "out")
    done = a_class.run(*sheet, "--percent")
    assert done.returncode == 2
    assert "cyd has 550.0 in sums: that is more than the unit has, so take it out of adjustments.csv" in done.stderr


def test_a_workbook_is_the_same_to_the_byte_and_has_no_formula(a_class: Class) -> None:
    written = []
    for _ in range(2):
        done = a_class.export("--reports", "reports", "--roster", "roster.csv", "--format", "xlsx")
        assert done.exit_code == 0, done.stderr
        written.append((a_class.folder / "out").read_bytes())
    assert written[0] == written[1]
    rows = list(load_workbook(io.BytesIO(written[0])).worksheets[0].iter_rows(values_only=True))
    assert rows[1][:4] == ("ada", "Doe, Ada", "ada@x.org", 5)
    assert rows[4][1] == "'=1+1"


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            lambda folder: (folder / "reports" / "bob.json").unlink(),
            "There is no report: grade again. Bob Roe (bob) (sums).",
        ),
        (lambda folder: (folder / "reports" / "bob.json").write_text("{}"), "is not a report of this version"),
    ],
)
def test_without_a_report_nobody_gets_a_zero(a_class: Class, edit: Any, sentence: str) -> None:
    edit(a_class.folder)
    done = a_class.export("--reports", "reports", "--roster", "roster.csv")
    assert done.exit_code == 1
    assert sentence in done.stderr
    rows = {row["student"]: row for row in csv.DictReader(io.StringIO((a_class.folder / "out").read_text()))}
    assert (rows["bob"]["sums"], rows["bob"]["total"]) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--reports", "nothing", "--roster", "roster.csv"), "nothing holds no reports: run `grader grade`"),
        (("--reports", "reports", "--format", "canvas"), "--roster: canvas needs to know who the students are"),
        (("--reports", "reports", "--roster", "roster.csv", "--total"), "dan has 0 possible points and others 18"),
    ],
)
def test_what_cannot_be_exported_is_an_error(a_class: Class, arguments: tuple[str, ...], sentence: str) -> None:
    done = a_class.export(*arguments)
    assert (done.exit_code, sentence in done.stderr) == (2, True), done.stderr
    assert not (a_class.folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table", "reports", "--collected", "x", "--out", "y"], "`grader table` is `grader gradebook` now: grader "),
        (["--course", "x", "emit", "junit", "ada.json"], "`grader emit` is `grader export` now: grader export READER"),
        (["grade", "class", "--out", "reports", "--again"], "`--again` is `--force` now: grader grade SUBMISSIONS "),
    ],
)
def test_a_name_of_an_earlier_version_is_an_error_with_the_new_one(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, sentence in done.stderr, done.stderr.count("\n")) == (2, True, 1)


def test_an_unchanged_class_is_graded_again_to_the_same_bytes(a_class: Class) -> None:
    before = {path.name: path.read_bytes() for path in (a_class.folder / "reports").glob("*.json")}
    assert "6 of 6 reports are up to date" in a_class.grade().stdout
    assert {path.name: path.read_bytes() for path in (a_class.folder / "reports").glob("*.json")} == before
    assert datetime.datetime.fromisoformat(a_class.reports()["ada"]["timing"]["started"]).tzinfo


PLANNED = {
    # In the grace period; two days late by an extension; three days late and adjusted; exempt; nothing, with points by
    # an adjustment; a file as students receive it; two submissions that fit.
    "ada": ("5", "5", "-"),
    "bob": ("4", "4", "-"),
    "cyd": ("2", "2", "-"),
    "dan": ("exempt", "exempt", "-"),
    "eve": ("3", "3", "-"),
    "fay": ("-", "0", "-"),
    "gil": ("not graded", "", "not graded"),
}
"""What the table of `grader grade` has of the unit, what the gradebook has, and the total if it is none."""


@pytest.fixture
def messy_class(a_class: Class) -> Class:
    folder = a_class.folder
    more = "fay,Fay Fox,16,fay@x.org,\ngil,Gil Gee,17,gil@x.org,\n"
    (folder / "roster.csv").write_text(f"{ROSTER}{more}", encoding="utf-8")
    (folder / "adjustments.csv").write_text(f"{ADJUSTMENTS}eve,sums,3,Handed in on paper.,Ms Roe\n", encoding="utf-8")
    courses.hand_in(folder / "class" / "fay", courses.SMALL_COURSE["exercises/sums.py"])
    for name in ("Gil Gee_7", "geegil_8"):
        courses.hand_in(folder / "class" / name, RIGHT)
    return a_class


def test_every_page_has_the_same_numbers(messy_class: Class) -> None:
    a_class, names = messy_class, {line.partition(",")[0] for line in ROSTER.splitlines()[1:]} | {"fay", "gil"}
    graded = a_class.grade()
    assert graded.returncode == 1
    table = graded.stdout.partition("\nstudent ")[2].partition("\n\n")[0]
    found = dict(re.findall(r"^.*?\(?(\w+)\)? {2,}(-|exempt|\d+) +\d+/\d+", table, re.MULTILINE))
    assert {name: found.get(name, "not graded") for name in names} == {name: one[0] for name, one in PLANNED.items()}
    [case] = graded.stdout.partition("Open cases (1)")[2].splitlines()[1:]
    assert case.startswith("- sums: not graded. ")
    assert case.endswith(" Gil Gee (gil).")

    def export(reader: str) -> str:
        done = a_class.export("--reports", "reports", "--roster", "roster.csv", "--format", reader)
        assert done.exit_code == 1
        assert "Gil Gee (gil) (sums)" in done.stderr
        return (a_class.folder / "out").read_text(encoding="utf-8")

    rows = {row["student"]: row for row in csv.DictReader(io.StringIO(export("csv")))}
    grades = {name: one[1] for name, one in PLANNED.items()}
    assert {name: rows[name]["sums"] for name in names} == grades
    assert rows["Zoe-Z"]["noticed"] == "Not in the roster."
    moodle = [row["sums"] for row in csv.DictReader(io.StringIO(export("moodle")))]
    assert moodle == [grade if grade.isdigit() else "-" for grade in grades.values()]
    canvas = [row["sums"] for row in csv.DictReader(io.StringIO(export("canvas")))]
    assert canvas == ["18", *({"exempt": "EX"}.get(grade, grade) for grade in grades.values())]
    shown = {row[0].split("(")[-1].rstrip(")"): row[1] for row in map(_cells, export("markdown").splitlines()) if row}
    assert {name: shown[name] for name in names} == {name: grade or "not graded" for name, grade in grades.items()}

    with contextlib.chdir(a_class.folder):
        options = ["--course", str(a_class.root), "--out"]
        summary = ["summary", "--reports", "reports", "--roster", "roster.csv", *options, "page.html"]
        assert CliRunner().invoke(app, summary).exit_code == 1
        assert CliRunner().invoke(app, ["feedback", "reports", "--to", "folder", *options, "pages"]).exit_code == 0
    page = BeautifulSoup((a_class.folder / "page.html").read_text(encoding="utf-8"), "html.parser")
    tiles = {one.dt.get_text(): one.dd.get_text() for one in page.select(".tiles > div") if one.dt and one.dd}
    counted = ("students", "handed in", "handed in nothing", "not graded")
    assert [tiles[name] for name in counted] == ["7", "3", "2", "1"]
    [unit] = page.select("section[aria-labelledby=units] tbody tr")
    # Of those who handed it in, two came after the grace.
    assert [cell.get_text() for cell in unit.select("td")][:3] == ["3 of 6", "2", "20\xa0%"]
    assert "Gil Gee (gil)" in page.select_one("section[aria-labelledby=open]").get_text()  # type: ignore[union-attr]
    feedback = {path.stem: path.read_text(encoding="utf-8") for path in (a_class.folder / "pages").glob("*.md")}
    for name, grade in grades.items():
        assert (name in feedback) == (name != "gil")
        if grade.isdigit():
            assert f"## {grade} of 18 points" in feedback[name]


def _cells(line: str) -> list[str]:
    return [cell.strip(" *") for cell in line.strip("|").split("|")] if line.startswith("| ") else []


def test_everybody_gets_a_page_with_what_was_earned_and_each_change(a_class: Class) -> None:
    command = ["feedback", str(a_class.folder / "reports"), "--to", "folder", "--out", str(a_class.folder / "pages")]
    done = CliRunner().invoke(app, [*command, "--html", "--course", str(a_class.root)])
    assert (done.exit_code, done.output) == (0, "6 of 6 students with a grade have their feedback.\n")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (a_class.folder / "pages").glob("*.html")}
    assert pages.keys() == a_class.points().keys()
    for sentence in ("Earned: 1 of 18.", "-0.3 points: Late: 3 days have begun", "+1.5 points: The network was down."):
        assert sentence in pages["cyd"]
    assert "You are exempt from this unit: it does not count." in pages["dan"]
