"""Makes the signatures of a course's misconceptions for the students' grader."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from grader.course.model import Course
from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.failure_matrix import Signature, solution_names, start_worker, to_json
from grader.files import PACKAGE, digest, write_atomically
from grader.testing.misconceptions import build, misconceptions_of
from grader.testing.student import InProcessBackend


def signatures_of(course: Course) -> bytes:
    """Return the file of signatures. It is kept in build/ until something that it depends on changes.

    Raises:
        MisconceptionError: A misconception cannot be built.
        GraderError: A visible test cannot be read.
        OSError: The file cannot be written.
    """
    path = course.caches / "signatures" / _digest(course)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        for outdated in path.parent.iterdir():
            outdated.unlink(missing_ok=True)
        # New processes, in which no module of another course has the names of this one's.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(os.cpu_count(), context, _start_worker, (course,)) as pool:
            found = pool.map(partial(_of_unit, course), course.units)
            write_atomically(path, to_json(one for unit in found for one in unit))
    return path.read_bytes()


def _start_worker(course: Course) -> None:
    start_worker()
    sys.path.insert(0, str(course.exercises))  # before the folders of other courses that this process inherits


def _of_unit(course: Course, unit: str) -> list[Signature]:
    """Return the signature of each misconception of a unit that fails a visible test."""
    build(course, [unit])
    solution, criteria = solution_names(course, unit), visible_criteria_of_unit(course, unit)
    found = []
    for one in misconceptions_of(course, unit):
        backend = InProcessBackend(unit, {**solution, one.exercise: one.implementation})
        outcomes = {test.name: test.run(backend) for test in criteria if test.exercise == one.exercise}
        if row := {name: outcome for name, outcome in outcomes.items() if not outcome.passed}:
            found.append(Signature(one.exercise, one.name, one.sentence, row))
    return found


def _digest(course: Course) -> str:
    """Return the digest of what the signatures depend on."""
    total = hashlib.sha256()
    for folder, patterns in (
        (course.suites, ["**/*.py"]),
        (course.solutions, ["*.py"]),
        (course.exercises, ["*.py", "*.json"]),
        (PACKAGE, ["engine/*.py", "sandbox/*.py", "testing/*.py"]),
    ):
        total.update(digest(sorted(path for pattern in patterns for path in folder.glob(pattern)), folder))
    return total.hexdigest()[:16]
