"""A second release keeps what the instructor did, and its commands lead to a graded class."""

from __future__ import annotations

import json
import re
from pathlib import Path

import courses
import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from small_course import UNIT, SmallCourse, marked
from terms import Term, hand_in_solved, make_small_term, run

from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineHandshake
from grader.integrations.nbgrader.nbgrader_release import AS_RELEASED, HISTORY, release_nbgrader
from grader.integrations.release import ReleaseError
from grader.reports.scoring import Rubric

OF_UNIT = courses.COURSE.units[UNIT]
COURSE = courses.COURSE.model_copy(update={"units": {UNIT: OF_UNIT}})
WEIGHTS = {name: 2 * weight for name, weight in OF_UNIT.exercises.items()}
DOUBLED = courses.COURSE.model_copy(update={"units": {UNIT: OF_UNIT.model_copy(update={"exercises": WEIGHTS})}})
EXERCISE = next(iter(OF_UNIT.exercises))
NOTE = "Read chapter 3 first."


@pytest.fixture(scope="module")
def rubric(started_engine: tuple[Engine, EngineHandshake]) -> Rubric:
    return Rubric(started_engine[1].criteria, {})


@pytest.fixture
def source(tmp_path: Path, rubric: Rubric) -> Path:
    """The notebook of a first release."""
    return release_nbgrader(tmp_path, COURSE, rubric).written[0]


def add_note(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(NOTE))
    nbformat.write(notebook, path)


def points_in(path: Path) -> dict[str, int]:
    cells = nbformat.read(path, as_version=4).cells
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {one["grade_id"]: one["points"] for one in marks if "points" in one}


def test_a_release_of_the_same_course_changes_nothing(tmp_path: Path, source: Path, rubric: Rubric) -> None:
    add_note(source)
    before = source.read_bytes()
    released = release_nbgrader(tmp_path, COURSE, rubric)
    assert (released.written, released.replaced, released.kept) == ([], {}, [])
    assert source.read_bytes() == before


def test_new_points_are_written_beside_a_note_and_the_old_notebook_is_kept(
    tmp_path: Path, source: Path, rubric: Rubric
) -> None:
    add_note(source)
    before, points = source.read_bytes(), points_in(source)
    released = release_nbgrader(tmp_path, DOUBLED, rubric)
    assert points_in(source) == {name: 2 * value for name, value in points.items()}
    assert nbformat.read(source, as_version=4).cells[1].source == NOTE
    kept = released.replaced[source]
    assert kept.read_bytes() == before
    assert kept.is_relative_to(tmp_path / HISTORY)  # outside source/, whose files students receive


def test_a_notebook_that_another_program_saved_without_ids_is_merged(
    tmp_path: Path, source: Path, rubric: Rubric
) -> None:
    add_note(source)
    notebook = json.loads(source.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        del cell["id"]
    source.write_text(json.dumps(notebook | {"nbformat_minor": 0}), encoding="utf-8")
    texts, points = [cell.source for cell in nbformat.read(source, as_version=4).cells], points_in(source)
    release_nbgrader(tmp_path, DOUBLED, rubric)
    merged = nbformat.read(source, as_version=4)
    nbformat.validate(merged)
    assert [cell.source for cell in merged.cells] == texts
    assert points_in(source) == {name: 2 * value for name, value in points.items()}


def test_each_release_keeps_the_notebook_before_it(tmp_path: Path, source: Path, rubric: Rubric) -> None:
    kept = [release_nbgrader(tmp_path, course, rubric).replaced[source] for course in (DOUBLED, COURSE, DOUBLED)]
    assert len(set(kept)) == 3
    assert points_in(kept[0]) == points_in(kept[2]) != points_in(kept[1])


def test_a_cell_that_cannot_be_merged_is_named_with_its_file_and_nothing_is_written(
    tmp_path: Path, source: Path, rubric: Rubric
) -> None:
    history = tmp_path / HISTORY / AS_RELEASED
    notebook = nbformat.read(source, as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.id == f"test_{EXERCISE}"]
    cell.metadata.nbgrader.points = 77
    nbformat.write(notebook, source)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ReleaseError) as refused:
        release_nbgrader(tmp_path, DOUBLED, rubric)
    assert f"{source}, cell test_{EXERCISE}: you have set its points to 77, and the course gives" in str(refused.value)
    assert str(refused.value).endswith(f"The cells of the last release are in {history}/{UNIT}.ipynb.")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_without_the_last_release_a_changed_course_is_refused_with_the_remedy(
    tmp_path: Path, source: Path, rubric: Rubric
) -> None:
    base = tmp_path / HISTORY / AS_RELEASED / f"{UNIT}.ipynb"
    base.unlink()
    with pytest.raises(ReleaseError, match="nothing says who has changed it") as refused:
        release_nbgrader(tmp_path, DOUBLED, rubric)
    assert f"There is no {base} to compare with: move {source} to another folder, release again" in str(refused.value)
    # An unchanged course has nothing to merge, and the next change is known again.
    release_nbgrader(tmp_path, COURSE, rubric)
    assert source in release_nbgrader(tmp_path, DOUBLED, rubric).replaced


@pytest.mark.parametrize(
    ("text", "line"), [("an old release", ":1"), ("[]", ""), ('{"nbformat": 4}', ""), ("{\n<<<<<<< HEAD", ":2")]
)
def test_a_file_that_is_not_a_notebook_is_refused_with_its_line_and_stays(
    tmp_path: Path, source: Path, rubric: Rubric, text: str, line: str
) -> None:
    source.write_text(text, encoding="utf-8")
    sentence = f"{source}{line} is not a notebook: correct it, or move it to another folder and release again."
    with pytest.raises(ReleaseError, match=f"^{re.escape(sentence)}$"):
        release_nbgrader(tmp_path, COURSE, rubric)
    assert source.read_text(encoding="utf-8") == text


# -- with nbgrader ------------------------------------------------------------------------------------------------


QUESTION = marked("why", "Why is addition commutative?", "markdown", grade=True, solution=True, points=5)
TASK = marked("plot", "Draw a sum.", "markdown", task=True, locked=True, points=3)
LATER = marked("how", "How did you find out?", "markdown", grade=True, solution=True, points=2)


def release_again(term: Term) -> None:
    """Release again, and run the commands of nbgrader that this prints."""
    printed = run(term.root, term.folder, term.root, "python", "-m", "grader", "release", "nbgrader", ".")
    [*_, last] = printed.splitlines()
    run(term.root, term.folder, term.root, "bash", "-c", last.removeprefix("Next: "))


def add_above(path: Path, name: str, cell: NotebookNode) -> None:
    """Put a cell above the one of this id in a notebook."""
    notebook = nbformat.read(path, as_version=4)
    place = next(index for index, one in enumerate(notebook.cells) if one.id == name)
    notebook.cells.insert(place, cell)
    nbformat.write(notebook, path)


def points_of(term: Term) -> dict[str, tuple[float, float]]:
    """The score and the possible points of each student in the exported table."""
    return {name: (float(row["score"]), float(row["max_score"])) for name, row in term.table().items()}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> SmallCourse:
    return SmallCourse(tmp_path_factory.mktemp("generated"))


def test_a_source_that_nbgrader_cannot_release_is_named_with_its_cell_and_the_release_stays(
    generated: SmallCourse,
) -> None:
    right, before = generated.source.read_text(encoding="utf-8"), generated.release_path.read_bytes()
    for old, new, problem in (
        ('"cells": [', '"cells": <<<<<<<', ":2 is not a notebook: correct it"),
        ("### END SOLUTION", "### END", ", cell add: no end solution statement found. Correct it."),
        ('"points": 2', '"points": "2"', ", cell test_add: '2' is not of type 'number'. Correct it."),
        ('"grade_id": "Scale"', '"grade_id": "add"', ": Duplicate grade id: add. Correct it."),
    ):
        assert old in right
        generated.source.write_text(right.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(NbGraderException, match=f"^{re.escape(f'{generated.source}{problem}')}"):
            generated.generate()
        assert generated.release_path.read_bytes() == before
    generated.source.write_text(right, encoding="utf-8")


def test_a_secret_in_a_cell_or_in_a_file_beside_the_notebook_is_not_generated(
    generated: SmallCourse, tmp_path: Path
) -> None:
    suite, *_ = courses.COURSE.hidden_tests(UNIT)
    secret = max(suite.read_text(encoding="utf-8").splitlines(), key=len)
    right, notes = generated.source.read_text(encoding="utf-8"), generated.source.with_name("notes.md")
    picture, header = generated.source.with_name("picture.png"), tmp_path / "header.ipynb"
    picture.write_bytes(b"\x89PNG\0")

    def refused(sentence: str, **settings: object) -> None:
        with pytest.raises(NbGraderException, match=re.escape(sentence)):
            generated.generate(**settings)

    for name, content, sentence in (
        ("notes.md", secret.encode(), f"{notes}:1: this is also in "),
        ("notes.md", secret.encode("utf-16"), f"would hold {notes}"),
        ("notes.png", secret.encode(), f"would hold {notes.with_name('notes.png')}"),
    ):
        notes.with_name(name).write_bytes(content)
        refused(sentence)
        notes.with_name(name).unlink()
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(secret)]), header)
    refused(f"{header}:", IncludeHeaderFooter={"header": str(header)})
    printed = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("stream", text=secret)])
    for cell, settings in ((nbformat.v4.new_markdown_cell(secret), {}), (printed, {"enabled": False})):
        add_above(generated.source, "add", cell)
        refused(f"{generated.source}:", ClearOutput=settings)
        generated.source.write_text(right, encoding="utf-8")
    generated.generate()


@pytest.mark.proof(part="nbgrader")
def test_release_edit_change_a_weight_release_again_autograde_and_export(tmp_path: Path) -> None:
    term = make_small_term(tmp_path)
    for name, cell in {"add": nbformat.v4.new_markdown_cell(NOTE), "Scale": QUESTION, "quiz_even_sums": TASK}.items():
        add_above(term.source, name, cell)
    release_again(term)
    for student, code in {"ada": {}, "bob": {"add": "def add(a, b):\n    return a - b\n"}}.items():
        hand_in_solved(term, student, {"why": "The order does not matter.", **code})
    term.nbgrader("autograde sums")
    term.enter("ada", {"why": 4, "plot": 2})
    assert points_of(term) == {"ada": (18 + 6, 18 + 8), "bob": (14, 18 + 8)}

    courses.replace(term.root / "autograder.yml", "add: 2", "add: 3")
    refused = term.refused("autograde sums --force")
    assert "run `grader release nbgrader .` and `nbgrader generate_assignment sums --force`" in refused
    release_again(term)
    assert NOTE in [cell.source for cell in nbformat.read(term.source, as_version=4).cells]
    assert points_of(term) == {"ada": (20 + 6, 20 + 8), "bob": (14, 20 + 8)}
    assert term.scores("ada").items() > {"why": 4, "plot": 2, "test_add": 6}.items()

    # An exercise may have no points. A question that comes after the first grading has no answers yet, and loses none.
    add_above(term.source, "quiz_even_sums", LATER)
    courses.replace(term.root / "autograder.yml", "Scale: 1", "Scale: 0")
    release_again(term)
    term.enter("ada", {"how": 1})
    assert points_of(term) == {"ada": (19 + 7, 19 + 10), "bob": (13, 19 + 10)}
    assert ": 0 of 0 points" in term.text("ada", "test_Scale")

    # nbgrader cannot remove a question on which students were graded, and says so before it removes anything.
    notebook = nbformat.read(term.source, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "why"]
    nbformat.write(notebook, term.source)
    refused = term.refused("generate_assignment sums --force")
    assert f"Students were graded on cells that {term.source} no longer has: why. Put them back" in refused
    term.nbgrader("autograde sums --force")
    assert points_of(term) == {"ada": (19 + 7, 19 + 10), "bob": (13, 19 + 10)}
