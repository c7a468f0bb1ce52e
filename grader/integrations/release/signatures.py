"""Makes the signatures of a course's misconceptions for the students' grader."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from grader.audit.visible import solution_names
from grader.engine.criteria import visible_criteria_of_unit
from grader.engine.failure_matrix import key_of, start_worker
from grader.engine.signatures import Signature, to_json
from grader.files import write_atomically
from grader.testing.backend import InProcessBackend
from grader.testing.misconceptions import build, misconceptions_of

if TYPE_CHECKING:
    from grader.course.model import Course


def signatures_of(course: Course) -> bytes:
    """Return the file of signatures. It is kept in build/ until something that it depends on changes.

    Raises:
        MisconceptionError: The misconceptions cannot be built.
        GraderError: The visible tests cannot be read.
        OSError: The file cannot be written.
    """
    build(course, course.units)
    path = course.caches / "signatures" / _digest(course)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        for outdated in path.parent.iterdir():
            outdated.unlink(missing_ok=True)
        context = multiprocessing.get_context("spawn")  # a fork would lack this process's threads
        with ProcessPoolExecutor(os.cpu_count(), context, start_worker) as pool:
            found = pool.map(partial(_of_unit, course), course.units)
            write_atomically(path, to_json(one for unit in found for one in unit))
    return path.read_bytes()


def _of_unit(course: Course, unit: str) -> list[Signature]:
    """Return the signature of each misconception of a unit that fails a visible test."""
    solution, criteria = solution_names(course, unit), visible_criteria_of_unit(course, unit)
    found = []
    for one in misconceptions_of(course, unit):
        backend = InProcessBackend(unit, {**solution, one.exercise: one.implementation})
        outcomes = {test.name: test.run(backend) for test in criteria if test.exercise == one.exercise}
        if row := {name: outcome for name, outcome in outcomes.items() if not outcome.passed}:
            found.append(Signature(one.exercise, one.name, one.sentence, row))
    return found


def _digest(course: Course) -> str:
    total = hashlib.sha256()
    for unit in course.units:
        total.update(key_of(course, unit))
    for path in sorted(
        [*course.solutions.glob("*.py"), *course.exercises.glob("*.py"), *course.exercises.glob("*.json")]
    ):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]
