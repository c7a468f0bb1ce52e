"""The grade of record from end to end: collected, graded and put into one table by the real commands."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import courses
import pytest
from local_github import LocalGitHub, local_github

from grader.classes.collected import CollectedClass, CollectError, read_collected
from grader.classes.record import grades

DUE, EARLY, LATE = "2020-01-25T23:59:00+01:00", "2020-01-20T10:00:00Z", "2020-01-26T10:00:00Z"
RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")


@dataclass
class Class:
    root: Path
    hub: LocalGitHub
    folder: Path
    printed: str
    commits: dict[str, str]

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        environment = {**courses.environment(self.root), **self.hub.environment()}
        command = courses.grader_command(*arguments)
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def collected(self) -> CollectedClass:
        return read_collected(self.folder / "collected" / "collected.json")

    def rows(self) -> dict[str, dict[str, str]]:
        text = (self.folder / "grades.csv").read_text(encoding="utf-8")
        return {row["student"]: row for row in csv.DictReader(text.splitlines())}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """A class that was collected and graded once."""
    root = courses.make_small_course(tmp_path_factory.mktemp("course"))
    courses.set_due(root, DUE)
    folder = tmp_path_factory.mktemp("class")
    with local_github(tmp_path_factory.mktemp("hub")) as hub:
        one = Class(root, hub, folder, "", {})
        for name in ("honest", "late", "forced", "nothing"):
            repository = hub.create(f"our-course/{name}")
            if name != "nothing":
                text = WRONG if name == "late" else RIGHT
                one.commits[name] = repository.push({"exercises/sums.py": text}, EARLY)
            if name != "honest":
                previous = f"{one.commits[name]}" if name == "forced" else None
                repository.push({"exercises/sums.py": WRONG if previous else RIGHT}, LATE, replacing=previous)
        names = [*hub.repositories, "our-course/missing"]
        lines = [f"{name.partition('/')[2]},{name}\n" for name in names]
        (folder / "roster.csv").write_text(f"student,repository\n{''.join(lines)}")
        assert one.run("collect", "roster.csv", "--out", "collected").returncode == 1
        done = one.run("grade", "collected/sums", "--unit", "sums", "--out", "reports/sums")
        assert done.returncode == 0, done.stderr
        done = one.run(
            "gradebook", "--reports", "reports", "--roster", "roster.csv", "--collected", "collected/collected.json",
            "--out", "grades.csv", "--course", root,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        one.printed = done.stderr
        yield one


@pytest.mark.parametrize(("student", "points"), [("honest", 5), ("late", 1), ("forced", 5), ("nothing", 0)])
def test_a_grade_is_for_the_commit_pushed_in_time(graded: Class, student: str, points: int) -> None:
    row = graded.rows()[student]
    assert int(row["sums"]) == int(row["total"]) == points


def test_the_possible_points_are_those_of_the_reports(graded: Class) -> None:
    [possible] = {row["possible"] for row in graded.rows().values()}
    assert int(possible) == grades(graded.collected(), graded.reports)[0].graded[0].possible


def test_a_student_who_could_not_be_collected_is_not_graded_with_zero(graded: Class) -> None:
    row = graded.rows()["missing"]
    assert (row["sums"], row["total"]) == ("", "")
    assert row["noticed"].startswith("sums: GitHub shows no our-course/missing to this token")
    assert "GitHub shows no our-course/missing to this token" in graded.printed


def test_anomalies_are_in_the_row(graded: Class) -> None:
    assert "force-pushed" in graded.rows()["forced"]["noticed"]
    assert "Nothing had been pushed" in graded.rows()["nothing"]["noticed"]


def test_a_repository_with_several_rows_is_shared(graded: Class) -> None:
    collected = graded.collected()
    first = collected.students[0]
    mate = first.model_copy(update={"student": "mate", "repository": first.repository.upper()})
    group = collected.model_copy(update={"students": [*collected.students, mate]})
    shared = [grade.student.student for grade in grades(group, graded.reports) if grade.is_shared]
    assert shared == ["honest", "mate"]


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
            lambda path: path.write_text(path.read_text().replace('"commit": "', '"commit": "0')),
            "is of another commit: grade again.",
        ),
    ],
)
def test_a_report_on_another_commit_is_not_a_grade(graded: Class, edit: Callable[[Path], object], why: str) -> None:
    path = graded.reports / "sums" / "honest.json"
    good = path.read_text(encoding="utf-8")
    try:
        edit(path)
        grade = grades(graded.collected(), graded.reports)[0]
    finally:
        path.write_text(good, encoding="utf-8")
    assert why in str(grade.units["sums"])
    assert grade.missing[0].startswith("sums: not graded: ")


def test_students_see_their_points_beside_their_commits(graded: Class) -> None:
    done = graded.run("status", "reports", "--collected", "collected/collected.json")
    assert (done.returncode, done.stdout) == (0, "3 of 3 statuses are posted.\n")
    shown = {name.partition("/")[2]: (commit, status["description"]) for name, commit, status in graded.hub.statuses}
    [possible] = {row["possible"] for row in graded.rows().values()}
    points = {"honest": 5, "late": 1, "forced": 5}
    assert shown == {name: (graded.commits[name], f"{points[name]} of {possible} points") for name in points}


@pytest.mark.parametrize(("counts", "points"), [("last", (0, 4)), ("best", (5, 4))])
def test_late_pushes_count_with_a_deduction_if_the_course_accepts_them(
    graded: Class, tmp_path: Path, counts: str, points: tuple[int, int]
) -> None:
    root = tmp_path / "course"
    shutil.copytree(graded.root, root)
    rules = f"late:\n  percent_per_day: 10\n  most_percent: 50\n  counts: {counts}\nunits:"
    (root / "autograder.yml").write_text((root / "autograder.yml").read_text().replace("units:", rules, 1))
    one = Class(root, graded.hub, tmp_path / "class", "", {})
    shutil.copytree(graded.folder, one.folder, ignore=shutil.ignore_patterns("collected", "reports"))
    assert one.run("collect", "roster.csv", "--out", "collected", "--course", root).returncode == 1
    command = ("grade", "collected/sums", "--unit", "sums", "--out", "reports/sums", "--roster", "roster.csv")
    done = one.run(*command, "--course", root)
    assert done.returncode == 0, done.stderr
    found = {grade.student.student: grade for grade in grades(one.collected(), one.reports)}
    # Right, and then wrong by a force push: 0.9 points, rounded down. Wrong, and then right on the next day: 4.5.
    assert (found["forced"].graded[0].points, found["late"].graded[0].points) == points
    assert all(grade.graded for grade in found.values() if grade.student.student != "missing")


@pytest.mark.parametrize("command", [("gradebook", "--reports", "reports", "--out", "x.csv"), ("status", "reports")])
def test_without_collected_json_the_commands_fail(graded: Class, command: tuple[str, ...]) -> None:
    done = graded.run(*command, "--collected", "nowhere.json", *(["--course", graded.root] if len(command) > 2 else []))
    assert done.returncode == 2
    assert "nowhere.json cannot be read (No such file or directory): run `grader collect` first." in done.stderr


def test_without_a_report_there_is_no_table(graded: Class) -> None:
    with pytest.raises(CollectError, match="nowhere holds no report of sums: run `grader grade`"):
        grades(graded.collected(), graded.folder / "nowhere")
