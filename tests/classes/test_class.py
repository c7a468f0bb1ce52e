"""A class through `grader grade` and `grader regrade`: what each student gets, and what another run changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import courses
import pytest
from typer.testing import CliRunner

from grader.cli.instructor import app
from grader.quizzes.quiz_source import load_quiz
from grader.quizzes.sheet import write_sheet

RULES = "late:\n  grace_minutes: 10\n  percent_per_day: 10\n  most_percent: 50\n"
STUB, RIGHT = courses.SMALL_COURSE["exercises/sums.py"], courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")
HANDED_IN = {
    "Ada Doe_4711": RIGHT, "bob": RIGHT, "Cyd Ny_77": WRONG, "dan": RIGHT, "fay": RIGHT, "gil": STUB, "Hal Ito": STUB,
    "Zoe Z": RIGHT,
}  # fmt: skip
ROSTER = """\
student,name,id,email,folder,sums
ada,"Doe, Ada",11,ada@x.org,,
bob,Bob Roe,12,bob@x.org,bob,2000-02-01T00:00:00+00:00
cyd,Cyd Ny,13,cyd@x.org,,
dan,=1+1,14,dan@x.org,,exempt
eve,Eve Li,15,eve@x.org,,
fay,Fay Lo,16,fay@x.org,,2100-01-01T00:00:00+00:00
gil,Gil Gee,17,gil@x.org,,
hal,Hal Ito,18,hal@x.org,,
ivy,Ivy Oz,19,ivy@x.org,,exempt
"""
# The class was due on 1 January 2000. Moodle's names have a number that the roster does not know.
TIMES = """\
student,unit,time
ada,sums,2000-01-01T00:09:00Z
bob,sums,2000-02-02T12:00:00Z
cyd,sums,2000-01-03T12:00:00Z
"""
ADJUSTMENTS = """\
student,unit,points,comment,by
cyd,sums,1.5,The network was down.,Ms Roe
eve,sums,3,Handed in on paper.,Ms Roe
"""
OPTIONS = ("--unit", "sums", "--out", "reports", "--roster", "roster.csv")


class Class:
    """A course of one unit, with a class in its folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return courses.run_grader(self.root, *arguments)

    def grade(self, *submissions: str) -> subprocess.CompletedProcess[str]:
        return self.run("grade", *(submissions or ["class"]), *OPTIONS)

    def hand_in(self, text: str, *folders: str) -> None:
        for folder in folders:
            courses.hand_in(self.root / folder, text)

    def reports(self) -> dict[str, dict[str, Any]]:
        return courses.read_reports(self.root / "reports")

    def units(self) -> dict[str, dict[str, Any]]:
        return {student: report["units"]["sums"] for student, report in self.reports().items()}

    def points(self) -> dict[str, int]:
        return {student: report["points"] for student, report in sorted(self.reports().items())}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Class, str]:
    """A class that was graded once, and what was printed."""
    one = Class(courses.make_small_course(tmp_path_factory.mktemp("term") / "course"))
    courses.set_due(one.root, courses.LONG_PAST)
    courses.replace(one.root / "autograder.yml", "units:", f"{RULES}units:")
    for name, text in HANDED_IN.items():
        one.hand_in(text, f"class/{name}")
    asked = load_quiz(one.root / "solutions" / "sums_quiz.yml").questions
    (one.root / "class" / "fay" / "sums_quiz.md").write_text(write_sheet(asked, 1, {"is_larger": "b"}))
    (one.root / "class" / "Hal Ito" / "scan.pdf").write_bytes(b"%PDF-1.7\n")
    for name, text in {"roster.csv": ROSTER, "times.csv": TIMES, "adjustments.csv": ADJUSTMENTS}.items():
        (one.root / name).write_text(text, encoding="utf-8")
    done = one.grade()
    assert done.returncode == 0, done.stderr
    return one, done.stdout


@pytest.fixture
def a_class(graded: tuple[Class, str], tmp_path: Path) -> Class:
    """The same class, which the test may change."""
    return Class(shutil.copytree(graded[0].root, tmp_path / "course"))


def test_everybody_of_the_roster_has_a_report_and_a_line(graded: tuple[Class, str]) -> None:
    one, printed = graded
    for sentence in (
        "Roster: 9 students, 7 with a submission here.",
        "Matched by name: 3.",
        "Not in the roster, and graded under their own names: Zoe-Z.",
        "Nothing handed in here: eve, ivy.",
    ):
        assert sentence in printed
    assert one.points() == {
        "Zoe-Z": 5, "ada": 5, "bob": 4, "cyd": 2, "dan": 0, "eve": 3, "fay": 5, "gil": 0, "hal": 0, "ivy": 0,
    }  # fmt: skip
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert {"Eve Li (eve) 3 3/18 nothing handed in yet", "Gil Gee (gil) - 0/18 nothing handed in yet"} <= lines
    assert "Ivy Oz (ivy) exempt 0/0" in lines
    [hal] = [line for line in lines if line.startswith("Hal Ito")]
    assert hal.startswith("Hal Ito (hal) 0 0/18 scan.pdf is a PDF document: write your answers into sums.py")


def test_an_extension_also_moves_the_date_from_which_the_quiz_counts(graded: tuple[Class, str]) -> None:
    units = graded[0].units()
    assert {name: one["quiz"]["points"] for name, one in units.items() if one["possible"] == 5} == {"fay": None}
    assert (units["fay"]["feedback"], units["ada"]["feedback"]) == ("misconception", "points")


def test_another_grading_keeps_what_is_the_same_and_runs_nothing_for_new_dates_and_groups(a_class: Class) -> None:
    before = {path.name: path.read_bytes() for path in (a_class.root / "reports").glob("*.json")}
    assert "10 of 10 reports are up to date" in a_class.grade().stdout
    assert {path.name: path.read_bytes() for path in (a_class.root / "reports").glob("*.json")} == before
    courses.replace(a_class.root / "times.csv", "2000-01-03T12", "2000-01-01T00")
    done = a_class.grade()
    assert "1 report has new dates, adjustments or groups" in done.stdout
    assert "graded" not in done.stderr
    assert a_class.points()["cyd"] == 2
    [earlier] = (a_class.root / "reports" / "earlier" / "cyd").glob("*.json")
    assert earlier.read_bytes() == before["cyd.json"]
    assert not (a_class.root / "reports" / "earlier" / "bob").exists()
    # A new member changes the report of the other, and alone is graded.
    courses.replace(a_class.root / "roster.csv", "eve@x.org,,", "eve@x.org,bob,")
    done = a_class.grade()
    assert "1 report has new dates, adjustments or groups" in done.stdout
    assert re.findall(r"graded (\w+) ", done.stderr) == ["eve"]
    together = {student: report["together"] for student, report in a_class.reports().items() if report["together"]}
    assert together == {"bob": ["bob", "eve"], "eve": ["bob", "eve"]}


def test_who_cannot_be_graded_has_not_handed_in_nothing_also_in_the_next_download(a_class: Class) -> None:
    again = ("class/Eve Li_7", "class/lieve_8")
    a_class.hand_in(RIGHT, *again, "next/ada")
    done = a_class.grade()
    assert (done.returncode, "eve" in a_class.points()) == (1, False)
    sentence = "'Eve-Li_7' and 'lieve_8' both seem to be by 'eve', so neither was graded"
    assert sentence in done.stdout.partition("Layout:")[0]
    assert done.stderr.endswith("Not graded, for the reasons above: eve.\nAll others were graded.\n")
    done = a_class.grade("next")
    assert (done.returncode, "eve" in a_class.points()) == (1, False)
    assert "Not graded from an earlier download, and without a submission here: eve." in done.stdout
    assert "not graded. 'class': 'Eve-Li_7' and 'lieve_8' both" in done.stdout.partition("Open cases")[2]
    # What was not clear is settled in the download itself.
    for name in again:
        shutil.rmtree(a_class.root / name)
    assert (a_class.grade().returncode, a_class.points()["eve"]) == (0, 3)


def test_nobody_gets_the_points_of_who_had_the_name_in_reports_before(a_class: Class) -> None:
    # In an export, jdoe@b.org is called like jdoe@a.org was, who left.
    export = re.sub("(?m)^[a-z]+,", "", ROSTER).replace("Bob Roe", "Rob Roe")
    (a_class.root / "roster.csv").write_text(export, encoding="utf-8")
    done = a_class.grade()
    assert (done.returncode, a_class.reports()["bob"]["name"]) == (1, "Bob Roe")
    assert done.stdout.startswith("'reports/bob.json' is the report of Bob Roe, and the roster has Rob Roe (bob)")
    (a_class.root / "reports" / "bob.json").unlink()
    assert a_class.grade().returncode == 0
    assert (a_class.points()["bob"], a_class.reports()["bob"]["name"]) == (4, "Rob Roe")


@pytest.mark.parametrize(
    ("counts", "points", "bobs_time", "fewer", "why"),
    [
        ("best", 4, "2000-01-07T10:00:00+00:00", "friday", "has more points: eve (sums: 4, now 2)"),
        ("last", 2, None, "monday", "came later: eve (sums: 2, now 4)"),
    ],
)
def test_each_of_several_submissions_is_as_late_as_its_own_worksheet_says(
    a_class: Class, counts: str, points: int, bobs_time: str | None, fewer: str, why: str
) -> None:
    most = "most_percent: 50"
    courses.replace(a_class.root / "autograder.yml", most, f"{most}\n  counts: {counts}\ntimezone: UTC")
    for name in ("times.csv", "adjustments.csv"):
        (a_class.root / name).unlink()
    shutil.rmtree(a_class.root / "reports")
    # 4 points in time, and 5 points six days late, of which 2.5 remain. Bob and Cyd have no time on Friday.
    in_time = RIGHT.replace("self.factor * x", "self.factor + x")
    sheet = "Identifier,Full name,Last modified (submission)\n"
    row = 'Participant {},{},"Friday, {}, 10:00"\n'
    days = {"monday": (in_time, "31 December 1999"), "friday": (RIGHT, "7 January 2000")}
    for day, (text, date) in days.items():
        for student, answers in {"Eve Li_15": text, "Cyd Ny_13": text, "Bob Roe_12": RIGHT}.items():
            a_class.hand_in(answers, f"{day}/{student}_assignsubmission_file_")
        (a_class.root / f"times_{day}.csv").write_text(f"{sheet}{row.format(15, 'Eve Li', date)}")
    with (a_class.root / "times_monday.csv").open("a") as file:
        file.write(row.format(12, "Bob Roe", "7 January 2000"))
    done = a_class.grade(*days)
    assert f"Several submissions, of which the {counts} one counts" in done.stdout
    units = a_class.units()
    assert units["eve"]["points"] == points
    assert units["cyd"]["received"] == {"at": None, "source": "times_friday.csv"}
    # Of equal ones, the best one is that whose time is known.
    assert units["bob"]["received"]["at"] == bobs_time
    done = a_class.grade(fewer)
    assert f"The report before is on another submission, which {why}. Give its download too." in done.stdout


def test_regrade_shows_what_would_change_and_why_and_writes_only_then(a_class: Class) -> None:
    before = a_class.reports()
    courses.replace(a_class.root / "autograder.yml", "add: 2", "add: 3")
    courses.replace(a_class.root / "class/bob/sums.py", RIGHT, WRONG)
    courses.replace(a_class.root / "adjustments.csv", "cyd,sums,1.5,The network was down.,Ms Roe\n", "")
    again = ("regrade", "class", *OPTIONS)
    done = a_class.run(*again)
    assert done.returncode == 1
    assert "Nothing was written: the same command with --write writes the reports." in done.stderr
    assert a_class.reports() == before
    lines = done.stdout.splitlines()
    for line in (
        "Bob Roe (bob): 4 of 18 → 0 of 20 (answers, weights)",
        "    sum of two tensors: passed → failed",
        "Doe, Ada (ada): 5 of 18 → 7 of 20 (weights)",
        "  sums: no longer +1.5, The network was down.",
        "Gil Gee (gil): 0 of 18 → 0 of 20 (weights)",
        "The points or possible points of 8 of 10 students change.",
    ):
        assert line in lines
    assert not [line for line in lines if "(dan): 0 of 0" in line]
    assert a_class.run(*again, "--write").returncode == 0
    assert [a_class.points()[name] for name in ("Zoe-Z", "ada", "bob", "cyd", "dan", "eve")] == [7, 7, 0, 0, 0, 3]
    assert json.loads(next((a_class.root / "reports/earlier/bob").glob("*.json")).read_text()) == before["bob"]


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
