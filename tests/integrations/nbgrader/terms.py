"""A course in nbgrader: runs nbgrader's commands as its participants, and reads the results."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import courses
from handed_in import grade_id, read_notebook, solved, text_of, write_notebook
from nbgrader.api import Gradebook, SubmittedNotebook

COURSE_ID = "attention_and_transformers_from_scratch"

# A notebook that was written only in part.
BROKEN = '{"cells": [{"cell_type": "code", "source": "def dot_pro'

_MARKS = """\
# %% nbgrader={{"grade": false, "grade_id": "{}", "locked": {}, "schema_version": 3, "solution": {}, "task": false}}"""
SMALL_SOURCE = f'''\
# %% [markdown]
# # Sums

{_MARKS.format("imports", "true", "false")}
import torch
from torch import nn

{_MARKS.format("add", "false", "true")}
def add(a, b):
    """Add."""
    # TODO: Add.
    ### BEGIN SOLUTION
    return a + b
    ### END SOLUTION

{_MARKS.format("Scale", "false", "true")}
class Scale(nn.Module):
    """Scale by a factor."""

    def __init__(self, factor):
        super().__init__()
        # TODO: Keep the factor.
        ### BEGIN SOLUTION
        self.factor = nn.Parameter(torch.tensor(float(factor)))
        ### END SOLUTION

    def forward(self, x):
        # TODO: Scale.
        ### BEGIN SOLUTION
        return self.factor * x
        ### END SOLUTION
'''
"""The unit of the small course, as a source for nbgrader."""

# Runs nbgrader's commands one after the other in one process, each with a working directory and a home.
COMMANDS = """\
import json, os, sys
from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp

for folder, home, arguments in json.load(sys.stdin):
    os.chdir(folder)
    os.environ["HOME"] = home
    print("$ nbgrader", *arguments, flush=True)
    app = NbGraderApp.instance()
    code = 0
    try:
        app.initialize(arguments)
        app.start()
    except NoStart:  # so the app says that it has run another one
        pass
    except SystemExit as stop:
        code = stop.code
    app.reset()
    NbGraderApp.clear_instance()
    print("exit", code, flush=True)
"""

Command = tuple[Path, Path, Sequence[str]]
"""The working directory, the home of the user, and nbgrader's arguments."""


def environment_of(root: Path, home: Path) -> dict[str, str]:
    """The environment with `grader` and `nbgrader`, the course in `root`, and only the settings in `home`."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "PYTHONPATH": courses.environment(root)["PYTHONPATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(root: Path, folder: Path, home: Path, *command: str, settings: Path | None = None) -> str:
    """Run a command that must succeed, and return its output; `settings` is the folder of settings for all accounts."""
    environment = environment_of(root, home)
    if settings:
        environment["JUPYTER_CONFIG_PATH"] = str(settings)
    return _finish(command, folder, environment, None)


def run_each(
    root: Path, commands: Iterable[Command], settings: Path, prefix: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """Return the output and exit code of each command; `prefix` is a command that runs another one."""
    listed = [(str(folder), str(home), list(arguments)) for folder, home, arguments in commands]
    environment = {**environment_of(root, root), "JUPYTER_CONFIG_PATH": str(settings)}
    printed = _finish([*prefix, sys.executable, "-c", COMMANDS], root, environment, json.dumps(listed))
    found = re.findall(r"(?s)(.*?)^exit (\d+)$", printed, re.MULTILINE)
    assert len(found) == len(listed), printed
    return [(text, int(code)) for text, code in found]


def _finish(command: Sequence[str], folder: Path, environment: dict[str, str], content: str | None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=content,
        stdin=subprocess.DEVNULL if content is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@dataclass(frozen=True)
class Term:
    """A small course in `root`, and nbgrader's folder in it. `log` is what the first autograde has printed."""

    root: Path
    log: str = ""

    @property
    def folder(self) -> Path:
        return self.root / "term"

    @property
    def source(self) -> Path:
        return self.folder / "source" / "sums" / "sums.ipynb"

    @property
    def suite(self) -> Path:
        """The hidden tests of an exercise of the unit."""
        [suite] = self.root.rglob("suites/sums/add.py")
        return suite

    def copied(self, root: Path) -> Term:
        """A copy for a test that changes it."""
        copy = Term(Path(shutil.copytree(self.root, root, symlinks=True)), self.log)
        settings = copy.folder / "nbgrader_config.py"
        settings.write_text(settings.read_text().replace(str(self.root), str(copy.root)))
        return copy

    def commands(self, *lines: str, prefix: Sequence[str] = ()) -> list[tuple[str, int]]:
        """Run commands of nbgrader in its folder; return the output and exit code of each."""
        return run_each(self.root, [(self.folder, self.root, shlex.split(line)) for line in lines], self.root, prefix)

    def nbgrader(self, *lines: str) -> str:
        """Run commands of nbgrader that must succeed, and return what they print."""
        ended = self.commands(*lines)
        log = "".join(text for text, _ in ended)
        assert not any(code for _, code in ended), log
        return log

    def refused(self, line: str) -> str:
        """Run a command of nbgrader that must fail with a sentence, and return what it prints."""
        [(log, code)] = self.commands(line)
        assert code == 1, log
        assert "Traceback" not in log
        return log

    def autograded(self, student: str, *, among: str = "autograded") -> list[dict[str, Any]]:
        """The cells of a student's graded notebook."""
        cells: list[dict[str, Any]] = read_notebook(self.folder / among / student / "sums" / "sums.ipynb")["cells"]
        return cells

    def outputs(self, student: str, name: str) -> list[dict[str, Any]]:
        """The outputs of a cell of a student's graded notebook: the feedback and the points."""
        [outputs] = [cell["outputs"] for cell in self.autograded(student) if grade_id(cell) == name]
        return outputs

    def text(self, student: str, name: str) -> str:
        return "".join(self.outputs(student, name)[0]["data"]["text/plain"])

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.folder}/gradebook.db", COURSE_ID)

    def scores(self, student: str, unit: str = "sums") -> dict[str, float]:
        """A student's score for each cell with points, by the course or by hand."""
        with self.gradebook() as gradebook:
            notebook: SubmittedNotebook = gradebook.find_submission_notebook(unit, unit, student)
            return {grade.name: grade.score for grade in notebook.grades}

    def enter(self, student: str, scores: Mapping[str, float]) -> None:
        """Enter scores, as in formgrader."""
        with self.gradebook() as gradebook:
            for name, score in scores.items():
                grade = gradebook.find_grade(name, "sums", "sums", student)
                grade.manual_score, grade.needs_manual_grade = score, False
            gradebook.db.commit()

    def table(self) -> dict[str, dict[str, str]]:
        """The rows that `nbgrader export` writes, by student."""
        self.nbgrader("export")
        return exported(self.folder / "grades.csv")


def make_small_term(root: Path, due: str = courses.LONG_PAST, rules: str = "") -> Term:
    """A small course with a due date and rules for late work, and nbgrader's folder in it with the released source."""
    courses.set_due(courses.make_small_course(root), due)
    courses.replace(root / "autograder.yml", "units:", f"{rules}units:")
    courses.replace(root / "autograder.yml", "after_due: points", "after_due: misconception")
    (root / "solutions" / "sums.py").write_text(SMALL_SOURCE, encoding="utf-8")
    for definition in ("def add", "class Scale"):
        courses.replace(root / "exercises" / "sums.py", f"\n{definition}", f"\n# %%\n{definition}")
    (root / "term").mkdir()
    run(root, root / "term", root, sys.executable, "-m", "grader", "release", "nbgrader", ".")
    return Term(root)


def hand_in_solved(term: Term, student: str, instead: Mapping[str, str]) -> Path:
    """Hand in the source's answers, with other texts in some cells. Return the student's folder."""
    source = read_notebook(term.source)
    notebook = solved(source, source)
    for cell in notebook["cells"]:
        cell["source"] = instead.get(grade_id(cell), text_of(cell))
    submission = term.folder / "submitted" / student / "sums"
    write_notebook(submission / "sums.ipynb", notebook)
    return submission


def exported(table: Path) -> dict[str, dict[str, str]]:
    """The rows of an exported table, by student."""
    with table.open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}
