"""Notebooks as dictionaries: their cells, and how they are filled in."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
Cell = dict[str, Any]


def read_notebook(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def write_notebook(path: Path, notebook: Notebook) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def text_of(cell: Cell) -> str:
    return "".join(cell["source"])


def grade_id(cell: Cell) -> str:
    """The name of a cell of the course; "" of all others."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def is_answer(cell: Cell) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))


def is_test(cell: Cell) -> bool:
    return bool(cell["metadata"].get("nbgrader", {}).get("grade"))


def solved(source: Notebook, release: Notebook) -> Notebook:
    """The released notebook with what its source has in the answer cells, quiz items included."""
    answers = {
        grade_id(cell): re.sub(r"(?m)^ *### (?:BEGIN|END) SOLUTION.*\n?", "", text_of(cell)).rstrip()
        for cell in source["cells"]
        if is_answer(cell)
    }
    notebook = copy.deepcopy(release)
    for cell in notebook["cells"]:
        cell["source"] = answers.get(grade_id(cell), text_of(cell))
    return notebook
