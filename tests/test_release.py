"""The nbgrader course that `grader release nbgrader` writes, held against nbgrader itself."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.course import ROOT
from grader.release import ReleaseError, release_nbgrader

POINTS = {
    "project_qkv": 1,
    "scaled_dot_product_attention": 2,
    "SelfAttention_v1": 3,
    "SelfAttention_v2": 4,
    "transfer_weights": 5,
    "dot_product_variance": 6,
}
UNIT = {"self_attention": POINTS}
NOTEBOOK = Path("self_attention", "self_attention.ipynb")


def nbgrader(directory: Path, *arguments: str) -> str:
    """Run the real nbgrader in its course directory, and give what it printed."""
    # nbgrader itself looks up the programs that were installed beside it.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


def cells_of(notebook: Path) -> list[Any]:
    return nbformat.read(notebook, as_version=4).cells


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An nbgrader course of unit 2 whose assignment nbgrader has generated."""
    directory = tmp_path_factory.mktemp("course")
    release_nbgrader(directory, UNIT)
    nbgrader(directory, "generate_assignment", "self_attention")
    return directory


def test_a_release_is_a_notebook_for_each_unit_and_a_configuration(tmp_path: Path) -> None:
    assert release_nbgrader(tmp_path, UNIT) == [
        tmp_path / "source" / NOTEBOOK,
        tmp_path / "nbgrader_config.py",
    ]


def test_two_releases_are_the_same_to_the_byte(tmp_path: Path) -> None:
    first, second = (release_nbgrader(tmp_path / name, UNIT)[0] for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_the_metadata_is_valid_by_the_schema_of_nbgrader(tmp_path: Path) -> None:
    from nbgrader.nbgraderformat import MetadataValidator

    notebook, _ = release_nbgrader(tmp_path, UNIT)
    MetadataValidator().validate_nb(nbformat.read(notebook, as_version=4))


def test_below_each_answer_stands_a_locked_test_cell_with_its_points(tmp_path: Path) -> None:
    notebook, _ = release_nbgrader(tmp_path, UNIT)
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells_of(notebook)]
    pairs = [
        (answer["grade_id"], test["grade_id"], test["grade"], test["locked"], test["points"])
        for answer, test in itertools.pairwise(marks)
        if answer.get("solution")
    ]
    assert pairs == [(name, f"test_{name}", True, True, points) for name, points in POINTS.items()]


def test_nbgrader_generates_the_assignment_without_any_solution(course: Path) -> None:
    code = "\n".join(cell.source for cell in cells_of(course / "release" / NOTEBOOK) if cell.cell_type == "code")
    assert "SOLUTION" not in code
    assert "softmax(scores" not in code
    assert code.count("raise NotImplementedError()") == 8


def test_the_released_test_cells_hold_one_sentence_and_no_test(course: Path) -> None:
    tests = [cell for cell in cells_of(course / "release" / NOTEBOOK) if cell.get("id", "").startswith("test_")]
    assert {cell.source.strip() for cell in tests} == {"# This exercise is graded after you have handed in."}
    assert len(tests) == len(POINTS)


def test_the_stubs_in_the_notebook_are_those_in_the_exercises(course: Path) -> None:
    stub = (ROOT / "exercises" / "self_attention.py").read_text(encoding="utf-8")
    answers = [cell.source for cell in cells_of(course / "release" / NOTEBOOK) if cell.get("id") in POINTS]
    assert len(answers) == len(POINTS)
    assert all(answer in stub for answer in answers)


def test_graded_by_nbgrader_alone_a_submission_earns_nothing(course: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(course, tmp_path / "course")
    submission = directory / "submitted" / "ada" / NOTEBOOK
    submission.parent.mkdir(parents=True)
    shutil.copy(directory / "source" / NOTEBOOK, submission)  # every answer is right
    nbgrader(directory, "autograde", "self_attention")
    nbgrader(directory, "export", "--to", "grades.csv")
    header, row = ((directory / "grades.csv").read_text(encoding="utf-8")).splitlines()
    grades = dict(zip(header.split(","), row.split(","), strict=True))
    assert (float(grades["score"]), float(grades["max_score"])) == (0, sum(POINTS.values()))


def test_a_second_release_takes_the_place_of_the_first(tmp_path: Path) -> None:
    notebook, _ = release_nbgrader(tmp_path, UNIT)
    notebook.write_text("an old release", encoding="utf-8")
    assert release_nbgrader(tmp_path, UNIT) == [notebook]
    assert json.loads(notebook.read_text(encoding="utf-8"))["nbformat"] == 4


def test_the_configuration_of_the_instructor_stays_as_it_is(tmp_path: Path) -> None:
    configuration = tmp_path / "nbgrader_config.py"
    configuration.write_text("# mine\n", encoding="utf-8")
    release_nbgrader(tmp_path, UNIT)
    assert configuration.read_text(encoding="utf-8") == "# mine\n"


def test_an_exercise_that_the_source_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"do not name the same exercises \(cross_attention\)"):
        release_nbgrader(tmp_path, {"self_attention": {**POINTS, "cross_attention": 1}})
    assert list(tmp_path.iterdir()) == []


def test_an_exercise_without_points_is_named(tmp_path: Path) -> None:
    possible = {name: points for name, points in POINTS.items() if name != "project_qkv"}
    with pytest.raises(ReleaseError, match=r"do not name the same exercises \(project_qkv\)"):
        release_nbgrader(tmp_path, {"self_attention": possible})


def test_a_unit_without_a_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"^solutions/poetry\.py does not exist"):
        release_nbgrader(tmp_path, {"poetry": {"sonnet": 1}})


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "course"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ReleaseError, match="is a file: name a directory"):
        release_nbgrader(file, UNIT)
