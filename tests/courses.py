"""Courses to grade with, submissions to grade, and the program itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent

SMALL_COURSE = {
    "autograder.yml": """\
course: A small course
version: "1"
limits:
  call_seconds: 1
  unit_seconds: 4
  cpu_seconds: 30
  memory_mb: 2048
  output_kb: 16
feedback:
  before_due: misconception
  after_due: points
units:
  sums:
    title: Sums
    due: 2100-01-01T00:00:00+00:00
    exercises:
      add: 2
      Scale: 1
""",
    "solutions/sums.py": '''\
import torch
from torch import nn


def add(a, b):
    """Add."""
    hidden_in_the_solution = a + b
    return hidden_in_the_solution


class Scale(nn.Module):
    """Scale by a factor."""

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        return self.factor * x
''',
    "exercises/sums.py": '''\
import torch
from torch import nn


def add(a, b):
    """Add."""
    raise NotImplementedError()


class Scale(nn.Module):
    """Scale by a factor."""

    def __init__(self, factor):
        super().__init__()
        raise NotImplementedError()

    def forward(self, x):
        raise NotImplementedError()
''',
    "grader/suites/sums/__init__.py": "",
    "grader/suites/sums/test_sums.py": '''\
import pytest

from grader.suites.checks import expect_close


@pytest.mark.exercise("add", rule="add adds")
def test_sum_of_two_tensors(student, fresh):
    """The sum should be that of every pair of entries, known as criterion aardvark."""
    a, b = fresh(2, 3), fresh(2, 3)
    expect_close(student.add(a, b), a + b, "The sums")


@pytest.mark.exercise("add", rule="add adds")
def test_sum_with_a_number(student, fresh):
    """The sum should also take a number, known as criterion bandicoot."""
    a = fresh(4)
    expect_close(student.add(a, 1.0), a + 1.0, "The sums")


@pytest.mark.exercise("Scale", rule="Scale scales")
def test_scale_multiplies(student, fresh):
    """The output should be the factor times the input, known as criterion capybara."""
    x = fresh(3)
    expect_close(student.Scale(3.0)(x), 3.0 * x, "The outputs")
''',
    "grader/suites/sums/misconceptions.py": """\
from grader.suites.criteria import misconception


@misconception("add", "Adding is not taking away.")
def subtracts(a, b):
    return a - b
""",
}


def copy_course(root: Path, **limits: float) -> Path:
    """A copy of this course and its grader, with other limits."""
    for name in ("grader", "solutions", "exercises"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    text = (REPOSITORY / "autograder.yml").read_text(encoding="utf-8")
    for name, value in limits.items():
        text, count = re.subn(rf"^  {name}: \d+", f"  {name}: {value}", text, flags=re.MULTILINE)
        assert count == 1
    (root / "autograder.yml").write_text(text, encoding="utf-8")
    return root


def make_small_course(root: Path) -> Path:
    units = [path.name for path in (REPOSITORY / "grader" / "suites").iterdir() if path.is_dir()]
    shutil.copytree(REPOSITORY / "grader", root / "grader", ignore=shutil.ignore_patterns("__pycache__", *units))
    for name, text in SMALL_COURSE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def hand_in(folder: Path, text: str, unit: str = "sums") -> Path:
    """A submission with one file."""
    folder.mkdir(parents=True)
    (folder / f"{unit}.py").write_text(text, encoding="utf-8")
    return folder


# Makes the program that follows believe in a system that knows neither seccomp nor Landlock: a filter of its own
# refuses the calls by which a process locks itself in (prctl's 22 is PR_SET_SECCOMP).
UNISOLATED = """\
import errno, os, sys
import pyseccomp
rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
for name in ("seccomp", "landlock_create_ruleset", "landlock_restrict_self"):
    rules.add_rule(pyseccomp.ERRNO(errno.EINVAL), name)
rules.add_rule(pyseccomp.ERRNO(errno.EINVAL), "prctl", pyseccomp.Arg(0, pyseccomp.EQ, 22))
rules.load()
os.execv(sys.argv[1], sys.argv[1:])
"""
WHERE_NOTHING_ISOLATES = (sys.executable, "-c", UNISOLATED)


def grader_command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "grader", *map(str, arguments)]


def environment(root: Path) -> dict[str, str]:
    """In which `python -m grader` is the grader in `root`, and grades the course there."""
    return {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "160"}


def run_grader(root: Path, *arguments: object, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """The program, run on the course in `root`. prefix: a command that runs another one."""
    command = [*prefix, *grader_command(*arguments)]
    return subprocess.run(command, cwd=root, env=environment(root), capture_output=True, text=True, check=False)


def read_reports(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
