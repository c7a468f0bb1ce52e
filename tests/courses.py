"""Courses and submissions for tests, and functions that run the grader."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import forks
import yaml

from grader.course.model import load_course
from grader.engine.engine_client import Engine
from grader.reports.report_model import Result
from grader.submissions.submission import Submission
from grader.testing.misconceptions import build

REPOSITORY = Path(__file__).resolve().parent.parent
COURSE = load_course(REPOSITORY)
LONG_PAST, LONG_TO_COME = "2000-01-01T00:00:00+00:00", "2100-01-01T00:00:00+00:00"

SMALL_COURSE = {
    "autograder.yml": """\
course: A small course
version: "1"
suites: suites
limits:
  call_seconds: 1
  unit_seconds: 4
  cpu_seconds: 30
  memory_mb: 2048
  output_kb: 16
feedback:
  before_due: misconception
  after_due: points
  quiz_answers: true
units:
  sums:
    title: Sums
    due: 2100-01-01T00:00:00+00:00
    quiz: 1
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
    "solutions/sums_quiz.yml": """\
title: "Quiz 1: sums"
items:
  order_of_terms:
    kind: one_choice
    points: 1
    question: What changes where the terms of a sum trade places?
    choices:
      - {text: The sum., sentence: Addition is commutative.}
      - {text: Nothing., sentence: "Yes: addition is commutative.", right: true}
      - {text: The sign of the sum., sentence: That is so of a difference.}
    explanation: "a + b is b + a: known as explanation dingo."
  even_sums:
    kind: several_choices
    points: 3
    question: Which of these sums are even?
    choices:
      - {text: 1 + 3, sentence: "Four is even.", right: true}
      - {text: 1 + 2, sentence: "Three is odd."}
      - {text: 2 + 4, sentence: "Six is even.", right: true}
      - {text: 2 + 5, sentence: "Seven is odd."}
    explanation: Two terms of the same parity make an even sum.
  is_larger:
    kind: true_false
    points: 1
    question: A sum is larger than each of its terms.
    choices:
      - {text: "true", sentence: So it is where all the terms are positive.}
      - {text: "false", sentence: "Right: 3 + (-1) is not.", right: true}
    explanation: A negative term makes the sum smaller than the other one.
  mean_of_two:
    kind: number
    points: 2
    question: What is the mean of [[a]] and [[b]]?
    decimals: 2
    variants:
      - {a: 1, b: 2.25, answer: 1.625, sum: 3.25}
      - {a: 2, b: 3.5, answer: 2.75, sum: 5.5}
      - {a: 3, b: -4, answer: -0.5, sum: -1}
      - {a: 4, b: 0.5, answer: 2.25, sum: 4.5}
      - {a: 5, b: 5, answer: 5, sum: 10}
    slips:
      sum: "[[sum]] is their sum: the mean is half of it."
    explanation: "([[a]] + [[b]]) / 2 is [[answer]]."
  how_many_terms:
    kind: number
    points: 1
    question: How many terms has the sum of all entries of a matrix of shape [[shape]]?
    variants:
      - {shape: [2, 3], answer: 6}
      - {shape: [3, 4], answer: 12}
      - {shape: [4, 5], answer: 20}
      - {shape: [100, 1000], answer: 100000}
      - {shape: [7, 8], answer: 56}
    explanation: One for each entry.
  sum_over_rows:
    kind: shape
    points: 1
    question: A tensor has the shape ([[rows]], [[columns]]). What is the shape of its sum over `dim=0`?
    variants:
      - {rows: 2, columns: 3, answer: [3], kept: [1, 3]}
      - {rows: 3, columns: 4, answer: [4], kept: [1, 4]}
      - {rows: 4, columns: 5, answer: [5], kept: [1, 5]}
      - {rows: 5, columns: 6, answer: [6], kept: [1, 6]}
      - {rows: 6, columns: 7, answer: [7], kept: [1, 7]}
    slips:
      kept: Only with `keepdim=True`.
    explanation: The dimension that is summed over goes.
  long_addition:
    kind: order
    points: 3
    question: How are two numbers added on paper?
    steps: [Write the last digit of the sum down., Write one number below the other., Add the last digits., Carry.]
    answer: b c a d
    explanation: From right to left.
  no_sum:
    kind: bug
    points: 1
    question: "This program should print 6. Which line is wrong?"
    code: |
      numbers = [1, 2, 3]
      total = 0
      for number in numbers:
          total = number
      print(total)
    lines:
      1: {sentence: These are the numbers.}
      2: {sentence: A sum begins at zero.}
      3: {sentence: Every number has its turn.}
      4: {sentence: "Yes: it forgets what was there.", right: true, fix: "    total += number"}
    explanation: The line takes the place of the sum that was there.
""",
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
    "suites/__init__.py": "",
    "suites/sums/__init__.py": "",
    "suites/sums/add.py": '''\
from grader.testing.checks import expect_close
from grader.testing.misconceptions import misconception
from grader.testing.suite import rule


@rule("add adds")
def test_sum_of_two_tensors(student, fresh):
    """The sum should be that of every pair of entries, known as criterion aardvark."""
    a, b = fresh(2, 3), fresh(2, 3)
    expect_close(student.add(a, b), a + b, "The sums")


@rule("add adds")
def test_sum_with_a_number(student, fresh):
    """The sum should also take a number, known as criterion bandicoot."""
    a = fresh(4)
    expect_close(student.add(a, 1.0), a + 1.0, "The sums")


@misconception("Adding is not taking away.")
def subtracts(a, b):
    return a - b
''',
    "suites/sums/Scale.py": '''\
from grader.testing.checks import expect_close
from grader.testing.suite import rule


@rule("Scale scales")
def test_scale_multiplies(student, fresh):
    """The output should be the factor times the input, known as criterion capybara."""
    x = fresh(3)
    expect_close(student.queue("Scale", 3.0)(x), 3.0 * x, "The outputs")
''',
}


# The same solution as a source for `grader build`.
ANSWER = '# %% nbgrader={"grade": false, "grade_id": "{}", "locked": false, "solution": true}'
BUILDABLE = f"""\
# %% [markdown]
# # Sums


# %%
import torch
from torch import nn


{ANSWER.replace("{}", "add")}
def add(a, b):
    \"\"\"Add.\"\"\"
    # TODO: Add them.
    ### BEGIN SOLUTION
    return a + b
    ### END SOLUTION


{ANSWER.replace("{}", "Scale")}
class Scale(nn.Module):
    \"\"\"Scale by a factor.\"\"\"

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        # TODO: Multiply.
        ### BEGIN SOLUTION
        return self.factor * x
        ### END SOLUTION
"""


def copy_course(root: Path, **limits: float) -> Path:
    """Copy this course and its grader, with other limits."""
    return _copy_course(root, "grader", limits)


def copy_course_alone(root: Path) -> Path:
    """Copy this course with its suites, and without the grader."""
    return _copy_course(root, "grader/suites", {})


def _copy_course(root: Path, code: str, limits: Mapping[str, float]) -> Path:
    for name in (code, "solutions", "exercises"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    text = (REPOSITORY / "autograder.yml").read_text(encoding="utf-8")
    for name, value in limits.items():
        text, count = re.subn(rf"^  {name}: \d+", f"  {name}: {value}", text, flags=re.MULTILINE)
        assert count == 1
    (root / "autograder.yml").write_text(text, encoding="utf-8")
    # The caches depend on the contents of files, not on their place, so they are valid in the copy.
    build(COURSE, COURSE.units)
    for cache in ("misconceptions", "failures", "signatures"):
        if (REPOSITORY / "build" / cache).is_dir():
            shutil.copytree(REPOSITORY / "build" / cache, root / "build" / cache)
    return root


LISTED = {
    "self_attention": {"project_qkv": 0, "SelfAttention_v1": 2, "dot_product_variance": 1},
    "multi_head_attention": {"unroll_heads": 1},
}


def make_changed_course(root: Path) -> Path:
    """A copy of this course with the units, exercises and weights of LISTED, which is not built yet.

    The quiz of the first unit is over and has no points; the quiz of the second is left out.
    """
    copy_course_alone(root)
    settings = yaml.safe_load((root / "autograder.yml").read_text(encoding="utf-8"))
    (first, exercises), (second, others) = LISTED.items()
    given = settings["units"]
    quiz = {"due": datetime.datetime.fromisoformat(LONG_PAST), "quiz": 0}
    settings["units"] = {first: given[first] | quiz | {"exercises": exercises}}
    del given[second]["quiz"]
    settings["units"][second] = given[second] | {"exercises": others}
    (root / "autograder.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    return root


def leave_out_signatures(root: Path) -> None:
    """Keep the signatures of misconceptions from students: they take a minute, and only the copy can make its own."""
    settings = root / "autograder.yml"
    text = settings.read_text(encoding="utf-8")
    assert "before_due: misconception" in text
    settings.write_text(text.replace("before_due: misconception", "before_due: sentence"), encoding="utf-8")


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text in a file, which must have it."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def set_due(root: Path, due: str) -> None:
    """Give every unit of the course in `root` this due date, so that no test depends on the current day."""
    settings = root / "autograder.yml"
    text, count = re.subn(r"(?m)^( +due:) .*", rf"\1 {due}", settings.read_text(encoding="utf-8"))
    assert count
    settings.write_text(text, encoding="utf-8")


def make_small_course(root: Path) -> Path:
    for name, text in SMALL_COURSE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "exercises" / "checks").mkdir()
    return root


def graded(engine: Engine, submission: Submission) -> Result:
    """The engine's result for one submission."""
    [(_, result)] = engine.turns(1).all([submission])
    assert isinstance(result, Result), result
    return result


def hand_in(folder: Path, text: str, unit: str = "sums") -> Path:
    """Write a submission with one file."""
    folder.mkdir(parents=True)
    (folder / f"{unit}.py").write_text(text, encoding="utf-8")
    return folder


# Runs a program as on a system without seccomp and Landlock: a filter refuses the system calls that isolate a process
# (22 of prctl is PR_SET_SECCOMP).
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


def has_grader(root: Path) -> bool:
    return (root / "grader" / "engine").is_dir()


def environment(root: Path) -> dict[str, str]:
    """The environment in which `python -m grader` is the grader in `root`, or the one of these tests if it has none."""
    path = str(root if has_grader(root) else REPOSITORY)
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "160"}


def run_program(root: Path, *arguments: object, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Start the program on the course in `root`, as a user does; `prefix` is a command that runs another one."""
    command = [*prefix, *grader_command(*arguments)]
    return subprocess.run(command, cwd=root, env=environment(root), capture_output=True, text=True, check=False)


def run_grader(root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command on the course in `root`, in a forked process if the course has no other grader than this one."""
    if (has_grader(root) and root != REPOSITORY) or sys.platform != "linux":
        return run_program(root, *arguments)
    return run_forked(forks.COMMAND, *arguments, folder=root, environment=environment(root))


def run_forked(
    module: str, *arguments: object, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a module in a process that has imported torch already."""
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = {"stdin": nothing.fileno(), "stdout": out.fileno(), "stderr": err.fileno()}
        code = forks.fork(module, *arguments, environment=environment, folder=folder, streams=streams).wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*map(str, arguments)], code, out.read().decode(), err.read().decode())


def without_seconds(log: str) -> str:
    """Leave out of the log of a class how long each student took, and what was still in work."""
    return re.sub(r"(?m)^still .*\n?| in \d+ s(?= \(\d+ of \d+\)$)", "", log)


def read_reports(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
