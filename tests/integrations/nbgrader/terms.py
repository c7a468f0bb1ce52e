"""A course in nbgrader and who takes part in it: nbgrader's own commands, and what they leave behind."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from handed_in import grade_id, read_notebook, solved, write_notebook
from nbgrader.api import Gradebook

COURSE_ID = "attention_and_transformers_from_scratch"
UNIT = "simple_attention"

# A notebook that was on its way to the disk as the power went.
BROKEN = '{"cells": [{"cell_type": "code", "source": "def dot_pro'

# Runs nbgrader's commands one after the other in one process: each in a folder, by someone with a home.
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
"""The folder to be in, the home of who runs it, and nbgrader's arguments."""


def environment_of(root: Path, home: Path) -> dict[str, str]:
    """In which `grader` and `nbgrader` are found, with the course in `root`, and no settings but those in `home`."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(root: Path, folder: Path, home: Path, *command: str, settings: Path | None = None) -> str:
    """Runs a command that has to succeed, and gives what it printed. settings: where those for all accounts are."""
    environment = environment_of(root, home)
    if settings:
        environment["JUPYTER_CONFIG_PATH"] = str(settings)
    return _finish(command, folder, environment, None)


def run_in_one_process(root: Path, commands: Iterable[Command], settings: Path) -> str:
    """Runs many of nbgrader's commands, which have to succeed, without starting it anew for each."""
    ended = run_each(root, commands, settings)
    assert all(code == 0 for _, code in ended), "\n".join(text for text, _ in ended)
    return "".join(text for text, _ in ended)


def run_each(
    root: Path, commands: Iterable[Command], settings: Path, prefix: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """What each of nbgrader's commands printed, and its exit code. prefix: a command that runs another one."""
    listed = [(str(folder), str(home), list(arguments)) for folder, home, arguments in commands]
    environment = {**environment_of(root, root), "JUPYTER_CONFIG_PATH": str(settings)}
    printed = _finish([*prefix, sys.executable, "-c", COMMANDS], root, environment, json.dumps(listed))
    found = re.findall(r"(?s)(.*?)^exit (\d+)$", printed, re.MULTILINE)
    assert len(found) == len(listed), printed
    return [(text, int(code)) for text, code in found]


def _finish(command: Sequence[str], folder: Path, environment: dict[str, str], told: str | None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=told,
        stdin=subprocess.DEVNULL if told is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def fill_in(notebook: Path, course: Path, mistakes: Mapping[str, str]) -> None:
    """Answers a notebook that was fetched as its source does, but for the cells with a mistake."""
    name = notebook.stem
    filled = solved(read_notebook(course / "source" / name / f"{name}.ipynb"), read_notebook(notebook))
    for cell in filled["cells"]:
        cell["source"] = mistakes.get(grade_id(cell), cell["source"])
    write_notebook(notebook, filled)


def scores_of(course: Path, student: str, unit: str = UNIT) -> dict[str, float]:
    """What the gradebook holds of a student: the score of each cell that has points."""
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
