"""Notebooks as they come back: damaged in every way. What is right earns its points, the rest zero and a sentence.

Each damage is a student, who had everything right before it. One run of nbgrader grades them all.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import courses
import nbformat
import pytest
from handed_in import Cell, Notebook, code_cell, grade_id, is_answer, is_test, read_notebook, solved, text_of
from nbgrader.api import Gradebook
from terms import COURSE_ID, run_in_one_process

pytestmark = pytest.mark.proof(part="nbgrader")

UNITS = ("simple_attention", "self_attention")
EVERYTHING = ("everything",)


@dataclass(frozen=True)
class Damage:
    """How a notebook is damaged, what that costs, and what the feedback says about it.

    damage: changes the notebook in place, or returns what is written to the file instead.
    """

    unit: str
    damage: Callable[[Notebook], Any]
    lost: tuple[str, ...]
    text: str


DAMAGES: dict[str, Damage] = {}


def costs(*lost: str, text: str = "", unit: str = "simple_attention") -> Callable[[Any], Any]:
    """Register a damage; `lost` are the exercises and quiz items that earn nothing, and the page has `text`."""

    def register(damage: Callable[[Notebook], Any]) -> Callable[[Notebook], Any]:
        DAMAGES[damage.__name__] = Damage(unit, damage, lost, text)
        return damage

    return register


def at(notebook: Notebook, name: str) -> int:
    [position] = [number for number, cell in enumerate(notebook["cells"]) if grade_id(cell) == name]
    return position


def cell(notebook: Notebook, name: str) -> Cell:
    found: Cell = notebook["cells"][at(notebook, name)]
    return found


def stub(answer: str) -> str:
    """The released stub of an answer."""
    todo = answer.index("\n", answer.index("# TODO"))
    return f"{answer[:todo]}\n    # YOUR CODE HERE\n    raise NotImplementedError()"


def unwritten(notebook: Notebook, name: str) -> None:
    cell(notebook, name)["source"] = stub(text_of(cell(notebook, name)))


def split(notebook: Notebook, name: str, where: str) -> None:
    """Jupyter's Split Cell, at the line that begins with `where`. Both halves keep the metadata."""
    position = at(notebook, name)
    first = notebook["cells"][position]
    second = copy.deepcopy(first)
    lines = text_of(first).splitlines(keepends=True)
    line = next(number for number, text in enumerate(lines) if text.strip().startswith(where))
    first["source"], second["source"] = "".join(lines[:line]), "".join(lines[line:])
    notebook["cells"].insert(position + 1, second)


def as_bytes(notebook: Notebook) -> bytes:
    return json.dumps(notebook).encode()


# -- cells that went, came and moved -----------------------------------------------------------------------------


@costs()
def nothing(_: Notebook) -> None: ...


@costs("softmax_stable", text="softmax_stable")
def answer_cell_deleted(notebook: Notebook) -> None:
    del notebook["cells"][at(notebook, "softmax_stable")]


@costs("quiz_most_to_itself", text="answer_3")
def quiz_cell_deleted(notebook: Notebook) -> None:
    del notebook["cells"][at(notebook, "quiz_most_to_itself")]


@costs()
def imports_deleted(notebook: Notebook) -> None:
    del notebook["cells"][at(notebook, "imports")]


@costs()
def deleted_tests(notebook: Notebook) -> None:
    notebook["cells"] = [one for one in notebook["cells"] if not is_test(one)]


@costs()
def all_but_the_answers_deleted(notebook: Notebook) -> None:
    notebook["cells"] = [one for one in notebook["cells"] if is_answer(one) or grade_id(one) == "imports"]


@costs()
def answer_with_a_stub_below(notebook: Notebook) -> None:
    position = at(notebook, "dot_product")
    notebook["cells"].insert(position + 1, copy.deepcopy(notebook["cells"][position]))
    notebook["cells"][position + 1]["source"] = stub(text_of(notebook["cells"][position]))


@costs()
def stub_with_the_answer_below(notebook: Notebook) -> None:
    position = at(notebook, "dot_product")
    notebook["cells"].insert(position, copy.deepcopy(notebook["cells"][position]))
    notebook["cells"][position]["source"] = stub(text_of(notebook["cells"][position]))


@costs()
def split_inside_a_function(notebook: Notebook) -> None:
    split(notebook, "softmax_naive", "return")


@costs(unit="self_attention")
def split_between_two_methods(notebook: Notebook) -> None:
    split(notebook, "SelfAttention_v1", "def forward")


@costs()
def every_cell_split_above_its_definition(notebook: Notebook) -> None:
    cells = []
    for one in notebook["cells"]:
        if is_answer(one):
            cells.append({**code_cell("# my answer"), "metadata": one["metadata"]})
            one = code_cell(text_of(one))
        cells.append(one)
    notebook["cells"] = cells


@costs()
def two_merged(notebook: Notebook) -> None:
    second = notebook["cells"].pop(at(notebook, "attention_scores"))
    cell(notebook, "dot_product")["source"] += "\n\n\n" + text_of(second)


@costs()
def everything_in_one_cell(notebook: Notebook) -> None:
    code = [text_of(one) for one in notebook["cells"] if grade_id(one) == "imports" or is_answer(one)]
    notebook["cells"] = [code_cell("\n\n\n".join(code))]


@costs()
def all_reordered(notebook: Notebook) -> None:
    imports = notebook["cells"].pop(at(notebook, "imports"))
    notebook["cells"] = [imports, *reversed(notebook["cells"])]


@costs()
def cells_added(notebook: Notebook) -> None:
    added = ["raise RuntimeError('this cell raises')", "this is no Python (", "x = 1", ""]
    for position, text in enumerate(added):
        notebook["cells"].insert(3 * position + 3, code_cell(text))
    notebook["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": "# My notebook"})
    notebook["cells"].insert(0, {"cell_type": "raw", "metadata": {}, "source": "raw"})


# -- cells that are no longer what they were ---------------------------------------------------------------------


@costs()
def an_import_added_to_the_locked_ones(notebook: Notebook) -> None:
    cell(notebook, "imports")["source"] = text_of(cell(notebook, "imports")) + "\nimport math"
    answer = cell(notebook, "softmax_naive")
    answer["source"] = text_of(answer).replace("    # TODO", "    assert math.pi > 3\n    # TODO")


@costs("dot_product", text="not written")
def a_locked_test_changed_to_print_points(notebook: Notebook) -> None:
    unwritten(notebook, "dot_product")
    cell(notebook, "test_dot_product")["source"] = "print('10')\n10"


@costs("dot_product", text="not written")
def forged_results_and_points(notebook: Notebook) -> None:
    unwritten(notebook, "dot_product")
    for one in filter(is_test, notebook["cells"]):
        one["execution_count"] = 7
        one["outputs"] = [
            {"output_type": "execute_result", "data": {"text/plain": "100"}, "metadata": {}, "execution_count": 7}
        ]
        one["metadata"]["nbgrader"]["points"] = 100


@costs("dot_product", text="not written")
def a_test_made_an_answer_and_the_answer_a_test(notebook: Notebook) -> None:
    unwritten(notebook, "dot_product")
    forged = {"grade": True, "solution": True, "locked": False, "points": 100, "schema_version": 3, "task": False}
    cell(notebook, "dot_product")["metadata"]["nbgrader"].update(forged)
    cell(notebook, "test_dot_product")["metadata"]["nbgrader"].update(forged)


@costs()
def a_grade_id_changed(notebook: Notebook) -> None:
    cell(notebook, "dot_product")["metadata"]["nbgrader"]["grade_id"] = "my_own_name"
    cell(notebook, "quiz_two_banks")["metadata"]["nbgrader"]["grade_id"] = "cell-0123456789abcdef"


@costs()
def grade_ids_swapped(notebook: Notebook) -> None:
    names = ("softmax_naive", "softmax_stable")
    first, second = (cell(notebook, name)["metadata"]["nbgrader"] for name in names)
    first["grade_id"], second["grade_id"] = second["grade_id"], first["grade_id"]


@costs()
def grade_ids_of_quizzes_swapped(notebook: Notebook) -> None:
    names = ("quiz_two_banks", "quiz_most_to_itself")
    first, second = (cell(notebook, name)["metadata"]["nbgrader"] for name in names)
    first["grade_id"], second["grade_id"] = second["grade_id"], first["grade_id"]


@costs()
def one_grade_id_for_all(notebook: Notebook) -> None:
    for one in filter(is_answer, notebook["cells"]):
        one["metadata"]["nbgrader"]["grade_id"] = "dot_product"


@costs()
def grade_ids_that_are_none(notebook: Notebook) -> None:
    for one, wrong in zip(filter(is_answer, notebook["cells"]), ("", None, 7, ["x"], "../..", "ä b"), strict=False):
        one["metadata"]["nbgrader"]["grade_id"] = wrong


@costs()
def answers_made_text(notebook: Notebook) -> None:
    for name in ("context_vector", "quiz_two_banks"):
        one = cell(notebook, name)
        one["cell_type"] = "markdown"
        del one["outputs"], one["execution_count"]


@costs()
def text_made_code_and_tests_made_text(notebook: Notebook) -> None:
    for one in notebook["cells"]:
        if is_test(one):
            one["cell_type"] = "raw"
            del one["outputs"], one["execution_count"]
        elif one["cell_type"] == "markdown":
            one.update(cell_type="code", outputs=[], execution_count=None)


@costs("softmax_stable")
def a_syntax_error(notebook: Notebook) -> None:
    answer = cell(notebook, "softmax_stable")
    answer["source"] = text_of(answer).replace("return", "return (", 1)


@costs("quiz_two_banks", "quiz_most_to_itself", "quiz_smallest_weight_first", text="answer_")
def quiz_answers_that_cannot_be_read(notebook: Notebook) -> None:
    cell(notebook, "quiz_two_banks")["source"] = "answer_1 = open('/etc/passwd').read()"
    cell(notebook, "quiz_most_to_itself")["source"] = "answer_3 = ("
    cell(notebook, "quiz_smallest_weight_first")["source"] = "answer_2 = 'first the last one'"


# -- what only a notebook can say --------------------------------------------------------------------------------


@costs()
def magics_and_shell_commands(notebook: Notebook) -> None:
    imports, answer = cell(notebook, "imports"), cell(notebook, "dot_product")
    imports["source"] = "%matplotlib inline\n!pip install x\n" + text_of(imports) + "\n?torch"
    answer["source"] = "%%time\n" + text_of(answer) + "\n\ndot_product([1], [2])"
    notebook["cells"].insert(3, code_cell("%%bash\nrm -rf /"))
    notebook["cells"].insert(3, code_cell("files = !ls\n%timeit 1 + 1\ntorch.softmax?"))


@costs()
def await_at_the_top(notebook: Notebook) -> None:
    imports = cell(notebook, "imports")
    imports["source"] = text_of(imports) + "\nimport asyncio\nawait asyncio.sleep(0)"
    notebook["cells"].insert(4, code_cell("await asyncio.sleep(0)\nasync with x as y:\n    pass"))


# -- files -------------------------------------------------------------------------------------------------------


@costs()
def outputs_of_fifty_megabytes(notebook: Notebook) -> None:
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 25 * 2**20}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["a line of text\n"] * (25 * 2**20 // 20)}
    cell(notebook, "dot_product")["outputs"] = [picture, printed]


@costs()
def saved_by_colab(notebook: Notebook) -> None:
    notebook["nbformat_minor"] = 0
    notebook["metadata"] = {
        "colab": {"provenance": [], "toc_visible": True},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
        "accelerator": "GPU",
    }
    for number, one in enumerate(notebook["cells"]):
        one.pop("id", None)
        one["metadata"].update({"id": f"x{number}", "colab": {"base_uri": "https://localhost:8080/"}})


@costs()
def saved_by_vscode(notebook: Notebook) -> None:
    notebook["metadata"] = {"language_info": {"name": "python"}, "orig_nbformat": 4}
    for one in notebook["cells"]:
        one["metadata"]["vscode"] = {"languageId": "python"}
        one["source"] = text_of(one).splitlines(keepends=True)


@costs()
def saved_by_jupyterlab(notebook: Notebook) -> None:
    notebook["nbformat_minor"] = 5
    notebook["metadata"]["toc-autonumbering"] = False
    for one in notebook["cells"]:
        one["metadata"].update({"tags": ["mine"], "editable": True, "jupyter": {"source_hidden": False}})
        if one["cell_type"] == "code":
            one["metadata"]["execution"] = {"iopub.execute_input": "2027-01-01T00:00:00Z"}
            one["execution_count"] = 3


def of_minor_version(minor: int) -> None:
    def damage(notebook: Notebook) -> None:
        notebook["nbformat_minor"] = minor
        for number, one in enumerate(notebook["cells"]):
            one.pop("id", None)
            if minor == 5:
                one["id"] = f"cell-{number}"

    damage.__name__ = f"nbformat_4_{minor}"
    costs()(damage)


for minor_version in range(6):
    of_minor_version(minor_version)


@costs()
def nbformat_3(notebook: Notebook) -> bytes:
    old = nbformat.convert(nbformat.from_dict(copy.deepcopy(notebook)), 3)
    return json.dumps(old).encode()


@costs()
def nbformat_of_the_future(notebook: Notebook) -> None:
    notebook["nbformat"], notebook["nbformat_minor"] = 5, 9
    notebook["cells"].append({"cell_type": "poem", "metadata": {}, "source": "unknown"})


@costs()
def all_ids_the_same(notebook: Notebook) -> None:
    for one in notebook["cells"]:
        one["id"] = "same"


@costs()
def all_metadata_gone(notebook: Notebook) -> None:
    for key in ("metadata", "nbformat", "nbformat_minor"):
        del notebook[key]
    for one in notebook["cells"]:
        del one["metadata"]
        one.pop("id", None)


@costs("dot_product")
def cells_that_are_none(notebook: Notebook) -> None:
    cell(notebook, "dot_product")["source"] = 7
    notebook["cells"] += [None, 5, [], {}, {"cell_type": "code"}, {"cell_type": "markdown", "source": None}]


@costs()
def metadata_of_another_kind(notebook: Notebook) -> None:
    notebook["metadata"] = []
    for number, one in enumerate(notebook["cells"]):
        if not is_answer(one):
            one["metadata"] = (None, [], "text", {"nbgrader": 1}, {"nbgrader": {"grade": "yes"}})[number % 5]
        if one["cell_type"] == "code":
            one["outputs"] = (None, {}, [1], [{"output_type": "odd"}], [{"output_type": "stream"}])[number % 5]


@costs()
def windows_line_ends_and_a_mark_of_order(notebook: Notebook) -> bytes:
    for one in notebook["cells"]:
        one["source"] = text_of(one).replace("\n", "\r\n")
    return b"\xef\xbb\xbf" + as_bytes(notebook).replace(b"\n", b"\r\n")


@costs()
def not_a_number_in_metadata(notebook: Notebook) -> None:
    notebook["metadata"]["numbers"] = [float("nan"), float("inf"), 10**400]


@costs(*EVERYTHING, text="is a notebook that is cut off in line 1")
def not_json(notebook: Notebook) -> bytes:
    return as_bytes(notebook)[:-100]


@costs(*EVERYTHING, text="simple_attention.ipynb")
def another_file_renamed(_: Notebook) -> bytes:
    return b"PK\x03\x04\x00\x00\xff\xfe\x00"


@costs(*EVERYTHING, text="simple_attention.ipynb")
def empty_file(_: Notebook) -> bytes:
    return b""


@costs(*EVERYTHING, text="no cells")
def a_list(_: Notebook) -> bytes:
    return b"[]"


@costs(*EVERYTHING, text="simple_attention.ipynb")
def nested_without_end(_: Notebook) -> bytes:
    return b'{"cells": ' + b"[" * 200_000


@costs(*EVERYTHING, text="no code")
def no_cells_left(notebook: Notebook) -> None:
    notebook["cells"] = []


@costs(text="'simple_attention (1).ipynb' was graded as simple_attention.ipynb")
def wrong_file_name(_: Notebook) -> None: ...


@costs(*EVERYTHING, text="simple_attention.ipynb")
def folder_in_the_place_of_the_file(_: Notebook) -> None: ...


@costs(*EVERYTHING, text="simple_attention.ipynb")
def a_link(_: Notebook) -> None: ...


@costs()
def other_files_beside_it(_: Notebook) -> None: ...


def put(folder: Path, name: str, damage: Damage, content: bytes) -> None:
    """Write the damaged notebook to a student's folder, even if not its content is damaged."""
    folder.mkdir(parents=True)
    path = folder / f"{damage.unit}.ipynb"
    match name:
        case "wrong_file_name":
            (folder / f"{damage.unit} (1).ipynb").write_bytes(content)
        case "folder_in_the_place_of_the_file":
            path.mkdir()
            (path / "notebook.ipynb").write_bytes(content)
        case "a_link":
            path.symlink_to("/etc/hostname")
        case _:
            path.write_bytes(content)
    if name == "other_files_beside_it":
        (folder / "copy of it.ipynb").write_bytes(content)
        (folder / "broken.ipynb").write_bytes(b"{")
        (folder / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
        (folder / "data").mkdir()


# -- one run over all of them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Graded:
    """The gradebook: the score of each exercise and quiz item by student, and the maximum scores."""

    root: Path
    course: Path
    scores: dict[str, dict[str, float]]
    possible: dict[str, dict[str, float]]
    manual: list[str]
    before: dict[str, str]


def digests(submitted: Path) -> dict[str, str]:
    """The digest of every file, and everything else in the folder."""
    return {
        str(path.relative_to(submitted)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
        for path in sorted(submitted.rglob("*"))
    }


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    base = tmp_path_factory.mktemp("damage")
    root = courses.copy_course(base / "course")
    courses.set_due(root, courses.LONG_PAST)  # so that quizzes count
    course = base / "nbgrader"
    made = courses.run_grader(root, "release", "nbgrader", course)
    assert made.returncode == 0, made.stderr
    run_in_one_process(root, [(course, root, ["generate_assignment", unit]) for unit in UNITS], root)
    for unit in UNITS:
        notebooks = (read_notebook(course / kind / unit / f"{unit}.ipynb") for kind in ("source", "release"))
        right = solved(*notebooks)
        for name, damage in DAMAGES.items():
            if damage.unit == unit:
                notebook = copy.deepcopy(right)
                other = damage.damage(notebook)
                put(course / "submitted" / name / unit, name, damage, as_bytes(notebook) if other is None else other)
    before = digests(course / "submitted")
    run_in_one_process(root, [(course, root, ["autograde", unit]) for unit in UNITS], root)
    run_in_one_process(root, [(course, root, ["generate_feedback", unit]) for unit in UNITS], root)
    scores: dict[str, dict[str, float]] = {}
    possible: dict[str, dict[str, float]] = {}
    manual = []
    with Gradebook(f"sqlite:///{course}/gradebook.db", COURSE_ID) as gradebook:
        for unit in UNITS:
            cells = gradebook.find_notebook(unit, unit).grade_cells
            possible[unit] = {one.name.removeprefix("test_"): one.max_score for one in cells}
            for submission in gradebook.assignment_submissions(unit):
                grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
                scores[submission.student.id] = {grade.name.removeprefix("test_"): grade.score for grade in grades}
                if submission.needs_manual_grade:
                    manual.append(submission.student.id)
    return Graded(root, course, scores, possible, manual, before)


def test_every_damaged_notebook_gets_a_grade(graded: Graded) -> None:
    assert sorted(graded.scores) == sorted(DAMAGES)
    assert graded.manual == []


@pytest.mark.parametrize("name", DAMAGES)
def test_right_answers_earn_points_and_the_rest_is_zero(graded: Graded, name: str) -> None:
    damage = DAMAGES[name]
    possible = graded.possible[damage.unit]
    lost = possible if damage.lost == EVERYTHING else damage.lost
    assert graded.scores[name] == {cell: 0 if cell in lost else points for cell, points in possible.items()}


def test_grader_grade_gives_the_same_points(graded: Graded, tmp_path: Path) -> None:
    run = courses.run_grader(graded.root, "grade", graded.course / "submitted", "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    reports = courses.read_reports(tmp_path)
    for name, damage in DAMAGES.items():
        unit = reports[name]["units"][damage.unit]
        points = {exercise: found["points"] for exercise, found in unit["exercises"].items()}
        points |= {f"quiz_{item}": found["points"] for item, found in unit["quiz"]["items"].items()}
        assert points == graded.scores[name], name


@pytest.mark.parametrize("name", [name for name, damage in DAMAGES.items() if damage.lost])
def test_lost_points_are_explained(graded: Graded, name: str) -> None:
    damage = DAMAGES[name]
    page = (graded.course / "feedback" / name / damage.unit / f"{damage.unit}.html").read_text(encoding="utf-8")
    assert damage.text in page
    notebook = nbformat.read(graded.course / "autograded" / name / damage.unit / f"{damage.unit}.ipynb", as_version=4)
    for one in notebook.cells:
        if is_test(one) and graded.scores[name][grade_id(one).removeprefix("test_")] == 0:
            texts = [output["data"]["text/plain"] for output in one.outputs if output.output_type == "display_data"]
            assert any(text.rstrip().endswith(".") for text in texts), texts


@pytest.mark.parametrize("name", DAMAGES)
def test_the_graded_notebook_has_every_cell_of_the_course_once(graded: Graded, name: str) -> None:
    unit = DAMAGES[name].unit
    release = nbformat.read(graded.course / "release" / unit / f"{unit}.ipynb", as_version=4)
    graded_notebook = nbformat.read(graded.course / "autograded" / name / unit / f"{unit}.ipynb", as_version=4)
    ours = [grade_id(one) for one in graded_notebook.cells if grade_id(one)]
    assert sorted(ours) == sorted(grade_id(one) for one in release.cells if grade_id(one))
    for one in filter(is_test, graded_notebook.cells):
        [result] = [output for output in one.outputs if output.output_type == "execute_result"]
        assert result["data"] == {"text/plain": f"{graded.scores[name][grade_id(one).removeprefix('test_')]:g}"}


def test_the_submitted_files_are_unchanged(graded: Graded) -> None:
    assert digests(graded.course / "submitted") == graded.before
