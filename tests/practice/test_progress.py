"""`grader` alone: how far a student is, and what is next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from courses import COURSE, REPOSITORY, run_grader

from grader.practice.check import check_answers, read_answers
from grader.practice.progress import StudentProgress, next_step

UNIT = "simple_attention"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's repository with the stubs."""
    folder = tmp_path / "ada"
    shutil.copytree(REPOSITORY / "exercises", folder / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def write(folder: Path, old: str = "", new: str = "") -> None:
    """Write the solution of unit 1, with a change."""
    text = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    assert old in text
    (folder / "exercises" / f"{UNIT}.py").write_text(text.replace(old, new), encoding="utf-8")


def progress_of(folder: Path) -> StudentProgress:
    return StudentProgress(COURSE, folder, read_answers(COURSE, folder))


def states(folder: Path) -> dict[str, str]:
    return {step.exercise: step.state for step in progress_of(folder).steps() if step.unit == UNIT}


def test_stubs_are_not_written_and_the_first_exercise_is_next(folder: Path) -> None:
    steps = progress_of(folder).steps()
    assert {step.state for step in steps} == {"not written"}
    following = next_step(steps)
    assert following
    assert following.exercise == "dot_product"
    assert following.place.startswith(f"exercises/{UNIT}.py, line ")


def test_a_check_is_remembered_until_the_code_or_what_it_uses_is_changed(folder: Path) -> None:
    write(folder, "inputs @ query", "inputs @ query * 2")
    progress = progress_of(folder)
    checked, report = progress.answers.code, check_answers(COURSE, progress.answers, [UNIT]).report
    progress.remember(report, checked)
    found = states(folder)
    assert found.pop("attention_scores") == "fails"
    assert set(found.values()) == {"passes"}
    write(folder, "largest = x.max", "largest = 1 * x.max")  # in softmax_stable, which simple_self_attention uses
    found = states(folder)
    changed = [name for name, state in found.items() if state == "changed"]
    assert changed == ["attention_scores", "softmax_stable", "simple_self_attention"]
    assert progress.read_again() == ["attention_scores", "softmax_stable"]
    progress.remember(report, checked)  # what a check of earlier code found says nothing about the latest
    assert [step.exercise for step in progress.steps() if step.state == "changed"] == changed


def test_a_file_that_is_not_python_is_to_be_checked(folder: Path) -> None:
    write(folder, "inputs @ query", "inputs @")
    assert set(states(folder).values()) == {"changed"}


def test_the_command_checks_what_was_changed_and_names_the_next_exercise(folder: Path) -> None:
    write(folder, "return inputs @ query", "return inputs")
    done = run_grader(folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "Checking what was changed since the last check: 7 of your exercises.\n"
    assert f"{UNIT}  6 of 7" in done.stdout
    assert "✗ attention_scores" in done.stdout
    assert f"6 of {sum(len(one.exercises) for one in COURSE.units.values())} exercises pass" in done.stdout
    assert "Next: fix attention_scores (exercises/simple_attention.py, line " in done.stdout
