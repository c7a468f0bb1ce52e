"""The sides of bench.py that are `nbgrader autograde`: with its own `Execute`, and with the grader.

Both grade notebooks with the same answers, each in its own course. The baseline is unmodified nbgrader. It runs each
notebook in a new kernel, where the test cells run the suite's criteria on what the student's cells defined, with a
point for each. It has no isolation, no substitutes, no diagnosis and no feedback.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import nbformat
from answers import COURSE, ROOT, Answers
from measuring import Took, run
from nbgrader.api import Gradebook

from grader.engine.criteria import criteria_of_unit

COURSE_ID = "attention_from_scratch"

BASELINE_CONFIGURATION = f"""\
c = get_config()
c.CourseDirectory.course_id = "{COURSE_ID}"
"""
# The last line is the cell's result, which nbgrader uses as its points.
BASELINE_TESTS = """\
from grader.testing.student import InProcessBackend
from grader.engine.criteria import criteria_of
from grader.suites.{unit} import {exercise} as suite

backend = InProcessBackend("{unit}", globals())
criteria = criteria_of(suite, "{unit}", "{version}").values()
sum(criterion.run(backend).passed for criterion in criteria) * {weight}"""
# No notebook here answers a quiz, and this is the fastest test.
BASELINE_QUIZ = "0"

Cell = nbformat.NotebookNode


def make_courses(folder: Path, unit: str, students: dict[str, Answers], few: int) -> tuple[Path, Path]:
    """Make two courses: ours as it is released, with all students, and the baseline's, with the first few."""
    ours, baseline = folder / "ours", folder / "baseline"
    run([sys.executable, "-m", "grader", "release", "nbgrader", str(ours)], ROOT)
    shutil.copytree(ours / "source" / unit, baseline / "source" / unit)
    (baseline / "nbgrader_config.py").write_text(BASELINE_CONFIGURATION, encoding="utf-8")
    put_tests_in(baseline / "source" / unit / f"{unit}.ipynb", unit)
    for course in (ours, baseline):
        nbgrader(course, "generate_assignment", unit)
    release = nbformat.read(ours / "release" / unit / f"{unit}.ipynb", as_version=4)
    for number, (student, answers) in enumerate(students.items()):
        place = Path("submitted") / student / unit / f"{unit}.ipynb"
        write_notebook(ours / place, release, answers[unit])
        if number < few:
            (baseline / place).parent.mkdir(parents=True)
            shutil.copy(ours / place, baseline / place)
    return ours, baseline


def write_notebook(path: Path, release: nbformat.NotebookNode, answers: dict[str, str]) -> None:
    notebook = nbformat.from_dict(release)
    for exercise, text in answers.items():
        cells_by_name(notebook)[exercise].source = text
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


def cells_by_name(notebook: nbformat.NotebookNode) -> dict[str, Cell]:
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def put_tests_in(source: Path, unit: str) -> None:
    """Fill the test cells, which are empty in our course, with tests that nbgrader runs itself."""
    notebook = nbformat.read(source, as_version=4)
    for name, cell in cells_by_name(notebook).items():
        if cell.metadata.nbgrader.grade:
            exercise = name.removeprefix("test_")
            tests = tests_of(unit, exercise) if exercise in COURSE.units[unit].exercises else BASELINE_QUIZ
            cell.source = f"### BEGIN HIDDEN TESTS\n{tests}\n### END HIDDEN TESTS"
    nbformat.write(notebook, source)


def tests_of(unit: str, exercise: str) -> str:
    """Return the tests of an exercise as the source of a cell in the answer's notebook."""
    weight = COURSE.units[unit].exercises[exercise]
    return BASELINE_TESTS.format(unit=unit, version=COURSE.version, exercise=exercise, weight=weight)


def nbgrader(course: Path, command: str, unit: str, cores: Collection[int] | None = None) -> Took:
    # nbgrader finds alembic on the path, and the baseline's test cells import the suite.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command_line = [sys.executable, "-m", "nbgrader", command, unit]
    return run(command_line, course, cores=cores, PATH=path, PYTHONPATH=str(ROOT))[0]


def autograde(course: Path, unit: str, cores: Collection[int]) -> tuple[Took, set[str]]:
    """Autograde all submissions, in a copy of the course whose gradebook is empty.

    Returns:
        What the command took, and the students with full marks for all exercises.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "course"
        shutil.copytree(course, copy)
        took = nbgrader(copy, "autograde", unit, cores)
        points = points_in(copy / "gradebook.db", unit)
    possible = possible_points(unit)
    return took, {student for student, earned in points.items() if earned == possible}


def points_in(gradebook: Path, unit: str) -> dict[str, dict[str, float]]:
    """Return the points of each student, by exercise. The quiz is left out: no notebook here answers it."""
    with Gradebook(f"sqlite:///{gradebook}", COURSE_ID) as book:
        return {
            submission.student.id: {
                exercise: grade.auto_score
                for grade in itertools.chain.from_iterable(notebook.grades for notebook in submission.notebooks)
                if (exercise := grade.name.removeprefix("test_")) in COURSE.units[unit].exercises
            }
            for submission in book.assignment_submissions(unit)
        }


def possible_points(unit: str) -> dict[str, int]:
    tests = Counter(criterion.exercise for criterion in criteria_of_unit(COURSE, unit))
    return {exercise: tests[exercise] * weight for exercise, weight in COURSE.units[unit].exercises.items()}
