"""Compares the time of `nbgrader autograde` with the grader and with nbgrader's own `Execute`, on the same tests.

    python benchmarks/autograde.py

Both grade the same notebooks of one unit, in turn, each in its own course. The baseline is unmodified nbgrader. It runs
each notebook in a new kernel, where the test cells run the suite's criteria on what the student's cells defined, with a
point for each. It has no isolation, no substitutes, no diagnosis and no feedback. Each side may use the whole machine,
as for an instructor. The benchmark takes about ten minutes.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Container
from operator import attrgetter, eq, gt
from pathlib import Path

import nbformat
from class_throughput import Took, accepted_answers, read, run, source_of
from nbgrader.api import Gradebook

from grader.audit.cases import with_imports
from grader.course.model import load_course
from grader.engine.criteria import criteria_of
from grader.sandbox.loader import split
from grader.testing.misconceptions import misconceptions_of

ROOT = Path(__file__).resolve().parents[1]
COURSE = load_course(ROOT)
COURSE_ID = "attention_from_scratch"
UNIT = "self_attention"
# Of every eight notebooks four are right, three have mistakes, and one is not finished.
KINDS = ("right", "mistaken", "unfinished", "right", "mistaken", "right", "mistaken", "right")

BASELINE_CONFIGURATION = f"""\
c = get_config()
c.CourseDirectory.course_id = "{COURSE_ID}"
"""
# The last line is the cell's result, which nbgrader uses as its points.
BASELINE_TESTS = """\
from grader.testing.backend import InProcessBackend
from grader.engine.criteria import criteria_of
from grader.suites.{unit} import test_{unit} as suite

backend = InProcessBackend("{unit}", globals())
criteria = criteria_of(suite, "{unit}", "{version}").values()
sum(criterion.run(backend).passed for criterion in criteria if criterion.exercise == "{exercise}") * {weight}"""
# No notebook here answers a quiz, and this is the fastest test.
BASELINE_QUIZ = "0"

Cell = nbformat.NotebookNode
# By student and exercise.
Points = dict[tuple[str, str], float]


# -- the class -----------------------------------------------------------------------------------------------------


def make_notebooks(course: Path, unit: str, number: int) -> list[str]:
    """Write each student's notebook to the folder submitted/ of a course, and return the students' names."""
    release = nbformat.read(course / "release" / unit / f"{unit}.ipynb", as_version=4)
    stubs = {name: cell.source for name, cell in cells_by_name(release).items()}
    exercises = COURSE.units[unit].exercises
    files = [pieces(text, exercises) for text in accepted_answers(unit) if stands_alone(unit, text)]
    # In a kernel, what an exercise calls must be defined in a cell above its tests.
    right = [answers for answers in files if list(answers) == list(exercises)]
    known = misconceptions_of(COURSE, unit)
    students = []
    for count in range(number):
        kind = KINDS[count % len(KINDS)]
        answers = dict(right[count // 2 % len(right) if kind == "right" else 0])
        if kind == "mistaken":
            # One, two or three mistakes, spread over the unit's list.
            for more in range(1 + count % 3):
                mistake = known[(len(known) * count // number + more * len(known) // 3) % len(known)]
                answers[mistake.exercise] = source_of(mistake)
        if kind == "unfinished":
            for exercise in list(answers)[count % len(answers) :]:
                answers[exercise] = stubs[exercise]
        students.append(f"{kind}-{count:02}")
        write_notebook(course / "submitted" / students[-1] / unit / f"{unit}.ipynb", release, answers)
    return students


def stands_alone(unit: str, text: str) -> bool:
    """Return whether the text imports no other unit: a notebook has no other unit beside it."""
    return len(with_imports(unit, text, ROOT / "solutions")) == 1


def pieces(text: str, exercises: Container[str]) -> dict[str, str]:
    """Split a unit's file into one piece per exercise. A piece ends with its definition; the last has the rest."""
    # Remove the solution's markers, and its text cells, which are comments.
    lines = [line for line in text.splitlines() if not (line.startswith("#") or line.strip().startswith("###"))]
    ends = {
        name: piece.tree.body[0].end_lineno
        for piece in split("\n".join(lines))
        for name in piece.names
        if piece.tree and name in exercises
    }
    *cuts, _ = ends.values()
    spans = itertools.pairwise([0, *cuts, None])
    return {name: "\n".join(lines[begin:end]).strip() for name, (begin, end) in zip(ends, spans, strict=True)}


def write_notebook(path: Path, release: nbformat.NotebookNode, answers: dict[str, str]) -> None:
    notebook = nbformat.from_dict(release)
    for exercise, text in answers.items():
        cells_by_name(notebook)[exercise].source = text
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


def cells_by_name(notebook: nbformat.NotebookNode) -> dict[str, Cell]:
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


# -- the two sides -------------------------------------------------------------------------------------------------


def nbgrader(course: Path, command: str, unit: str) -> Took:
    # nbgrader finds alembic on the path, and the baseline's test cells import the suite.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    took, _ = run([sys.executable, "-m", "nbgrader", command, unit], course, (0,), PATH=path, PYTHONPATH=str(ROOT))
    return took


def make_courses(folder: Path, unit: str, number: int) -> tuple[Path, Path]:
    """Make two courses with the same submitted notebooks: ours as it is released, and the baseline's."""
    ours, baseline = folder / "ours", folder / "baseline"
    run([sys.executable, "-m", "grader", "release", "nbgrader", str(ours)], ROOT, (0,))
    shutil.copytree(ours / "source" / unit, baseline / "source" / unit)
    (baseline / "nbgrader_config.py").write_text(BASELINE_CONFIGURATION, encoding="utf-8")
    put_tests_in(baseline / "source" / unit / f"{unit}.ipynb", unit)
    for course in (ours, baseline):
        nbgrader(course, "generate_assignment", unit)
    make_notebooks(ours, unit, number)
    shutil.copytree(ours / "submitted", baseline / "submitted")
    return ours, baseline


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


def autograde(course: Path, unit: str) -> tuple[Took, Points]:
    """Autograde all submissions, in a copy of the course whose gradebook is empty."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "course"
        shutil.copytree(course, copy)
        took = nbgrader(copy, "autograde", unit)
        return took, points_in(copy / "gradebook.db", unit)


def points_in(gradebook: Path, unit: str) -> Points:
    with Gradebook(f"sqlite:///{gradebook}", COURSE_ID) as book:
        return {
            (submission.student.id, exercise): grade.auto_score
            for submission in book.assignment_submissions(unit)
            for notebook in submission.notebooks
            for grade in notebook.grades
            if (exercise := grade.name.removeprefix("test_")) in COURSE.units[unit].exercises
        }


# -- the whole -----------------------------------------------------------------------------------------------------


def agreement(ours: Points, baseline: Points, unit: str) -> str:
    """Return in how many cells both sides give the same points. Exits if they differ on a right answer.

    The comparison is only valid if both run the same tests. They may differ if an answer calls a wrong one: the grader
    then runs the test again with a substitute, which the baseline does not have.
    """
    if ours.keys() != baseline.keys():
        raise SystemExit("The two sides did not grade the same exercises of the same students.")
    for (student, exercise), points in ours.items():
        possible = possible_points(unit)[exercise]
        if student.startswith("right") and not points == baseline[student, exercise] == possible:
            raise SystemExit(
                f"{student} has {points} points with the grader and {baseline[student, exercise]} with the baseline, "
                f"of {possible}, for {exercise}."
            )
    same, more = (sum(which(points, baseline[key]) for key, points in ours.items()) for which in (eq, gt))
    return f"the same points in {same} of {len(ours)} cells, with the grader more in {more} and less in the others"


def possible_points(unit: str) -> dict[str, int]:
    suite = importlib.import_module(f"grader.suites.{unit}.test_{unit}")
    tests = Counter(criterion.exercise for criterion in criteria_of(suite, unit, COURSE.version).values())
    return {exercise: tests[exercise] * weight for exercise, weight in COURSE.units[unit].exercises.items()}


def show(pairs: list[tuple[Took, Took]], number: int) -> None:
    print(f"{'seconds a notebook, medians':34}{'wall clock':>14}{'processor':>12}")
    clocks = attrgetter("wall"), attrgetter("processor")
    for place, name in enumerate(("the grader in nbgrader", "nbgrader's own Execute")):
        medians = [statistics.median(clock(pair[place]) / number for pair in pairs) for clock in clocks]
        print(f"  {name:32}{medians[0]:14.2f}{medians[1]:12.2f}")
    ratios = [statistics.median(clock(ours) / clock(baseline) for ours, baseline in pairs) for clock in clocks]
    print(f"  {'share of its time':32}{ratios[0]:14.3f}{ratios[1]:12.3f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    units = [unit for unit in COURSE.units if stands_alone(unit, read("solutions", unit))]
    arguments.add_argument("--unit", choices=units, default=UNIT)
    arguments.add_argument("--notebooks", type=int, default=30)
    arguments.add_argument("--times", type=int, default=3)
    chosen = arguments.parse_args()
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        courses = make_courses(Path(folder), chosen.unit, chosen.notebooks)
        for count in range(chosen.times):
            # The sides take turns in being first.
            order = courses if count % 2 == 0 else courses[::-1]
            done = {course: autograde(course, chosen.unit) for course in order}
            (ours, points), (baseline, baseline_points) = (done[course] for course in courses)
            agreed = agreement(points, baseline_points, chosen.unit)
            pairs.append((ours, baseline))
    print(f"{chosen.notebooks} notebooks of {chosen.unit}, {chosen.times} rounds, start-up counted")
    show(pairs, chosen.notebooks)
    print(agreed)


if __name__ == "__main__":
    main()
