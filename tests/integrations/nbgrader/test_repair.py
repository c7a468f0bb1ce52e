"""Repaired notebooks: the student's work is found, whatever happened to the notebook."""

from __future__ import annotations

import copy
import itertools
import random
import re
from collections.abc import Sequence
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_locked, is_solution
from small_course import SmallCourse, answer, marked

from grader.integrations.nbgrader.repair import repair

ADD = "def add(a, b):\n    return a + b"
SCALE = "class Scale:\n    factor = 3"
OWN = "print('a cell of my own')"


@pytest.fixture(scope="module")
def release(course: SmallCourse) -> list[NotebookNode]:
    cells: list[NotebookNode] = course.release.cells
    return cells


@pytest.fixture
def cells(release: list[NotebookNode]) -> list[NotebookNode]:
    """The cells of a student who answered `add` and `Scale`."""
    cells = copy.deepcopy(release)
    cell(cells, "add").source = ADD
    cell(cells, "Scale").source = SCALE
    return cells


def code(source: str) -> NotebookNode:
    return nbformat.v4.new_code_cell(source)


def prose(source: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source)


def at(cells: Sequence[NotebookNode], grade_id: str) -> int:
    [number] = [number for number, cell in enumerate(cells) if name_of(cell) == grade_id]
    return number


def cell(cells: Sequence[NotebookNode], grade_id: str) -> NotebookNode:
    return cells[at(cells, grade_id)]


def name_of(cell: NotebookNode) -> Any:
    marks = cell["metadata"].get("nbgrader")
    return marks.get("grade_id") if isinstance(marks, dict) else None


def stub(release: Sequence[NotebookNode], grade_id: str) -> str:
    source: str = cell(release, grade_id).source
    return source


def outline(cells: Sequence[NotebookNode]) -> list[str]:
    """The names of the marked cells, and the sources of the others."""
    return [name_of(cell) or cell.source for cell in cells]


def without_marks(cells: Sequence[NotebookNode]) -> list[NotebookNode]:
    bare = copy.deepcopy(list(cells))
    for one in bare:
        one.metadata = {}
    return bare


# -- what is there -----------------------------------------------------------------------------------------------


@pytest.mark.proof(part="nbgrader")
def test_an_undamaged_notebook_is_unchanged(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    assert repair(cells, release) == cells


def test_an_empty_notebook_becomes_the_marked_cells_of_the_release(release: list[NotebookNode]) -> None:
    assert repair([], release) == [cell for cell in release if "nbgrader" in cell.metadata]


def test_deleted_cells_come_back_in_their_places(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    gone = {"imports", "Scale", "test_Scale", "from_other", "given"}
    kept = [one for one in cells if name_of(one) not in gone]
    repaired = repair(kept, release)
    assert outline(repaired) == outline(release)
    assert cell(repaired, "Scale").source == stub(release, "Scale")


def test_without_any_metadata_answers_are_found_by_the_names_that_they_define(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    repaired = repair(without_marks(cells), release)
    assert outline(repaired)[: at(cells, "essay")] == outline(release)[: at(cells, "essay")]
    assert cell(repaired, "add").source == ADD
    assert cell(repaired, "Scale").source == SCALE


@pytest.mark.parametrize(
    "written",
    [
        "async def add(a, b): ...",
        "add = lambda a, b: a + b",
        "add: object = torch.add",
        "import torch\n\ndef add(a, b): return torch.add(a, b)",
        "%%time\ndef add(a, b):\n    return (",
        "from operator import sub as minus, add  # quicker",
    ],
)
def test_a_name_is_found_however_it_is_defined(written: str, release: list[NotebookNode]) -> None:
    assert cell(repair([code(written)], release), "add").source == written


@pytest.mark.parametrize(
    "written",
    [*map(code, ["add == 3", "    def add(a, b): ...", "add(1, 2)", "adder = 3"]), prose("add = a + b")],
    ids=lambda written: written.source,
)
def test_using_a_name_does_not_define_it(written: NotebookNode, release: list[NotebookNode]) -> None:
    repaired = repair([written], release)
    assert cell(repaired, "add").source == stub(release, "add")
    assert written.source in outline(repaired)


def test_swapped_grade_ids_do_not_swap_the_answers(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    one, other = cell(cells, "add"), cell(cells, "Scale")
    one.metadata, other.metadata = other.metadata, one.metadata
    repaired = repair(cells, release)
    assert cell(repaired, "add").source == ADD
    assert cell(repaired, "Scale").source == SCALE
    assert outline(repaired) == outline(release)


def test_a_cell_without_the_name_is_found_by_its_grade_id(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "add").source = "if True:\n    def add(a, b): ..."
    assert cell(repair(cells, release), "add").source == "if True:\n    def add(a, b): ..."


def test_of_two_cells_the_edited_one_counts(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    cells.append(copy.deepcopy(cell(release, "add")))
    repaired = repair(cells, release)
    assert cell(repaired, "add").source == ADD
    assert outline(repaired) == outline(release)


def test_of_two_edited_cells_the_last_counts_and_the_other_is_kept(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    first = "def add(a, b):\n    return b"
    cells.insert(at(cells, "add"), marked("add", first, solution=True))
    repaired = repair(cells, release)
    assert cell(repaired, "add").source == ADD
    assert outline(repaired)[at(repaired, "add") - 1] == first


def test_of_two_edited_cells_the_one_with_the_grade_id_counts(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "Scale").source = f"def add(a, b): ...  # so that this cell runs alone\n\n{SCALE}"
    repaired = repair(cells, release)
    assert cell(repaired, "add").source == ADD
    assert outline(repaired) == outline(release)


def test_other_definitions_of_a_stub_do_not_identify_an_answer() -> None:
    release = [answer("add", "LIMIT = 3\n\ndef add(a, b):\n    raise NotImplementedError()")]
    repaired = repair([code(ADD), code("LIMIT = 5")], release)
    assert [one.source for one in repaired] == [ADD, "LIMIT = 5"]


def test_an_answer_in_a_new_cell_replaces_the_unchanged_stub(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "add").source = stub(release, "add")
    repaired = repair([*cells, code(ADD)], release)
    assert cell(repaired, "add").source == ADD
    assert outline(repaired)[-2:] == ["add", "test_add"]


def test_of_a_cell_that_was_split_the_part_with_the_name_counts(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    here = at(cells, "Scale")
    cells.insert(here + 1, marked("Scale", "    def double(self): ...", solution=True))
    repaired = repair(cells, release)
    assert cell(repaired, "Scale").source == SCALE
    assert "    def double(self): ..." in outline(repaired)


def test_of_merged_cells_the_second_says_where_its_answer_is(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "add").source = f"{ADD}\n\n{SCALE}"
    del cells[at(cells, "Scale")]
    repaired = repair(cells, release)
    assert cell(repaired, "add").source == f"{ADD}\n\n{SCALE}"
    assert cell(repaired, "Scale").source == "# Scale is defined in the cell of add."


def test_code_pasted_over_an_import_is_found_by_its_name(release: list[NotebookNode]) -> None:
    assert cell(repair([code("class Other: ...")], release), "from_other").source == "class Other: ..."


# -- in which order ----------------------------------------------------------------------------------------------


def test_the_students_order_is_kept_and_tests_follow_their_answers(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    moved = [cells.pop(at(cells, "add"))]
    repaired = outline(repair([*cells, code(OWN), *moved], release))
    assert repaired[-3:] == [OWN, "add", "test_add"]
    assert [one for one in repaired if one not in ("add", "test_add", OWN)] == [
        one for one in outline(release) if one not in ("add", "test_add")
    ]


def test_own_cells_are_kept_in_place_without_marks(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    cells.insert(at(cells, "Scale"), marked("mine", OWN, solution=True))
    repaired = repair(cells, release)
    assert repaired[at(repaired, "Scale") - 1].source == OWN
    assert repaired[at(repaired, "Scale") - 1].metadata == {}


def test_ids_are_unique_whatever_those_of_the_course_are() -> None:
    release = [answer("add", "def add(): ...")]
    release[0].id = "own-1"
    assert [one.id for one in repair([code(OWN), code(OWN)], release)] == ["own-1", "own-2", "own-3"]


# -- the course's cells are restored -------------------------------------------------------------------------------


def test_a_changed_locked_cell_is_restored_above_its_changed_copy(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "imports").source = "import torch, math"
    repaired = repair(cells, release)
    here = at(repaired, "imports")
    assert repaired[here].source == "import torch"
    assert (repaired[here + 1].source, repaired[here + 1].metadata) == ("import torch, math", {})


def test_cells_get_their_type_back(cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    cells[0] = code(cells[0].source)
    for name in ("add", "test_add", "imports"):
        cells[at(cells, name)] = marked(name, cell(cells, name).source, "markdown")
    cells[at(cells, "essay")] = marked("essay", "It adds up.", solution=True)
    repaired = repair(cells, release)
    assert [one.cell_type for one in repaired] == [one.cell_type for one in release]
    assert (cell(repaired, "add").source, cell(repaired, "essay").source) == (ADD, "It adds up.")


@pytest.mark.parametrize("kind", ["markdown", "raw"])
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<!--><svg onload=alert(1)>-->",
        "<<b>script>alert(1)</script>",
        "a <iframe srcdoc='<script>alert(1)</script>'>",
        "[a link](javascript:alert(1))",
        "[a link](java&#115;cript:alert(1))",
        "[a link][1] and [1]\n\n[1]: javascript:alert(1)",
        "<javascript:alert(1)>",
        r"$\href{javascript:alert(1)}{x}$",
    ],
)
def test_prose_of_a_student_is_plain_text_on_nbgraders_pages(text: str, kind: str, release: list[NotebookNode]) -> None:
    own = NotebookNode(cell_type=kind, metadata=NotebookNode(), source=text)
    repaired = repair([own], release)
    notebook = nbformat.v4.new_notebook(cells=[one for one in repaired if one.get("id", "").startswith("own-")])
    assert len(notebook.cells) == 1
    page = HTMLExporter(template_name="basic").from_notebook_node(notebook)[0]
    assert not re.search(r"<(script|img|svg|iframe|b)\b", page)
    assert "href=" not in page.replace(r"\ href", "")
    assert r"\href" not in page


def test_prose_does_not_refer_to_attachments_that_were_not_read(
    cells: list[NotebookNode], release: list[NotebookNode]
) -> None:
    cell(cells, "essay").source = "![a picture](attachment:image.png)"
    cells.append(prose("[![another](attachment:image.png)][1]\n\n[1]: attachment:image.png"))
    html, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=repair(cells, release)))
    assert "a picture" in html


# -- whatever it is ----------------------------------------------------------------------------------------------

NONSENSE: list[Any] = [
    {}, {"nbgrader": None}, {"nbgrader": []}, {"nbgrader": {}}, {"nbgrader": {"grade_id": 3}},
    {"nbgrader": {"grade_id": ["add"], "points": "many"}}, {"nbgrader": {"grade_id": "../add", "schema_version": 99}},
    {"nbgrader": {"grade_id": "add", "locked": "yes", "schema_version": 0}}, {"collapsed": "no", "tags": 3},
]  # fmt: skip
WAYS = ["delete", "double", "split", "merge", "move", "name", "type", "metadata", "write", "insert"]
TEXTS = ["", ADD, SCALE, "answer_1 = 3", "def (", "%matplotlib inline", "def add(a, b):\n  pass\nclass Scale: pass"]


def damage(cells: list[NotebookNode], luck: random.Random) -> list[NotebookNode]:
    """A copy of the cells, damaged once to eight times."""
    cells = copy.deepcopy(cells)
    names = [*filter(None, map(name_of, cells)), "unknown", ""]
    for _ in range(luck.randint(1, 8)):
        if not cells:
            break
        here, there = luck.randrange(len(cells)), luck.randrange(len(cells))
        one = cells[here]
        match luck.choice(WAYS):
            case "delete":
                del cells[here]
            case "double":
                cells.insert(there, copy.deepcopy(one))
            case "split":
                lines = one.source.split("\n")
                second = copy.deepcopy(one)
                one.source, second.source = "\n".join(lines[: len(lines) // 2]), "\n".join(lines[len(lines) // 2 :])
                cells.insert(here + 1, second)
            case "merge":
                one.source += "\n\n" + cells[there].source
                if here != there:
                    del cells[there]
            case "move":
                cells.insert(there, cells.pop(here))
            case "name":
                one.metadata = {"nbgrader": {"grade_id": luck.choice(names), "grade": luck.random() < 0.5}}
            case "type":
                cells[here] = NotebookNode(
                    cell_type=luck.choice(["code", "markdown", "raw"]), source=one.source, metadata=one.metadata
                )
            case "metadata":
                one.metadata = luck.choice(NONSENSE)
            case "write":
                one.source = luck.choice(TEXTS)
            case "insert":
                cells.insert(here, code(luck.choice(TEXTS)))
    return cells


def require_whole(
    repaired: Sequence[NotebookNode], submitted: Sequence[NotebookNode], release: Sequence[NotebookNode]
) -> None:
    """Assert that all cells of the course are there unchanged, and that no work of the student is lost."""
    nbformat.validate(nbformat.v4.new_notebook(cells=repaired))
    assert len({cell.id for cell in repaired}) == len(repaired)
    found = {name_of(cell): cell for cell in repaired if cell.metadata}
    course = {name_of(cell): cell for cell in release if cell.metadata}
    assert sorted(filter(None, map(name_of, repaired))) == sorted(filter(None, course))
    sources = {cell["source"] for cell in submitted}
    for name, original in course.items():
        cell = found[name]
        assert (cell.cell_type, cell.metadata) == (original.cell_type, original.metadata)
        if is_locked(original):
            assert cell.source == original.source
        else:
            remark = cell.source.startswith("# ") and " is defined in the cell of " in cell.source
            assert remark or cell.source in sources | {original.source}
    for before, test in itertools.pairwise(repaired):
        if is_grade(test) and not is_solution(test):
            assert name_of(before) == str(name_of(test)).removeprefix("test_")
    kept = {cell.source for cell in repaired}
    course_says = {cell.source.strip() for cell in release}
    for cell in submitted:
        assert (
            cell["source"] in kept
            or cell["source"].strip() in course_says | {""}
            or cell["cell_type"] != "code"  # prose that was written into locked cells
            or str(name_of(cell)).startswith("test_")
        )


@pytest.mark.proof(part="nbgrader")
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_any_damage_can_be_repaired(first: int, cells: list[NotebookNode], release: list[NotebookNode]) -> None:
    for seed in range(first, first + 100):
        submitted = damage(cells, random.Random(seed))
        before = copy.deepcopy((submitted, release))
        repaired = repair(submitted, release)
        require_whole(repaired, submitted, release)
        assert repaired == repair(submitted, release)
        assert (submitted, release) == before
