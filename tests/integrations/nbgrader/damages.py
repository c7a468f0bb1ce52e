"""Notebooks as they come back: damaged, or changed to get points. One damage for each way of the code to read them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handed_in import Cell, Notebook, grade_id, is_answer, is_test, text_of
from notebooks import code
from terms import BROKEN

EXERCISES = ("add", "Scale")
EVERYTHING = ("everything",)
NOT_WRITTEN = 'def add(a, b):\n    """Add."""\n    # YOUR CODE HERE\n    raise NotImplementedError()\n'


@dataclass(frozen=True)
class Damage:
    """How a right notebook is damaged, what that costs, and what the feedback says about it.

    damage: changes the notebook in place, or returns what is written to the file instead.
    """

    damage: Callable[[Notebook], str | None]
    lost: tuple[str, ...]
    text: str


DAMAGES: dict[str, Damage] = {}


def costs(*lost: str, text: str = "") -> Callable[[Any], Any]:
    """Register a damage; `lost` are the exercises and quiz items that earn nothing, and the feedback has `text`."""

    def register(damage: Callable[[Notebook], str | None]) -> Callable[[Notebook], str | None]:
        DAMAGES[damage.__name__] = Damage(damage, lost, text)
        return damage

    return register


def at(notebook: Notebook, name: str) -> int:
    [position] = [number for number, cell in enumerate(notebook["cells"]) if grade_id(cell) == name]
    return position


def cell(notebook: Notebook, name: str) -> Cell:
    found: Cell = notebook["cells"][at(notebook, name)]
    return found


# -- cells that went, came and moved -----------------------------------------------------------------------------


@costs()
def undamaged(_: Notebook) -> None: ...


@costs("Scale", "quiz_even_sums", text="Scale is not defined.")
def answers_deleted(notebook: Notebook) -> None:
    del notebook["cells"][at(notebook, "Scale")]
    del notebook["cells"][at(notebook, "quiz_even_sums")]


@costs()
def split_between_two_methods(notebook: Notebook) -> None:
    """As by Jupyter's Split Cell: both halves keep the metadata."""
    position = at(notebook, "Scale")
    first = notebook["cells"][position]
    second = copy.deepcopy(first)
    above, method, below = text_of(first).partition("    def forward")
    first["source"], second["source"] = above, method + below
    notebook["cells"].insert(position + 1, second)


@costs()
def everything_in_one_cell_without_metadata(notebook: Notebook) -> None:
    text = "\n\n\n".join(text_of(one) for one in notebook["cells"] if grade_id(one) == "imports" or is_answer(one))
    notebook.clear()
    notebook["cells"] = [{"cell_type": "code", "source": text}]


@costs()
def reordered_with_cells_of_the_students_own(notebook: Notebook) -> None:
    imports = notebook["cells"].pop(at(notebook, "imports"))
    own = ["raise RuntimeError('this cell raises')", "this is no Python (", "", "await asyncio.sleep(0)"]
    notebook["cells"] = [imports, *map(code, own), *reversed(notebook["cells"])]


# -- cells that are no longer what they were ---------------------------------------------------------------------


@costs("add", text="not written")
def a_locked_test_changed_to_print_points(notebook: Notebook) -> None:
    cell(notebook, "add")["source"] = NOT_WRITTEN
    cell(notebook, "test_add")["source"] = "print('10')\n10"


@costs("add", text="not written")
def forged_results_and_points(notebook: Notebook) -> None:
    cell(notebook, "add")["source"] = NOT_WRITTEN
    for one in filter(is_test, notebook["cells"]):
        one["execution_count"] = 7
        one["outputs"] = [
            {"output_type": "execute_result", "data": {"text/plain": "100"}, "metadata": {}, "execution_count": 7}
        ]
        one["metadata"]["nbgrader"]["points"] = 100


@costs("add", text="not written")
def a_test_made_an_answer_and_the_answer_a_test(notebook: Notebook) -> None:
    cell(notebook, "add")["source"] = NOT_WRITTEN
    forged = {"grade": True, "solution": True, "locked": False, "points": 100, "schema_version": 3, "task": False}
    cell(notebook, "add")["metadata"]["nbgrader"].update(forged)
    cell(notebook, "test_add")["metadata"]["nbgrader"].update(forged)


@costs()
def grade_ids_swapped(notebook: Notebook) -> None:
    for names in (EXERCISES, ("quiz_even_sums", "quiz_is_larger")):
        first, second = (cell(notebook, name)["metadata"]["nbgrader"] for name in names)
        first["grade_id"], second["grade_id"] = second["grade_id"], first["grade_id"]


@costs()
def grade_ids_that_are_none(notebook: Notebook) -> None:
    for one, wrong in zip(filter(is_answer, notebook["cells"]), ("", None, 7, ["x"], "../..", "ä b"), strict=False):
        one["metadata"]["nbgrader"]["grade_id"] = wrong


@costs()
def answers_made_text_and_text_made_code(notebook: Notebook) -> None:
    for one in notebook["cells"]:
        if one["cell_type"] == "markdown":
            one.update(cell_type="code", outputs=[], execution_count=None)
        elif grade_id(one) in ("Scale", "quiz_even_sums", "test_add"):
            one["cell_type"] = "markdown"
            del one["outputs"], one["execution_count"]


@costs("quiz_order_of_terms", "quiz_even_sums", "quiz_is_larger", text="answer_")
def quiz_answers_that_cannot_be_read(notebook: Notebook) -> None:
    cell(notebook, "quiz_order_of_terms")["source"] = "answer_1 = open('/etc/passwd').read()"
    cell(notebook, "quiz_even_sums")["source"] = "answer_2 = ("
    cell(notebook, "quiz_is_larger")["source"] = "answer_3 = 'first the last one'"


@costs()
def metadata_of_another_kind(notebook: Notebook) -> None:
    notebook["metadata"] = []
    for number, one in enumerate(notebook["cells"]):
        if not is_answer(one):
            one["metadata"] = (None, [], "text", {"nbgrader": 1}, {"nbgrader": {"grade": "yes"}})[number % 5]
        if one["cell_type"] == "code":
            one["outputs"] = (None, {}, [1], [{"output_type": "odd"}], [{"output_type": "stream"}])[number % 5]


# -- files -------------------------------------------------------------------------------------------------------


@costs(*EVERYTHING, text="is a notebook that is cut off in line 1")
def cut_off(_: Notebook) -> str:
    return BROKEN


@costs(text="'sums/sums (1).ipynb' was graded as sums.ipynb")
def wrong_file_name(_: Notebook) -> None: ...


@costs()
def other_files_beside_it(_: Notebook) -> None: ...


@costs("Scale", "quiz")
def a_script(_: Notebook) -> None: ...


def hand_in_damaged(folder: Path, name: str, notebook: Notebook) -> None:
    """Write a damaged notebook to a student's new folder, even if not its content is damaged."""
    other = DAMAGES[name].damage(notebook)
    content = json.dumps(notebook) if other is None else other
    folder.mkdir(parents=True)
    path = folder / "sums.ipynb"
    match name:
        case "wrong_file_name":
            path.with_name("sums (1).ipynb").write_text(content, encoding="utf-8")
        case "a_script":
            path.with_suffix(".py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
        case _:
            path.write_text(content, encoding="utf-8")
    if name == "other_files_beside_it":
        (folder / "copy of it.ipynb").write_text(content, encoding="utf-8")
        (folder / "broken.ipynb").write_text("{", encoding="utf-8")
        (folder / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
        (folder / "data").mkdir()
