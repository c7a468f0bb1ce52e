"""A course in nbgrader: runs nbgrader's commands as its participants, and reads the results."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import courses
from handed_in import grade_id, read_notebook, solved, text_of, write_notebook
from nbgrader.api import Gradebook

COURSE_ID = "attention_and_transformers_from_scratch"
UNIT = "simple_attention"

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
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def make_small_term(root: Path, due: str = courses.LONG_TO_COME, rules: str = "") -> Path:
    """A small course with a due date and rules for late work, and nbgrader's folder in it with the released source."""
    courses.set_due(courses.make_small_course(root), due)
    file = root / "autograder.yml"
    file.write_text(file.read_text(encoding="utf-8").replace("units:", f"{rules}units:"), encoding="utf-8")
    (root / "solutions" / "sums.py").write_text(SMALL_SOURCE, encoding="utf-8")
    folder = root / "term"
    folder.mkdir()
    run(root, folder, root, sys.executable, "-m", "grader", "release", "nbgrader", ".")
    return folder


def hand_in_solved(folder: Path, student: str, instead: Mapping[str, str]) -> Path:
    """Hand in the source's answers in the small term, with other texts in some cells. Return the student's folder."""
    source = read_notebook(folder / "source" / "sums" / "sums.ipynb")
    notebook = solved(source, source)
    for cell in notebook["cells"]:
        cell["source"] = instead.get(grade_id(cell), text_of(cell))
    submission = folder / "submitted" / student / "sums"
    write_notebook(submission / "sums.ipynb", notebook)
    return submission


def run(root: Path, folder: Path, home: Path, *command: str, settings: Path | None = None) -> str:
    """Run a command that must succeed, and return its output; `settings` is the folder of settings for all accounts."""
    environment = environment_of(root, home)
    if settings:
        environment["JUPYTER_CONFIG_PATH"] = str(settings)
    return _finish(command, folder, environment, None)


def run_in_one_process(root: Path, commands: Iterable[Command], settings: Path) -> str:
    """Run many of nbgrader's commands, which must succeed, in one process."""
    ended = run_each(root, commands, settings)
    assert all(code == 0 for _, code in ended), "\n".join(text for text, _ in ended)
    return "".join(text for text, _ in ended)


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


def fill_in(notebook: Path, course: Path, mistakes: Mapping[str, str]) -> None:
    """Fill in a fetched notebook with the answers of its source, except for the cells with a mistake."""
    name = notebook.stem
    filled = solved(read_notebook(course / "source" / name / f"{name}.ipynb"), read_notebook(notebook))
    for cell in filled["cells"]:
        cell["source"] = mistakes.get(grade_id(cell), cell["source"])
    write_notebook(notebook, filled)


def scores_of(course: Path, student: str, unit: str = UNIT) -> dict[str, float]:
    """Return a student's score for each cell with points in the gradebook."""
    with Gradebook(f"sqlite:///{course}/gradebook.db", COURSE_ID) as gradebook:
        notebook = gradebook.find_submission_notebook(unit, unit, student)
        return {grade.name: grade.score for grade in notebook.grades}


def exported(table: Path) -> dict[str, dict[str, str]]:
    """The rows of an exported table, by student."""
    with table.open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def feedback_in(folder: Path) -> list[str]:
    """The pages of feedback that a student fetched, the oldest first."""
    pages = sorted((folder / UNIT / "feedback").glob(f"*/{UNIT}.html"))
    return [page.read_text(encoding="utf-8") for page in pages]
