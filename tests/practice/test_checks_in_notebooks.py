"""`%check`, `%hint` and `%show` in a notebook, run by a real kernel: they check cells that were run, saved or not."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import processes
import pytest
from courses import REPOSITORY
from nbclient import NotebookClient
from notebooks import code, write_notebook

from grader.cli.magic import WIDTH

UNIT = "simple_attention"
RIGHT = "def normalize_by_sum(scores):\n    return scores / scores.sum()"
WRONG = "def normalize_by_sum(scores):\n    return scores / scores.abs().sum()"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the notebook of unit 3. The instructor's grader needs the course around it, so it is a link."""
    for name in ("autograder.yml", "solutions", "exercises", "grader"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    return tmp_path


def run(folder: Path, *cells: str) -> list[str]:
    """Run the cells of a notebook that nobody saves, and return the text that each prints, or its error."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources, allow_errors=True).execute()
    return ["".join(one.get("text") or one["evalue"] for one in cell.outputs) for cell in notebook.cells]


def test_the_last_version_of_each_cell_is_checked_whatever_else_was_tried(folder: Path) -> None:
    printed = run(
        folder,
        "import torch\n%load_ext grader",
        "%check normalize_by_sum",
        WRONG,
        "print('a trial')\nnormalize_by_sum('a slip')",
        "%check normalize_by_sum",
        RIGHT,
        "%check normalize_by_sum",
        "%check normalise_by_sum",
    )
    assert printed[1] == "Run the cell that defines `normalize_by_sum` first, then this one.\n"
    assert "✗\x1b[0m normalize_by_sum" in printed[4]
    assert "0 of 1 exercises pass" in printed[4]
    assert "raises" not in printed[4]
    assert "a trial" not in printed[4]
    assert "1 of 1 exercise passes the visible tests." in printed[6]
    assert printed[7].startswith("There is no exercise or unit 'normalise_by_sum'. ")


def test_hints_and_pictures_are_there_too_and_no_line_is_wider_than_a_cell(folder: Path) -> None:
    printed = run(
        folder,
        "%load_ext grader",
        f"import torch\n{WRONG}",
        "%check simple_attention",
        "%hint normalize_by_sum",
        "%hint normalize_by_sum",
        "%show normalize_by_sum",
        "%show decode",
        "%hint",
    )
    assert "Softmax turns scores, one list or a table of them, into weights" in printed[2]
    assert printed[4].startswith("\x1b[1mnormalize_by_sum: hint 2 of 3\x1b[0m\n")
    assert printed[4].endswith("For the next hint: %hint normalize_by_sum\n")
    assert "✗\x1b[0m normalize_by_sum" in printed[5]
    assert "numbers differ" in printed[5]
    assert printed[6].startswith("There is no picture of decode. In bigram_language_model there are pictures of ")
    assert printed[7] == "Write the name of an exercise or a unit: %hint NAME\n"
    lines = re.sub(r"\x1b\[[0-9;]*m", "", "".join(printed)).splitlines()
    assert max(map(len, lines)) == WIDTH


def test_an_error_names_the_cell_by_the_number_beside_it_and_one_engine_does_all_checks(folder: Path) -> None:
    check, children = "%check normalize_by_sum", "!ps -o pid= --ppid $$PPID"
    failing = "def normalize_by_sum(scores):\n    return torch.nothing(scores)"
    broken = "def normalize_by_sum(scores):\n    return scores / (scores.sum()"
    cells = (failing, check, "import torch", check, children, check, children, RIGHT, broken, check)
    _, _, lacking, _, failed, before, _, after, *_, last = run(folder, "%load_ext grader", *cells)
    assert lacking.startswith(f"{UNIT}.ipynb does not import torch: run the cell with the imports.\n")
    assert "no longer imports" not in lacking
    assert f"{UNIT}.ipynb, cell 2, line 2" in lacking
    assert f"{UNIT}.ipynb, cell 2, line 2" in failed
    assert f"{UNIT}.ipynb, cell 10, line 2: It is not valid Python" in last
    assert "0 of 1 exercises pass" in last
    assert "is used instead" not in last
    engine = set(before.split()) & set(after.split())
    assert engine
    processes.until_ended(list(map(int, engine)))


def test_a_notebook_imports_the_answers_of_another_one(folder: Path) -> None:
    trial = "print('tried')\nraise ValueError"
    write_notebook(
        folder / "causal_attention.ipynb", code("import torch"), code("class CausalAttention: n = 7"), code(trial)
    )
    printed = run(folder, "%load_ext grader", "from causal_attention import CausalAttention\nprint(CausalAttention.n)")
    assert printed == ["", "7\n"]
