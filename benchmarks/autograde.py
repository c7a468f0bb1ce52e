"""How fast `nbgrader autograde` is with the grader in it, beside nbgrader's own `Execute` with the same tests.

    python benchmarks/autograde.py

Both grade the same notebooks of one unit, each in a course of its own and in turn, with the same nbgrader. The peer
is nbgrader as it comes: it runs each notebook in a kernel of its own, where the test cells run the suite's criteria on
what the student's cells defined, a point for each. It has no isolation, no substitutes, no diagnosis and no feedback to
write. Each may use the whole machine, as it does for an instructor. It takes about ten minutes.
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
# Of every eight notebooks: four are right, three have mistakes, and one is not finished.
KINDS = ("right", "mistaken", "unfinished", "right", "mistaken", "right", "mistaken", "right")

PEER_CONFIGURATION = f"""\
c = get_config()
c.CourseDirectory.course_id = "{COURSE_ID}"
"""
# The last line is the cell's result, which nbgrader takes for its points.
PEER_TESTS = """\
from grader.testing.backend import InProcessBackend
from grader.engine.criteria import criteria_of
from grader.suites.{unit} import test_{unit} as suite

beside = InProcessBackend("{unit}", globals())
criteria = criteria_of(suite, "{unit}", "{version}").values()
sum(criterion.run(beside).passed for criterion in criteria if criterion.exercise == "{exercise}") * {weight}"""
# Nobody here answers a quiz, and nothing is faster than this.
PEER_QUIZ = "0"

Cell = nbformat.NotebookNode
# By student and exercise.
Points = dict[tuple[str, str], float]


# -- the class -----------------------------------------------------------------------------------------------------


def make_notebooks(course: Path, unit: str, number: int) -> list[str]:
    """Puts what each student handed in into a course's folder submitted/, and gives the students' names."""
    release = nbformat.read(course / "release" / unit / f"{unit}.ipynb", as_version=4)
    stubs = {name: cell.source for name, cell in cells_by_name(release).items()}
    exercises = COURSE.units[unit].exercises
    files = [pieces(text, exercises) for text in accepted_answers(unit) if stands_alone(unit, text)]
    # A kernel needs what an exercise calls in the cells above its tests.
    right = [answers for answers in files if list(answers) == list(exercises)]
    known = misconceptions_of(COURSE, unit)
    students = []
    for count in range(number):
        kind = KINDS[count % len(KINDS)]
        answers = dict(right[count // 2 % len(right) if kind == "right" else 0])
        if kind == "mistaken":
            # One, two or three of them, from all over the unit's list.
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
    """Whether it imports no other unit, for a notebook has none beside it."""
    return len(with_imports(unit, text, ROOT / "solutions")) == 1


def pieces(text: str, exercises: Container[str]) -> dict[str, str]:
    """A unit's file cut into a piece for each exercise, which ends with its definition; the last has all the rest."""
    # The solution's own marks go, and its text cells, which are comments there.
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
    # nbgrader calls alembic by its name, and the peer's test cells import the suite.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    took, _ = run([sys.executable, "-m", "nbgrader", command, unit], course, (0,), PATH=path, PYTHONPATH=str(ROOT))
    return took


def make_courses(folder: Path, unit: str, number: int) -> tuple[Path, Path]:
    """Two courses with the same notebooks handed in: ours as it is released, and the peer's."""
    ours, peer = folder / "ours", folder / "peer"
    run([sys.executable, "-m", "grader", "release", "nbgrader", str(ours)], ROOT, (0,))
    shutil.copytree(ours / "source" / unit, peer / "source" / unit)
    (peer / "nbgrader_config.py").write_text(PEER_CONFIGURATION, encoding="utf-8")
    put_tests_in(peer / "source" / unit / f"{unit}.ipynb", unit)
    for course in (ours, peer):
        nbgrader(course, "generate_assignment", unit)
    make_notebooks(ours, unit, number)
    shutil.copytree(ours / "submitted", peer / "submitted")
    return ours, peer


def put_tests_in(source: Path, unit: str) -> None:
    """Makes test cells, which ours leaves to the grader, of the kind that nbgrader runs itself."""
    notebook = nbformat.read(source, as_version=4)
    for name, cell in cells_by_name(notebook).items():
        if cell.metadata.nbgrader.grade:
            exercise = name.removeprefix("test_")
            tests = tests_of(unit, exercise) if exercise in COURSE.units[unit].exercises else PEER_QUIZ
            cell.source = f"### BEGIN HIDDEN TESTS\n{tests}\n### END HIDDEN TESTS"
    nbformat.write(notebook, source)


def tests_of(unit: str, exercise: str) -> str:
    """The tests of an exercise as a cell of the notebook in which the answer is."""
    weight = COURSE.units[unit].exercises[exercise]
    return PEER_TESTS.format(unit=unit, version=COURSE.version, exercise=exercise, weight=weight)


def autograde(course: Path, unit: str) -> tuple[Took, Points]:
    """Autogrades everything that was handed in, in a copy of the course that knows no submission yet."""
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


def agreement(ours: Points, peer: Points, unit: str) -> str:
    """On how many exercises of how many students both give the same points. Exits where they must, and do not.

    Both have to run the same tests, or the comparison is idle. They may differ where an answer calls another one
    that is wrong: ours then asks once more, with a substitute for that one, and the peer has none.
    """
    if ours.keys() != peer.keys():
        raise SystemExit("The two sides did not grade the same exercises of the same students.")
    for (student, exercise), points in ours.items():
        possible = possible_points(unit)[exercise]
        if student.startswith("right") and not points == peer[student, exercise] == possible:
            raise SystemExit(
                f"{student} has {points} points with the grader and {peer[student, exercise]} with the peer, of "
                f"{possible}, for {exercise}."
            )
    same, more = (sum(which(points, peer[key]) for key, points in ours.items()) for which in (eq, gt))
    return f"the same points in {same} of {len(ours)} cells, with the grader more in {more} and less in the others"


def possible_points(unit: str) -> dict[str, int]:
    suite = importlib.import_module(f"grader.suites.{unit}.test_{unit}")
    tests = Counter(criterion.exercise for criterion in criteria_of(suite, unit, COURSE.version).values())
    return {exercise: tests[exercise] * weight for exercise, weight in COURSE.units[unit].exercises.items()}


def show(pairs: list[tuple[Took, Took]], number: int) -> None:
    print(f"{'seconds a notebook, medians':34}{'on the clock':>14}{'processor':>12}")
    clocks = attrgetter("wall"), attrgetter("processor")
    for place, name in enumerate(("the grader in nbgrader", "nbgrader's own Execute")):
        medians = [statistics.median(clock(pair[place]) / number for pair in pairs) for clock in clocks]
        print(f"  {name:32}{medians[0]:14.2f}{medians[1]:12.2f}")
    ratios = [statistics.median(clock(ours) / clock(peer) for ours, peer in pairs) for clock in clocks]
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
            # Now the one first, now the other.
            order = courses if count % 2 == 0 else courses[::-1]
            done = {course: autograde(course, chosen.unit) for course in order}
            (ours, points), (peer, peers_points) = (done[course] for course in courses)
            agreed = agreement(points, peers_points, chosen.unit)
            pairs.append((ours, peer))
    print(f"{chosen.notebooks} notebooks of {chosen.unit}, {chosen.times} rounds, start-up counted")
    show(pairs, chosen.notebooks)
    print(agreed)


if __name__ == "__main__":
    main()
