"""A course that leaves out units and exercises and has others without points, in all commands."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import courses
import forks
import pytest
from courses import LISTED, read_reports, run_grader

from grader.course.model import load_course
from grader.integrations.release.wheel import received

UNIT, OTHER = LISTED
LEFT_OUT = {
    "scaled_dot_product_attention",
    "SelfAttention_v2",
    "transfer_weights",
    "MultiHeadAttention",
    "softmax_naive",
}
proof = pytest.mark.proof(part="grading")
RIGHT, WRONG = "    values = inputs @ W_value\n", "    values = keys\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The course, and what building it printed."""
    root = courses.make_changed_course(tmp_path_factory.mktemp("changed"))
    done = run_grader(root, "build")
    assert done.returncode == 0, done.stderr
    return root, done.stdout


@pytest.fixture(scope="module")
def root(built: tuple[Path, str]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of two who answered the whole earlier course; one of them got an exercise without points wrong."""
    folder = tmp_path_factory.mktemp("class")
    for unit in LISTED:
        text = (root / "solutions" / f"{unit}.py").read_text(encoding="utf-8")
        text = text.replace("from causal_attention import CausalAttention", "class CausalAttention: ...")
        for student in ("ada", "bob"):
            exercises = folder / student / "exercises"
            exercises.mkdir(parents=True, exist_ok=True)
            (exercises / f"{unit}.py").write_text(text, encoding="utf-8")
    wrong = folder / "bob" / "exercises" / f"{UNIT}.py"
    text = wrong.read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1
    wrong.write_text(text.replace(RIGHT, WRONG), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def reports(root: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("reports")
    done = run_grader(root, "grade", folder, "--out", into, "--strict")
    assert done.returncode == 0, done.stdout + done.stderr  # what has no weight costs no full marks
    return into


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "timing": None}


# -- what is left out ------------------------------------------------------------------------------------------


def test_building_names_what_is_left_out_and_removes_its_files(built: tuple[Path, str]) -> None:
    root, printed = built
    assert "autograder.yml leaves out the unit simple_attention.\n" in printed
    assert (
        "SelfAttention_v1 builds on scaled_dot_product_attention: students write what they need of it themselves. "
        "To ask for it without points, give it the weight 0.\n"
    ) in printed
    exercises = root / "exercises"
    assert f"removed {exercises / 'causal_attention.py'}\n" in printed
    assert f"removed {exercises / f'{OTHER}_quiz.md'}\n" in printed
    for unit, listed in LISTED.items():
        stub = ast.parse((exercises / f"{unit}.py").read_text(encoding="utf-8"))
        assert [node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)] == list(listed)
        imported = {node.module for node in stub.body if isinstance(node, ast.ImportFrom)}
        assert "causal_attention" not in imported


def test_students_receive_nothing_that_is_left_out(root: Path) -> None:
    files = received(load_course(root))
    assert {name for name in files if name.endswith((".py", "_quiz.md"))} == {
        "checks/conftest.py", "checks/checking.py", f"{UNIT}_quiz.md", *(f"{unit}.py" for unit in LISTED),
        *(f"checks/test_{unit}.py" for unit in LISTED), *(f"checks/pictures_{unit}.py" for unit in LISTED),
    }  # fmt: skip
    for unit, listed in LISTED.items():
        tests = files[f"checks/test_{unit}.py"].decode()
        assert set(re.findall(r'mark\.example\(\s*"(\w+)"', tests)) == set(listed)
        # An example that calls what is left out goes as well.
        pictures = files[f"checks/pictures_{unit}.py"].decode()
        assert set(re.findall(r'@(?:picture|question)\(\s*"(\w+)"', pictures)) <= set(listed)
        assert not {name for name in LEFT_OUT if f"student.{name}" in tests + pictures}
        ast.parse(tests)
        ast.parse(pictures)


@proof
@pytest.mark.parametrize("suites", ["grader/suites", "exercises/checks"])
def test_pytest_deselects_tests_of_what_is_left_out(root: Path, suites: str) -> None:
    options = ["--collect-only", "-q", "--continue-on-collection-errors", "-W", "ignore:Module already imported"]
    done = courses.run_forked(forks.PYTEST, suites, *options, folder=root, environment=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    files = {Path(line.partition("::")[0]) for line in done.stdout.splitlines() if "::" in line}
    if suites == "exercises/checks":
        assert {path.name for path in files} == {f"test_{unit}.py" for unit in LISTED}
    else:
        assert sorted(path.stem for path in files) == sorted(name for listed in LISTED.values() for name in listed)


@proof
def test_a_misspelt_name_of_a_suite_is_still_refused(root: Path, folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    suite = copy / "grader" / "suites" / UNIT / "project_qkv.py"
    suite.rename(suite.with_name("project_qvk.py"))
    done = run_grader(copy, "grade", folder, "--out", tmp_path / "reports")
    assert done.returncode == 3
    assert f"suites/{UNIT}/project_qkv.py is missing: write the hidden tests of project_qkv there." in done.stderr


@proof
def test_grader_check_tests_the_rest(root: Path, folder: Path) -> None:
    arguments = ("--course", root, "check")
    done = courses.run_forked(forks.COMMAND, *arguments, folder=folder / "bob", environment=os.environ)
    assert done.returncode == 1, done.stderr
    assert "3 of 4 exercises pass the visible tests." in done.stdout
    assert "✗ project_qkv" in done.stdout
    assert not {name for name in LEFT_OUT if name in done.stdout}


@pytest.mark.proof(part="audit")
def test_the_audit_covers_the_rest(root: Path) -> None:
    done = run_grader(root, "audit", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "autograder.yml leaves out the unit simple_attention." in done.stdout


# -- what has the weight 0 -------------------------------------------------------------------------------------


@proof
def test_an_exercise_without_weight_is_run_and_reported(reports: Path) -> None:
    ada, bob = (read_reports(reports)[name] for name in ("ada", "bob"))
    assert bob["points"] == bob["possible"] == ada["points"] == ada["possible"] > 0
    assert {unit: list(found["exercises"]) for unit, found in bob["units"].items()} == {
        unit: list(listed) for unit, listed in LISTED.items()
    }
    found = bob["units"][UNIT]["exercises"]["project_qkv"]
    assert (found["points"], found["possible"]) == (0, 0)
    assert {test["outcome"] for test in found["tests"]} == {"passed", "failed"}
    assert any(test["reason"] for test in found["tests"])
    quiz = bob["units"][UNIT]["quiz"]
    assert (quiz["points"], quiz["possible"], bob["units"][OTHER]["quiz"]) == (0, 0, None)
    assert all(item["explanation"] for item in quiz["items"].values())


# -- one unit after the other ----------------------------------------------------------------------------------


@proof
def test_units_that_are_graded_one_after_the_other_make_the_report_of_one_run(
    root: Path, folder: Path, reports: Path, tmp_path: Path
) -> None:
    for unit in LISTED:
        done = run_grader(root, "grade", folder, "--out", tmp_path, "--unit", unit)
        assert done.returncode == 0, done.stderr
    whole, merged = read_reports(reports), read_reports(tmp_path)
    assert {name: without_times(one) for name, one in merged.items()} == {
        name: without_times(one) for name, one in whole.items()
    }
    files = [into / "instructor" / "bob.pytest.json" for into in (reports, tmp_path)]
    tests = [[(one["nodeid"], one["outcome"]) for one in json.loads(file.read_bytes())["tests"]] for file in files]
    assert tests[0] == tests[1]
    again = run_grader(root, "grade", folder, "--out", tmp_path, "--unit", UNIT)
    assert "2 of 2 reports are up to date and were skipped" in again.stdout


@proof
def test_a_changed_unit_is_named_and_not_kept(root: Path, folder: Path, reports: Path, tmp_path: Path) -> None:
    submissions = Path(shutil.copytree(folder, tmp_path / "class"))
    into = Path(shutil.copytree(reports, tmp_path / "reports"))
    answers = submissions / "ada" / "exercises" / f"{UNIT}.py"
    answers.write_text(answers.read_text(encoding="utf-8") + "\n1\n", encoding="utf-8")
    (submissions / "bob").rename(tmp_path / "bob")
    done = run_grader(root, "grade", submissions, "--out", into, "--unit", OTHER)
    assert done.returncode == 0, done.stderr
    after = "is no longer in the reports of ada: grade without --unit; or, if each download has one unit, with --out "
    assert f"{UNIT} has changed since it was graded, and {after}" in " ".join(done.stdout.split())
    assert f"{into} also holds reports of students without a submission here: bob.\n" in done.stdout
    found = read_reports(into)
    assert found["bob"] == read_reports(reports)["bob"]
    assert list(found["ada"]["units"]) == [OTHER]
    assert found["ada"]["possible"] == found["ada"]["units"][OTHER]["possible"]


@proof
def test_grading_a_single_submission_misses_nobody(root: Path, folder: Path, reports: Path, tmp_path: Path) -> None:
    into = Path(shutil.copytree(reports, tmp_path / "reports"))
    done = run_grader(root, "grade", folder / "ada", "--out", into)
    assert "1 of 1 report is up to date and was skipped" in done.stdout
    assert "also holds" not in done.stdout
