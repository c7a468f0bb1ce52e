"""The gradebook marks what is no grade: reports that are older than the course, and units that were never graded."""

from __future__ import annotations

import contextlib
import csv
import datetime
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from made_reports import exercise, made_course, quiz, report, unit
from typer.testing import CliRunner, Result

from grader.classes.decisions import Adjustment, Decisions
from grader.classes.exports import columns
from grader.classes.gradebook import Reports, gradebook_of, read_reports
from grader.classes.open_cases import open_cases
from grader.classes.roster import RosterEntry
from grader.classes.times import Time
from grader.cli.instructor import app
from grader.course.model import Course, load_course
from grader.errors import GraderError
from grader.integrations import learning_platforms
from grader.reports.folder import SUITE_FAULTS, record_not_graded, write_report
from grader.reports.report_model import Change, Message, Report, Unit
from grader.submissions.submission import missing_file

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
DUE = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
LATE = "late:\n  percent_per_day: 10\n  most_percent: 50\n"
SUMS = {"add": exercise(3, 1), "Scale": exercise(1)}


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course of two units, both over."""
    units = {"sums": {"add": 1, "Scale": 1}, "means": {"mean": 1}}
    return made_course(tmp_path / "course", units, DUE.isoformat(), LATE)


def of(course: Course, made: Unit, at: datetime.datetime = DUE, name: str = "sums", **given: Any) -> Report:
    """A report on one unit of ada's, as `grader grade` makes it."""
    decisions = Decisions(course, **{"entries": [RosterEntry("ada")], **given})
    return decisions.applied(report({name: made}, suites="hidden"), {name: Time(at, "push")})


def state(course: Course, found: Reports, name: str = "sums", **given: Any) -> tuple[str, str]:
    decisions = Decisions(course, **{"entries": [RosterEntry("ada")], **given})
    [row] = gradebook_of(decisions, found, NOW).rows
    return row.grades[name].state, row.grades[name].note


def test_a_report_that_fits_the_course_is_a_grade(course: Course) -> None:
    found = of(course, unit(SUMS), DUE + HOUR)
    assert state(course, {"ada": {"sums": found}}) == ("graded", "")
    assert found.points == 3  # 4 - 0.4


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (("'add': 1", "'add': 2"), "its weights"),
        ((", 'Scale': 1", ""), "its exercises"),
        (("percent_per_day: 10", "percent_per_day: 20"), "the rules for late work"),
        (("2025-01-01", "2025-01-02"), "its due date"),
        (("exercises: {'add'", "quiz: 1, exercises: {'add'"), "its quiz"),
    ],
)
def test_a_report_from_before_a_change_of_the_course_is_no_grade(
    course: Course, edit: tuple[str, str], changed: str
) -> None:
    found: Reports = {"ada": {"sums": of(course, unit(SUMS), DUE + HOUR)}}
    settings = course.root / "autograder.yml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(*edit), encoding="utf-8")
    sentence = f"It was graded before a change of {changed}: grade again."
    assert state(load_course(course.root), found) == ("not graded", sentence)


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"entries": [RosterEntry("ada", due={"sums": DUE + HOUR})]}, "its extension"),
        ({"adjustments": [Adjustment("ada", "sums", None, Fraction(-1), "Copied.", "Ms Roe")]}, "its adjustments"),
        ({"entries": [RosterEntry("ada", "Ann Doe", is_exported=True)]}, "its student's name, Ada Roe"),
    ],
)
def test_a_report_from_before_a_change_of_the_tables_is_no_grade(course: Course, given: Any, changed: str) -> None:
    named = of(course, unit(SUMS), DUE + HOUR).model_copy(update={"name": "Ada Roe"})
    found: Reports = {"ada": {"sums": named}}
    assert state(course, found, **given) == ("not graded", f"It was graded before a change of {changed}: grade again.")


@pytest.mark.parametrize(("digest", "changed"), [("tests", "its tests"), ("key", "its quiz")])
def test_a_report_by_other_hidden_tests_or_quiz_answers_is_no_grade(course: Course, digest: str, changed: str) -> None:
    other = of(course, unit(SUMS).model_copy(update={digest: "1" * 64}))
    assert state(course, {"ada": {"sums": other}})[1] == f"It was graded before a change of {changed}: grade again."


def test_what_has_changed_is_named_once(course: Course) -> None:
    late = of(course, unit(SUMS), DUE + HOUR, entries=[RosterEntry("ada", due={"sums": DUE - HOUR})])
    late = late.with_units({"sums": late.units["sums"].model_copy(update={"quiz": quiz(1, 2)})})
    later = Decisions(course.with_due({"sums": NOW + HOUR}), [RosterEntry("ada")])
    [row] = gradebook_of(later, {"ada": {"sums": late}}, NOW, ["sums"]).rows
    assert row.grades["sums"].note.count("its due date") == 1


def test_without_a_roster_the_report_says_what_was_decided(course: Course) -> None:
    entry = RosterEntry("ada", name="Ada Doe", due={"sums": DUE + HOUR}, exempt=frozenset({"means"}))
    found = of(course, unit(SUMS), DUE + HOUR, entries=[entry])
    exempt = of(course, unit({"mean": exercise(2)}), name="means", entries=[entry])
    [row] = gradebook_of(Decisions(course), {"ada": {"sums": found, "means": exempt}}, NOW).rows
    assert (row.entry, row.points) == (entry, 4)
    assert [one.state for one in row.grades.values()] == ["graded", "exempt"]


def test_a_unit_that_is_over_and_that_nobody_handed_in_was_never_graded(course: Course) -> None:
    nothing = unit({"mean": exercise(0, 2)}, path=None, remarks=[missing_file("means")])
    both = report({"sums": unit(SUMS), "means": nothing}, suites="hidden")
    assert state(course, {"ada": dict.fromkeys(both.units, both)}, "means")[1].startswith("It is over, and nobody has")
    [row] = gradebook_of(Decisions(course), {"ada": dict.fromkeys(both.units, both)}, NOW, ["means"]).rows
    assert row.grades["means"].state == "not graded"
    # A grading of this unit alone says that nobody did.
    alone = of(course, nothing, name="means")
    assert state(course, {"ada": {"sums": both, "means": alone}}, "means") == ("not handed in", "")


def test_why_somebody_was_not_graded_stays_until_there_is_a_report(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    write_report(of(course, unit(SUMS)), None, folder / "sums")
    record_not_graded(folder / "sums", {"ada": "Two submissions fit."}, ())
    record_not_graded(folder / "sums", {"bob": "The file is damaged."}, ())
    assert read_reports(course, folder)["ada"] == {"sums": "Two submissions fit."}
    record_not_graded(folder / "sums", {}, {"ada"})
    assert isinstance(read_reports(course, folder)["ada"]["sums"], Report)


def test_other_possible_points_than_in_the_newest_report_are_no_grade(course: Course) -> None:
    old = of(course, unit({"add": exercise(3), "Scale": exercise(1)}))
    new = of(course, unit(SUMS)).model_copy(update={"student": "bob"})
    new = new.model_copy(update={"timing": old.timing.model_copy(update={"started": "2027-02-01T00:00:00+00:00"})})
    found: Reports = {"ada": {"sums": old}, "bob": {"sums": new}}
    gradebook = gradebook_of(Decisions(course), found, NOW, ["sums"])
    assert [row.grades["sums"].state for row in gradebook.rows] == ["not graded", "graded"]
    assert gradebook.possible == {"sums": 5}


def test_a_platform_gets_no_unit_of_which_nobody_has_points(course: Course) -> None:
    gradebook = gradebook_of(Decisions(course, [RosterEntry("ada", email="a@x.org", id="1")]), {"bob": {}}, NOW)
    for table in (learning_platforms.canvas_table, learning_platforms.moodle_table):
        with pytest.raises(GraderError, match="Nobody is graded in sums and means"):
            table(gradebook, columns(gradebook, has_total_only=False, is_percent=False))


def test_points_that_were_given_for_paper_count_without_a_submission(course: Course) -> None:
    paper = Adjustment("ada", "sums", None, Fraction(3), "On paper.", "Ms Roe")
    missing = unit({"add": exercise(0, 4), "Scale": exercise(0, 1)}, path=None, remarks=[missing_file("sums")])
    decisions = Decisions(course, [RosterEntry("ada")], adjustments=[paper])
    [row] = gradebook_of(
        decisions, {"ada": {"sums": of(course, missing, adjustments=[paper])}}, NOW, ["sums"], graded=["sums"]
    ).rows
    assert (row.grades["sums"].state, row.points) == ("not handed in", 3)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: path.unlink(), "There is no report: grade again. bob (sums)."),
        (lambda path: path.write_text("{}"), "bob.json is not a report of this version: grade again. bob (sums)."),
    ],
)
def test_without_a_report_nobody_gets_a_zero(
    course: Course, tmp_path: Path, damage: Callable[[Path], object], why: str
) -> None:
    for name in ("ada", "bob"):
        write_report(of(course, unit(SUMS)).model_copy(update={"student": name}), None, tmp_path / "reports" / "sums")
    damage(tmp_path / "reports" / "sums" / "bob.json")
    (tmp_path / "roster.csv").write_text("student\nada\nbob\n")
    done = exported(course, tmp_path, "--unit", "sums")
    assert (done.exit_code, why in done.stderr) == (1, True), done.stderr
    rows = list(csv.DictReader((tmp_path / "grades.csv").read_text().splitlines()))
    assert [(row["sums"], row["total"]) for row in rows] == [("4", "4"), ("", "")]


def exported(course: Course, folder: Path, *more: str, roster: str = "roster.csv") -> Result:
    """Run `grader gradebook` in a folder with reports and a roster."""
    options = ["--reports", "reports", "--out", "grades.csv", "--course", str(course.root)]
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, ["gradebook", *options, *(["--roster", roster] if roster else []), *more])


def test_what_cannot_be_exported_is_an_error(course: Course, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("student\nada\n")
    (tmp_path / "reports").mkdir()
    nothing = exported(course, tmp_path)
    assert (nothing.exit_code, nothing.stderr.startswith("reports holds no reports: run `grader grade`")) == (2, True)
    without = exported(course, tmp_path, "--format", "canvas", roster="")
    assert "--roster: canvas needs to know who the students are" in without.stderr
    assert (without.exit_code, (tmp_path / "grades.csv").exists()) == (2, False)


def test_the_open_cases_are_one_list(course: Course, tmp_path: Path) -> None:
    unknown = of(course, unit(SUMS)).units["sums"].model_copy(update={"received": None})
    messages = [Message(unit="sums", exercise=None, kind="attempted", text="It tried to fork.", file=None, line=None)]
    tried = report({"sums": unknown}, messages, suites="hidden").model_copy(update={"name": "Ada Doe"})
    found: Reports = {"ada": {"sums": tried}, "bob": {"sums": "Two submissions fit."}}
    # As a grading keeps it, also for a later one that skips ada.
    write_report(tried, {"tests": [], SUITE_FAULTS: {"sums": ["suites/test_sums.py:7 raised."]}}, tmp_path)
    cases = open_cases(gradebook_of(Decisions(course), found, NOW, ["sums"]), course, NOW, tmp_path)
    assert [case.text for case in cases] == [
        "sums: Time unknown: nothing says when this was handed in, so all counts as in time. Write times.csv.",
        "sums: not graded. Two submissions fit. bob.",
        "sums: suites/test_sums.py:7 raised. Ada Doe (ada).",
        "Ada Doe (ada) tried to fork (1). It was isolated, and no point is from it.",
    ]


def test_no_open_case_is_that_somebody_outside_of_the_class_is_not_graded(course: Course, tmp_path: Path) -> None:
    found: Reports = {"ada": {"sums": of(course, unit(SUMS))}, "old": {"sums": "Two submissions fit."}}
    gradebook = gradebook_of(Decisions(course, [RosterEntry("ada")]), found, NOW, ["sums"])
    assert [row.entry.student for row in gradebook.strangers] == ["old"]
    assert "old" not in " ".join(case.text for case in open_cases(gradebook, course, NOW, tmp_path))


def test_comments_are_no_change_of_points(course: Course) -> None:
    comment = Change(kind="comment", points=0, reason="Well done.", exercise=None, by="Ms Roe")
    made = of(course, unit(SUMS))
    commented = made.with_units({"sums": made.units["sums"].model_copy(update={"changes": [comment]})})
    assert state(course, {"ada": {"sums": commented}}) == ("graded", "")
