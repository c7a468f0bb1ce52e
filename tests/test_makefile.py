"""`make grade`, on a system that can isolate student code and on one that cannot."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from courses import WHERE_NOTHING_ISOLATES
from example_class import CLASS

pytestmark = pytest.mark.proof(part="full")

ROOT = Path(__file__).resolve().parent.parent
# Without the variables that `make test` around these tests passes to the inner make.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The part of a checkout that `make grade` needs, with this environment, so that nothing is installed."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "autograder.yml"):
        shutil.copy2(ROOT / name, tmp_path)
    for name in ("solutions", "exercises", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "grader" / "suites", tmp_path / "grader" / "suites")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


def make_grade(checkout: Path, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    # --old-file: do not install again because of the times of the copied files.
    command = [*prefix, str(shutil.which("make")), "--old-file=.venv/installed", "grade"]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, env=ENVIRONMENT)


def students(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.json")}


def test_the_example_class_is_graded(checkout: Path) -> None:
    done = make_grade(checkout)
    assert done.returncode == 0, done.stderr
    assert students(checkout / "reports") == {*CLASS}
    assert re.search(r"^ada .* (\d+)/\1 ", done.stdout, re.MULTILINE)  # full marks


def test_without_isolation_the_hostile_student_is_left_out_with_a_message(checkout: Path) -> None:
    done = make_grade(checkout, WHERE_NOTHING_ISOLATES)
    assert done.returncode == 0, done.stderr
    assert students(checkout / "reports") == {*CLASS} - {"mallory"}
    assert "build/class/mallory, the hostile example, is left out" in done.stdout
    assert "seccomp: This system refuses seccomp filters" in done.stdout
    assert "These submissions were not isolated" in done.stdout
