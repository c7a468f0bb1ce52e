"""The nbgrader course that `grader release nbgrader` writes works with nbgrader itself."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import courses
import nbformat
import pytest
from courses import COURSE, REPOSITORY
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineHandshake
from grader.integrations.nbgrader.nbgrader_release import configure_lines, is_configured, release_nbgrader
from grader.integrations.release import ReleaseError
from grader.quizzes.items import mark
from grader.quizzes.questions import fill
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.scoring import Rubric

QUIZZES = load_quizzes(REPOSITORY / "solutions", [name for name, unit in COURSE.units.items() if unit.quiz])
WITHOUT = 'c = get_config()\nc.CourseDirectory.course_id = "plain"\n'
LONG = 25
"""A line of at least this many characters is specific to the solution."""

AN_EXAMPLE = "multi_head_attention"

proof = pytest.mark.proof(part="nbgrader")
by_unit = pytest.mark.parametrize(
    "unit", [unit if unit == AN_EXAMPLE else pytest.param(unit, marks=proof) for unit in COURSE.units]
)


def notebook_in(folder: Path) -> Any:
    return nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)


@pytest.fixture(scope="module", autouse=True)
def _activated() -> Iterator[None]:
    """nbgrader finds the programs that are installed in its own environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield


def nbgrader(directory: Path, *arguments: str) -> None:
    """Run the real nbgrader in its course directory."""
    run = subprocess.run(
        ["nbgrader", *arguments], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert run.returncode == 0, run.stdout


def generate(directory: Path, unit: str, database: bool = True) -> None:
    """Run `nbgrader generate_assignment` in this process, with the configuration in the folder."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(directory)).load_config()
    config.GenerateAssignment.no_database = not database
    config.SaveCells.enabled = database
    place = CourseDirectory(config=config, root=str(directory), assignment_id=unit)
    GenerateAssignment(coursedir=place, config=config).start()


@pytest.fixture(scope="module")
def rubric(started_engine: tuple[Engine, EngineHandshake]) -> Rubric:
    return Rubric(started_engine[1].criteria, QUIZZES)


@pytest.fixture(scope="module")
def course(rubric: Rubric, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An nbgrader course with one assignment that has been generated, by the real command."""
    directory = tmp_path_factory.mktemp("course")
    release_nbgrader(directory, COURSE, rubric)
    nbgrader(directory, "generate_assignment", AN_EXAMPLE)
    return directory


@pytest.fixture(scope="module")
def plain_course(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sources in the course of an instructor who has not called `configure`."""
    directory = tmp_path_factory.mktemp("plain")
    shutil.copytree(course / "source", directory / "source")
    (directory / "nbgrader_config.py").write_text(WITHOUT, encoding="utf-8")
    return directory


def released(directory: Path, unit: str) -> Path:
    """The released folder of a unit, generated now if it does not exist."""
    folder = directory / "release" / unit
    if not folder.is_dir():
        generate(directory, unit, database=is_configured(directory))
    return folder


def normalised(text: str) -> str:
    return " ".join(text.split())


def strings_in(data: Any) -> Iterator[str]:
    """Every text of a notebook: source, metadata, outputs and keys."""
    if isinstance(data, dict):
        yield from itertools.chain.from_iterable(map(strings_in, itertools.chain.from_iterable(data.items())))
    elif isinstance(data, list):
        if all(isinstance(line, str) for line in data):
            yield "".join(data)
        else:
            yield from itertools.chain.from_iterable(map(strings_in, data))
    else:
        yield str(data)


def released_text(folder: Path) -> str:
    """Every file of a folder as one text, with single spaces."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    texts: list[str] = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        texts += strings_in(json.loads(text)) if path.suffix == ".ipynb" else [text]
    return normalised("\n".join(texts))


def items_of(unit: str) -> dict[str, Any]:
    """Return the items of a unit's quiz, if it has one."""
    return dict(QUIZZES[unit].items) if unit in QUIZZES else {}


def secrets_of(unit: str) -> set[str]:
    """The solutions' lines and the quiz's feedback after the due date, without texts that students have anyway."""
    files = [path for path in (REPOSITORY / "exercises").rglob("*") if path.suffix != ".pyc" and path.is_file()]
    received = normalised("\n".join(path.read_text(encoding="utf-8") for path in files))
    secret = []
    for source in (REPOSITORY / "solutions").glob("*.py"):
        for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END", source.read_text(encoding="utf-8"), re.DOTALL):
            secret += region.split("\n")
    for item in items_of(unit).values():
        secret += [line for _, text in item.texts_after_due() for line in fill(text, item.row(0)).split("\n")]
    lines = {line for text in secret if len(line := normalised(text)) >= LONG}
    return {line for line in lines if line not in received}


def assert_nothing_leaks(directory: Path, unit: str) -> None:
    text = released_text(released(directory, unit))
    secrets = secrets_of(unit)
    assert len(secrets) > 100
    assert [line for line in secrets if line in text] == []
    assert not re.search("BEGIN|END SOLUTION|HIDDEN|NBGRADER_EXECUTION", text)
    assert set(re.findall(r"answer_\d+ = (\S+)", text)) <= {"..."}


def test_a_release_is_a_notebook_for_each_unit_and_a_configuration(tmp_path: Path, rubric: Rubric) -> None:
    notebooks = [tmp_path / "source" / unit / f"{unit}.ipynb" for unit in COURSE.units]
    assert release_nbgrader(tmp_path, COURSE, rubric).written == [*notebooks, tmp_path / "nbgrader_config.py"]
    assert is_configured(tmp_path)


@by_unit
def test_notebooks_are_valid_by_nbformat_and_by_the_schema_of_nbgrader(course: Path, unit: str) -> None:
    from nbgrader.nbgraderformat import MetadataValidator

    for folder in (course / "source" / unit, released(course, unit)):
        notebook = notebook_in(folder)
        nbformat.validate(notebook)
        MetadataValidator().validate_nb(notebook)


@by_unit
def test_each_answer_is_followed_by_a_locked_test_cell_with_its_points(course: Path, rubric: Rubric, unit: str) -> None:
    marks = [cell.metadata.get("nbgrader", {}) for cell in notebook_in(course / "source" / unit).cells]
    pairs = [
        (answer["grade_id"], test["grade_id"], test["grade"], test["locked"], test["points"])
        for answer, test in itertools.pairwise(marks)
        if answer.get("solution") and not answer["grade_id"].startswith("from_")
    ]
    points = rubric.possible(COURSE)[unit]
    points |= {f"quiz_{name}": item.points for name, item in items_of(unit).items()}
    assert pairs == [(name, f"test_{name}", True, True, possible) for name, possible in points.items()]


@proof
@by_unit
def test_a_source_notebook_runs_from_top_to_bottom(course: Path, tmp_path: Path, unit: str) -> None:
    from nbclient import NotebookClient

    notebook = notebook_in(course / "source" / unit)
    NotebookClient(
        notebook, timeout=120, shutdown_kernel="immediate", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert {bool(cell.execution_count) for cell in notebook.cells if cell.cell_type == "code"} == {True}


@by_unit
def test_the_quiz_answers_in_the_source_earn_all_points(course: Path, unit: str) -> None:
    from grader.quizzes.sheet_reader import read_cells

    cells = notebook_in(course / "source" / unit).cells
    answers = [
        (cell.metadata.nbgrader.grade_id, cell.source) for cell in cells if cell.get("id", "").startswith("quiz_")
    ]
    if not items_of(unit):
        assert not answers
        return
    quiz = QUIZZES[unit]
    sheet = read_cells(answers, quiz.questions, f"{unit}.ipynb")
    assert (sheet.problems, sheet.remarks) == ({}, ())
    earned = {name: mark(item, sheet.answers[name], sheet.variant, 1).points for name, item in quiz.items.items()}
    assert earned == {name: item.points for name, item in quiz.items.items()}


@by_unit
def test_nothing_leaks_into_the_release(course: Path, unit: str) -> None:
    assert_nothing_leaks(course, unit)


@by_unit
def test_nothing_leaks_without_our_configuration_either(plain_course: Path, unit: str) -> None:
    assert_nothing_leaks(plain_course, unit)


@by_unit
def test_checksums_in_the_release_are_of_its_own_cells(course: Path, unit: str) -> None:
    """From the checksum of a source one could find a short answer by trying all."""
    from nbgrader.utils import compute_checksum

    cells = [cell for cell in notebook_in(released(course, unit)).cells if "nbgrader" in cell.metadata]
    assert [cell.metadata.nbgrader.checksum for cell in cells] == [compute_checksum(cell) for cell in cells]


@by_unit
def test_the_stubs_in_the_notebook_are_those_in_the_exercises(course: Path, unit: str) -> None:
    script = (REPOSITORY / "exercises" / f"{unit}.py").read_text(encoding="utf-8")
    names = COURSE.units[unit].exercises
    stubs = [cell.source for cell in notebook_in(released(course, unit)).cells if cell.get("id") in names]
    assert len(stubs) == len(names)
    assert all(stub in script for stub in stubs)


def test_what_students_read_in_a_released_notebook(course: Path) -> None:
    cells = {cell.id: cell.source.strip() for cell in notebook_in(released(course, AN_EXAMPLE)).cells}
    sentence = "# {} is graded by `grader` once you have handed in: there is nothing to do in this cell."
    assert cells["test_unroll_heads"] == sentence.format("unroll_heads")
    assert cells["test_quiz_what_a_head_reads"] == sentence.format("answer_1")
    assert cells["quiz_what_a_head_reads"] == '# One letter in quotes, such as "b".\nanswer_1 = ...'
    assert cells["from_causal_attention"] == "from causal_attention import CausalAttention"


def test_no_notebook_has_hints(course: Path) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (course / "source").rglob("*.ipynb")]
    assert len(sources) == len(COURSE.units)
    assert not [text for text in sources if '"hints"' in text]


@proof
def test_the_gradebook_has_the_points_of_the_rubric_and_the_due_dates(course: Path, rubric: Rubric) -> None:
    expected = {
        unit: {f"test_{name}": points for name, points in possible.items()}
        | {f"test_quiz_{name}": item.points for name, item in items_of(unit).items()}
        for unit, possible in rubric.possible(COURSE).items()
    }
    for unit in COURSE.units:
        released(course, unit)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert expected == {
            unit: {cell.name: cell.max_score for cell in gradebook.find_notebook(unit, unit).grade_cells}
            for unit in COURSE.units
        }
        # As nbgrader keeps them: in UTC, without saying so.
        assert {assignment.name: assignment.duedate for assignment in gradebook.assignments} == {
            name: unit.due.astimezone(datetime.UTC).replace(tzinfo=None) for name, unit in COURSE.units.items()
        }


def test_without_a_database_none_is_created(course: Path, tmp_path: Path) -> None:
    shutil.copytree(course / "source", tmp_path / "source")
    shutil.copy(course / "nbgrader_config.py", tmp_path)
    generate(tmp_path, "positional_encoding", database=False)
    assert (tmp_path / "release" / "positional_encoding").is_dir()
    assert not (tmp_path / "gradebook.db").exists()


@proof
def test_without_our_configuration_a_submission_earns_nothing(plain_course: Path, tmp_path: Path) -> None:
    unit = "positional_encoding"
    directory = shutil.copytree(plain_course, tmp_path / "course", ignore=shutil.ignore_patterns("release"))
    shutil.copytree(directory / "source" / unit, directory / "submitted" / "ada" / unit)  # every answer is right
    generate(directory, unit)
    nbgrader(directory, "autograde", unit)
    with Gradebook(f"sqlite:///{directory / 'gradebook.db'}") as gradebook:
        grades = gradebook.find_submission_notebook(unit, unit, "ada").grades
        assert {grade.name: grade.auto_score for grade in grades} == {
            **{f"test_{name}": 0 for name in COURSE.units[unit].exercises},
            **{f"test_quiz_{name}": 0 for name in items_of(unit)},
        }


def test_a_quiz_has_the_points_of_its_items_times_its_weight(tmp_path: Path, rubric: Rubric) -> None:
    name = "positional_encoding"
    unit = COURSE.units[name].model_copy(update={"quiz": 3})
    release_nbgrader(tmp_path, COURSE.model_copy(update={"units": {name: unit}}), rubric)
    marks = [cell.metadata.get("nbgrader", {}) for cell in notebook_in(tmp_path / "source" / name).cells]
    points = [one["points"] for one in marks if one.get("grade_id", "").startswith("test_quiz_")]
    assert points == [3 * item.points for item in QUIZZES[name].items.values()]


@proof
def test_the_instructors_configuration_is_kept_and_missing_lines_are_reported(tmp_path: Path) -> None:
    configuration = tmp_path / "nbgrader_config.py"
    configuration.write_text(WITHOUT, encoding="utf-8")
    run = courses.run_grader(REPOSITORY, "release", "nbgrader", tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-4:] == [
        f"{configuration} is yours and stays as it is. Put these two lines at its end:",
        "    from grader.integrations.nbgrader import configure",
        "    configure(c)",
        f"Next: cd {tmp_path} && nbgrader generate_assignment simple_attention",
    ]
    assert configuration.read_text(encoding="utf-8") == WITHOUT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n".join(configure_lines(COURSE)), True),
        ("import grader.integrations.nbgrader as ours\nours.configure(get_config())", True),
        ("# " + "\n# ".join(configure_lines(COURSE)), False),
        ("configure(", False),
    ],
    ids=["the two lines", "in other words", "a comment", "no Python"],
)
def test_a_configuration_is_ours_if_it_calls_configure(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "nbgrader_config.py").write_text(text, encoding="utf-8")
    assert is_configured(tmp_path) == expected


def test_an_exercise_that_the_source_lacks_is_named(tmp_path: Path) -> None:
    exercises = {"project_qkv": 1, "cross_attention": 1}
    unit = COURSE.units["self_attention"].model_copy(update={"exercises": exercises})
    course = COURSE.model_copy(update={"units": {"self_attention": unit}})
    with pytest.raises(ReleaseError, match=r"do not name the same exercises \(.*\bcross_attention\b"):
        release_nbgrader(tmp_path, course, Rubric([]))
    assert list(tmp_path.iterdir()) == []


def test_a_unit_without_a_source_is_named(tmp_path: Path) -> None:
    course = COURSE.model_copy(update={"units": {"poetry": COURSE.units["self_attention"]}})
    with pytest.raises(ReleaseError, match=r"^solutions/poetry\.py does not exist"):
        release_nbgrader(tmp_path, course, Rubric([]))


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "course"
    file.write_text("", encoding="utf-8")
    with pytest.raises(ReleaseError, match="is a file: name a directory"):
        release_nbgrader(file, COURSE, Rubric([]))
