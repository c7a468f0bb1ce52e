"""A second release keeps what the instructor did, and its commands lead to a graded class."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import courses
import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from small_course import marked
from terms import COURSE_ID, environment_of, exported, hand_in_solved, make_small_term, scores_of

from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineHandshake
from grader.integrations.nbgrader.nbgrader_release import AS_RELEASED, HISTORY, release_nbgrader
from grader.integrations.release import ReleaseError
from grader.reports.scoring import Rubric

UNIT = "positional_encoding"
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


class Term(NamedTuple):
    """The folder of a small course, and nbgrader's folder in it."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "term"

    @property
    def source(self) -> Path:
        return self.folder / "source" / "sums" / "sums.ipynb"

    def run(self, line: str, code: int = 0) -> str:
        """Run a line of the shell in nbgrader's folder, and return what it prints."""
        environment = environment_of(self.root, self.root)
        command = ["bash", "-c", f"({line}) 2>&1"]
        done = subprocess.run(command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE, check=False)
        assert done.returncode == code, done.stdout
        assert "Traceback" not in done.stdout
        return done.stdout

    def release(self) -> str:
        """Release again, and run the commands that it prints."""
        printed = self.run("python -m grader release nbgrader .")
        [*_, last] = printed.splitlines()
        return self.run(last.removeprefix("Next: "))

    def edit(self, **cells: NotebookNode) -> None:
        """Put cells above those of these ids."""
        notebook = nbformat.read(self.source, as_version=4)
        for name, cell in cells.items():
            place = next(index for index, one in enumerate(notebook.cells) if one.id == name)
            notebook.cells.insert(place, cell)
        nbformat.write(notebook, self.source)

    def weigh(self, **weights: int) -> None:
        """Change weights of the course."""
        settings = self.root / "autograder.yml"
        text = settings.read_text(encoding="utf-8")
        for name, weight in weights.items():
            text, count = re.subn(rf"(?m)^(      {name}:) \d+$", rf"\1 {weight}", text)
            assert count == 1
        settings.write_text(text, encoding="utf-8")

    def enter(self, scores: Mapping[str, float]) -> None:
        """Enter scores of ada, as in formgrader."""
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db", COURSE_ID) as gradebook:
            for name, score in scores.items():
                grade = gradebook.find_grade(name, "sums", "sums", "ada")
                grade.manual_score, grade.needs_manual_grade = score, False
            gradebook.db.commit()

    def table(self) -> dict[str, tuple[float, float]]:
        """The score and the possible points of each student in the exported table."""
        self.run("nbgrader export")
        rows = exported(self.folder / "grades.csv")
        return {name: (float(row["score"]), float(row["max_score"])) for name, row in rows.items()}


def test_a_source_that_nbgrader_cannot_release_is_named_with_its_cell_and_the_release_stays(tmp_path: Path) -> None:
    make_small_term(tmp_path, courses.LONG_PAST)
    term = Term(tmp_path)
    term.run("nbgrader generate_assignment sums")
    released = term.folder / "release" / "sums" / "sums.ipynb"
    right, before = term.source.read_text(encoding="utf-8"), released.read_bytes()
    for old, new, problem in (
        ('"cells": [', '"cells": <<<<<<<', ":2 is not a notebook: correct it"),
        ("### END SOLUTION", "### END", ", cell add: no end solution statement found. Correct it."),
        ('"points": 4', '"points": "4"', ", cell test_add: '4' is not of type 'number'. Correct it."),
        ('"grade_id": "Scale"', '"grade_id": "add"', ": Duplicate grade id: add. Correct it."),
    ):
        assert old in right
        term.source.write_text(right.replace(old, new, 1), encoding="utf-8")
        refused = term.run("nbgrader generate_assignment sums --force", code=1)
        assert f"Nothing was generated. {term.source}{problem}" in refused
        assert released.read_bytes() == before


def test_a_secret_in_a_cell_or_in_a_file_beside_the_notebook_is_not_generated(tmp_path: Path) -> None:
    make_small_term(tmp_path, courses.LONG_PAST)
    term = Term(tmp_path)
    (term.source.parent / "picture.png").write_bytes(b"\x89PNG\0")
    suite = term.root / "grader" / "suites" / "sums" / "test_sums.py"
    line = max(suite.read_text(encoding="utf-8").splitlines(), key=len)
    right, notes = term.source.read_text(encoding="utf-8"), term.source.with_name("notes.md")
    notes.write_text(line, encoding="utf-8")
    refused = term.run("nbgrader generate_assignment sums --force", code=1)
    assert f"{notes}:1: this is also in grader/suites/sums/test_sums.py" in refused
    for name, content in (("notes.md", line.encode("utf-16")), ("notes.png", line.encode())):
        notes = notes.rename(notes.with_name(name))
        notes.write_bytes(content)
        assert f"would hold {notes}" in term.run("nbgrader generate_assignment sums --force", code=1)
    notes.unlink()
    secret, header = [nbformat.v4.new_output("stream", text=line)], tmp_path / "header.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(line)]), header)
    refused = term.run(f"nbgrader generate_assignment sums --force --IncludeHeaderFooter.header={header}", code=1)
    assert f"{header}:" in refused
    term.edit(add=nbformat.v4.new_code_cell("1", outputs=secret))
    refused = term.run("nbgrader generate_assignment sums --force --ClearOutput.enabled=False", code=1)
    assert "sums.ipynb:" in refused
    term.source.write_text(right, encoding="utf-8")
    term.edit(add=nbformat.v4.new_markdown_cell(line))
    refused = term.run("nbgrader generate_assignment sums --force", code=1)
    assert "sums.ipynb:" in refused
    assert "this is also in grader/suites/sums/test_sums.py" in refused
    term.source.write_text(right, encoding="utf-8")
    term.run("nbgrader generate_assignment sums --force")


@pytest.mark.proof(part="nbgrader")
def test_release_edit_change_a_weight_release_again_autograde_and_export(tmp_path: Path) -> None:
    make_small_term(tmp_path, courses.LONG_PAST)
    term = Term(tmp_path)
    term.edit(add=nbformat.v4.new_markdown_cell(NOTE), Scale=QUESTION, quiz_even_sums=TASK)
    term.release()
    for student, code in {"ada": {}, "bob": {"add": "def add(a, b):\n    return a - b\n"}}.items():
        hand_in_solved(term.folder, student, {"why": "The order does not matter.", **code})
    term.run("nbgrader autograde sums")
    term.enter({"why": 4, "plot": 2})
    assert term.table() == {"ada": (18 + 6, 18 + 8), "bob": (14, 18 + 8)}

    term.weigh(add=3)
    refused = term.run("nbgrader autograde sums --force", code=1)
    assert "run `grader release nbgrader .` and `nbgrader generate_assignment sums --force`" in refused
    term.release()
    assert NOTE in [cell.source for cell in nbformat.read(term.source, as_version=4).cells]
    assert term.table() == {"ada": (20 + 6, 20 + 8), "bob": (14, 20 + 8)}
    assert scores_of(term.folder, "ada", "sums").items() > {"why": 4, "plot": 2, "test_add": 6}.items()

    # A question that comes after the first grading has no answers yet, and loses nothing.
    term.edit(quiz_even_sums=LATER)
    term.weigh(Scale=2)
    term.release()
    term.enter({"how": 1})
    assert term.table() == {"ada": (21 + 7, 21 + 10), "bob": (15, 21 + 10)}

    # nbgrader cannot remove a question on which students were graded, and says so before it removes anything.
    notebook = nbformat.read(term.source, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "why"]
    nbformat.write(notebook, term.source)
    refused = term.run("nbgrader generate_assignment sums --force", code=1)
    assert f"Students were graded on cells that {term.source} no longer has: why. Put them back" in refused
    term.run("nbgrader autograde sums --force")
    assert term.table() == {"ada": (21 + 7, 21 + 10), "bob": (15, 21 + 10)}
