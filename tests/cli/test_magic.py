"""Which cells of a notebook a check takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from courses import COURSE

from grader.cli.magic import NotebookCells

WRONG = "def add(a, b):\n    return a - b"
RIGHT = "def add(a, b):\n    return a + b"


def test_the_last_version_of_a_definition_counts_at_its_place_and_no_trial_or_cell_that_failed() -> None:
    sources = ["", "import torch", WRONG, "add(1, 2)", RIGHT, "x = nothing", f"{WRONG})"]
    failed = (5, 6)
    noted: list[Any] = []
    events = SimpleNamespace(register=lambda _, function: noted.append(function))
    cells = NotebookCells(
        SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=sources), events=events), COURSE
    )
    [note] = noted
    for number, source in enumerate(sources):
        info = SimpleNamespace(raw_cell=source)
        note(SimpleNamespace(success=number not in failed, info=info, execution_count=number))
    # What is not Python counts if it was to define something: the check says so.
    assert cells.cells() == ("import torch", "", "", "", "", f"{WRONG})")
    sources.pop()
    assert cells.cells() == ("import torch", "", "", RIGHT, "")
