"""The grade of record: the reports on the commits that `grader collect` found."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from made_reports import exercise, made_course, report, unit
from typer.testing import CliRunner

from grader.classes.collected import CollectedClass, CollectedStudent, CollectedWork, CollectError
from grader.classes.decisions import Decisions
from grader.classes.gradebook import gradebook_of, read_reports
from grader.classes.record import grades
from grader.classes.roster import RosterEntry
from grader.cli.instructor import app
from grader.reports.folder import write_report

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FIRST, LATE = "1" * 40, "2" * 40
MISSING = "GitHub shows no our-course/missing to this token: correct the name."


def student(name: str, work: CollectedWork | None = None, **more: str | list[str]) -> CollectedStudent:
    given = {"repository": f"our-course/{name}", "units": {"sums": work} if work else {}, **more}
    return CollectedStudent.model_validate({"student": name, **given})


@pytest.fixture
def collected() -> CollectedClass:
    """Three who pushed, one of them again after the due date, and one whose repository is missing."""
    work = CollectedWork(commit=FIRST, dated_by="push")
    late = work.model_copy(update={"late": CollectedWork(commit=LATE, dated_by="push")})
    students = [
        student("honest", work),
        student("late", late),
        student("forced", work, noticed=["The account eve force-pushed."]),
        student("missing", problem=MISSING),
    ]
    return CollectedClass(
        schema="attention-from-scratch/collected/v1", collected=NOW, units={"sums": NOW}, students=students
    )


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The reports on these commits; of who pushed again, on the late one."""
    for name, points, commit in [("honest", 5, FIRST), ("late", 4, LATE), ("forced", 3, FIRST)]:
        made = report({"sums": unit({"add": exercise(points, 5 - points)})}, suites="hidden")
        made = made.model_copy(update={"student": name, "commit": commit})
        write_report(made, None, tmp_path / "reports" / "sums")
    return tmp_path / "reports"


def test_a_grade_is_for_a_commit_that_was_collected_and_without_one_it_is_no_zero(
    collected: CollectedClass, reports: Path, tmp_path: Path
) -> None:
    course = made_course(tmp_path / "course", {"sums": {"add": 1}})
    decisions = Decisions(course, [RosterEntry(one.student) for one in collected.students])
    found = gradebook_of(decisions, read_reports(course, reports), NOW, collected=grades(collected, reports))
    assert [found.total(row) for row in found.rows] == [5, 4, 3, None]
    assert found.possible == {"sums": 5}
    assert [row.grades["sums"].note for row in found.rows] == ["", "", "", MISSING]
    assert found.rows[2].noticed == ["The account eve force-pushed."]


def test_a_repository_with_several_rows_is_shared(collected: CollectedClass, reports: Path) -> None:
    first = collected.students[0]
    mate = first.model_copy(update={"student": "mate", "repository": first.repository.upper()})
    group = collected.model_copy(update={"students": [*collected.students, mate]})
    assert [grade.student.student for grade in grades(group, reports) if grade.is_shared] == ["honest", "mate"]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda path: path.unlink(), "there is no report of it in"),
        (lambda path: path.write_text("{}"), "there is no report of it in"),
        (
            lambda path: path.write_text(path.read_text().replace('"suites": "hidden"', '"suites": "visible"')),
            "is by the visible tests: grade with `grader grade`.",
        ),
        (
            lambda path: path.write_text(path.read_text().replace(FIRST, "3" * 40)),
            "is of another commit: grade again.",
        ),
    ],
)
def test_a_report_on_another_commit_is_not_a_grade(
    collected: CollectedClass, reports: Path, edit: Callable[[Path], object], why: str
) -> None:
    edit(reports / "sums" / "honest.json")
    assert why in str(grades(collected, reports)[0].units["sums"])


@pytest.mark.parametrize(
    "command", [("gradebook", "--reports", "reports", "--out", "x.csv", "--course"), ("status", "reports")]
)
def test_without_collected_json_the_commands_fail(command: tuple[str, ...], tmp_path: Path) -> None:
    made_course(tmp_path / "course", {"sums": {"add": 1}})
    options = [*command, *([str(tmp_path / "course")] if "--course" in command else [])]
    done = CliRunner().invoke(app, [*options, "--collected", "nowhere.json"])
    assert done.exit_code == 2
    assert "nowhere.json cannot be read (No such file or directory): run `grader collect` first." in done.stderr


def test_without_a_report_there_is_no_table(collected: CollectedClass, reports: Path) -> None:
    with pytest.raises(CollectError, match="nowhere holds no report of sums: run `grader grade`"):
        grades(collected, reports / "nowhere")
