"""A release is merged with what an instructor made of the last one."""

from __future__ import annotations

import copy
from collections.abc import Callable

import nbformat
import pytest
from nbformat import NotebookNode
from small_course import SOURCE, answer, graded, marked, text

from grader.integrations.nbgrader.notebook_merge import Merge

Cells = list[NotebookNode]
Edit = Callable[[Cells], object]

QUESTION = marked("why", "It follows that …", "markdown", grade=True, solution=True, points=5)
NOTE = text("Read chapter 3 first.")
# Without the cells of SOURCE that no release has.
BASE = [cell for cell in SOURCE if cell.id not in ("essay", "sketch", "project")]


def sources(cells: Cells) -> list[str]:
    return [cell.source for cell in cells]


def place(cells: Cells, name: str) -> int:
    return next(index for index, cell in enumerate(cells) if cell.id == name)


def edited(edit: Edit | None) -> Cells:
    """A copy of the last release after an edit."""
    cells = copy.deepcopy(BASE)
    if edit:
        edit(cells)
    return cells


def merged(own: Edit | None, course: Edit | None) -> Merge:
    return Merge(copy.deepcopy(BASE), edited(own), edited(course))


def insert(cell: NotebookNode, before: str) -> Edit:
    return lambda cells: cells.insert(place(cells, before), copy.deepcopy(cell))


def move(name: str, before: str) -> Edit:
    return lambda cells: cells.insert(place(cells, before), cells.pop(place(cells, name)))


def remove(*names: str) -> Edit:
    def edit(cells: Cells) -> None:
        cells[:] = [cell for cell in cells if cell.id not in names]

    return edit


def write(name: str, source: str) -> Edit:
    def edit(cells: Cells) -> None:
        cells[place(cells, name)].source = source

    return edit


def mark(name: str, **marks: object) -> Edit:
    return lambda cells: cells[place(cells, name)].metadata.nbgrader.update(marks)


def both(*edits: Edit) -> Edit:
    def edit(cells: Cells) -> None:
        for one in edits:
            one(cells)

    return edit


@pytest.mark.parametrize(
    "own",
    [
        insert(NOTE, "text-Asmallunit"),
        insert(QUESTION, "text-Scale"),
        insert(marked("project", "Do it.", "markdown", task=True, points=5), "quiz_which"),
        write("text-Add", "## Add two numbers"),
        write("add", "def add(a, b):\n    ### BEGIN SOLUTION\n    return b + a\n    ### END SOLUTION"),
        write("test_add", "# This cell shows your points."),
        move("text-Scale", "text-Add"),
        remove("text-Scale"),
    ],
    ids=[
        "a note",
        "a manually graded question",
        "a task",
        "a text",
        "an answer",
        "a test's text",
        "order",
        "less text",
    ],
)
def test_what_an_instructor_did_stays_where_the_course_changes_other_cells(own: Edit) -> None:
    points = mark("test_Scale", points=7)
    merge = merged(own, both(points, write("imports", "import torch  # 2"), insert(text("New."), "given")))
    expected = edited(both(own, points, write("imports", "import torch  # 2"), insert(text("New."), "given")))
    assert merge.refused == []
    assert sources(merge.cells) == sources(expected)
    assert [cell.metadata for cell in merge.cells] == [cell.metadata for cell in expected]


@pytest.mark.parametrize(
    "course",
    [
        mark("test_add", points=9),
        write("text-Add", "## Addition"),
        write("add", "def add(a, b, c=0):\n    pass"),
        insert(text("## A new part"), "text-Scale"),
        both(insert(answer("half", "def half(a): pass"), "text-Scale"), insert(graded("half"), "text-Scale")),
        remove("text-Scale", "Scale", "test_Scale"),
        move("text-Scale", "imports"),
    ],
    ids=["points", "a text", "an answer", "more text", "an exercise more", "an exercise less", "order"],
)
def test_what_the_course_changes_is_changed_beside_an_instructors_cells(course: Edit) -> None:
    merge = merged(insert(QUESTION, "quiz_which"), course)
    assert merge.refused == []
    expected = edited(course)
    expected.insert(place(expected, "quiz_which"), QUESTION)
    assert sources(merge.cells) == sources(expected)
    assert len({cell.id for cell in merge.cells}) == len(merge.cells)
    nbformat.validate(nbformat.v4.new_notebook(cells=merge.cells))


def test_a_text_that_both_changed_is_the_instructors_and_is_named() -> None:
    merge = merged(write("text-Add", "## Plus"), write("text-Add", "## Addition"))
    assert sources(merge.cells) == sources(edited(write("text-Add", "## Plus")))
    assert (merge.refused, merge.kept) == (
        [],
        ['the text "## Plus" is as you edited it; the course has changed this text too.'],
    )


def test_a_text_that_the_instructor_removed_and_the_course_changed_stays_removed_and_is_named() -> None:
    merge = merged(remove("text-Add"), write("text-Add", "## Addition"))
    assert sources(merge.cells) == sources(edited(remove("text-Add")))
    assert (merge.refused, merge.kept) == ([], ['the text "## Add" stays removed; the course has changed this text.'])


def test_a_picture_of_an_instructors_stays_in_a_text_that_the_course_changes() -> None:
    def draw(cells: Cells) -> None:
        cells[0].attachments = {"map.png": {"image/png": "AAAA"}}

    merge = merged(draw, write("text-Asmallunit", "# Another title"))
    assert merge.cells[0].attachments == {"map.png": {"image/png": "AAAA"}}
    assert merge.kept == ['the text "# A small unit" is as you edited it; the course has changed this text too.']


def test_cells_without_ids_are_known_by_their_text() -> None:
    own = edited(insert(NOTE, "text-Scale"))
    for cell in own:
        del cell["id"]
    merge = Merge(copy.deepcopy(BASE), own, edited(write("text-Add", "## Addition")))
    assert merge.refused == []
    assert sources(merge.cells) == sources(edited(both(insert(NOTE, "text-Scale"), write("text-Add", "## Addition"))))


def test_outputs_of_cells_that_stay_are_kept() -> None:
    own = edited(None)
    own[place(own, "test_add")].outputs = [nbformat.v4.new_output("stream", text="done")]
    merge = Merge(copy.deepcopy(BASE), own, edited(mark("test_add", points=9)))
    cell = merge.cells[place(merge.cells, "test_add")]
    assert (cell.outputs[0].text, cell.metadata.nbgrader.points) == ("done", 9)


@pytest.mark.parametrize(
    ("own", "course", "sentence"),
    [
        (
            write("test_add", "# Mine"),
            mark("test_add", points=9),
            "cell test_add: you have edited it, and the course has",
        ),
        (
            write("add", "def add(): pass"),
            write("add", "def add(a): pass"),
            "cell add: you have edited it, and the course",
        ),
        (
            mark("test_add", points=3),
            None,
            "cell test_add: you have set its points to 3, and the course gives 2. Set them",
        ),
        (
            mark("test_add", points=3),
            mark("test_add", points=9),
            "you have set its points to 3, and the course gives 9.",
        ),
        (remove("test_add"), None, "cell test_add: it is missing, and the course grades it. Put it back."),
        (remove("add"), None, "cell add: it is missing, and the course grades it. Put it back."),
        (mark("test_add", grade_id="mine"), None, "cell mine: it is an autograded test of yours"),
        (mark("test_add", solution=True), None, "cell test_add: it is no longer an autograded test"),
        (mark("add", grade=True), None, "cell add: it is no longer an autograded answer"),
        (
            insert(graded("mine"), "given"),
            None,
            "cell test_mine: it is an autograded test of yours, and the grader runs",
        ),
        (
            insert(QUESTION, "given"),
            insert(answer("why", "…"), "given"),
            "cell why: the course has a cell of this name now. Rename yours.",
        ),
        (both(insert(QUESTION, "given"), insert(QUESTION, "add")), None, "cell why: there are 2 cells of this name."),
        (
            write("Scale", "class Scale: pass"),
            remove("Scale", "test_Scale"),
            "cell Scale: you have edited it, and the course no longer has it. Delete it.",
        ),
        (
            both(move("quiz_more", "quiz_which"), move("test_quiz_more", "quiz_which")),
            None,
            "cell test_quiz_more: the quiz is asked in another order than in the course. Move it back.",
        ),
        (
            move("text-Scale", "text-Add"),
            move("text-Scale", "imports"),
            'the text "## Scale": you have moved cells, and so has the course. Move yours back.',
        ),
    ],
)
def test_what_cannot_be_merged_is_named(own: Edit, course: Edit | None, sentence: str) -> None:
    refused = merged(own, course).refused
    assert [one for one in refused if sentence in one], refused


def test_points_that_both_sides_set_alike_are_no_conflict() -> None:
    merge = merged(mark("test_add", points=9), mark("test_add", points=9))
    assert merge.refused == []


def test_without_the_last_release_equal_cells_and_additions_stay_and_a_difference_is_refused() -> None:
    merge = Merge(None, edited(both(insert(NOTE, "add"), insert(QUESTION, "given"))), edited(None))
    assert merge.refused == []
    assert sources(merge.cells) == sources(edited(both(insert(NOTE, "add"), insert(QUESTION, "given"))))
    merge = Merge(None, edited(None), edited(write("imports", "import numpy")))
    assert merge.refused == ["cell imports: it differs from the course, and nothing says who has changed it."]
