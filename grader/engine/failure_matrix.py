"""The failure matrix: what every misconception comes to, criterion by criterion.

`grader build` runs each misconception on the criteria of its exercise, and keeps the outcomes in build/failures/, a
file an exercise. The diagnosis compares submissions with them, so it runs no misconception while it grades, and the
audit and the tests read the same files. A file is current as long as suites, checks, substitutes, solutions and torch
are those that it was made with; what is not current is not read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from filelock import FileLock

from grader.engine.criteria import Criterion, criteria_of_unit
from grader.engine.outcomes import Outcome
from grader.files import PACKAGE, write_atomically
from grader.sandbox import protocol, values
from grader.testing.backend import InProcessBackend
from grader.testing.misconceptions import Misconception, MisconceptionError, made_file, misconceptions_of
from grader.testing.recorder import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grader.course.model import Course

Rows = dict[str, dict[str, Outcome]]
"""The outcome of each criterion, by the misconception's name and the criterion's."""


def recorded(course: Course, unit: str, exercise: str) -> Rows | None:
    """What was recorded of an exercise's misconceptions; None where nothing was, or where it is out of date."""
    return _read(_file(course, unit, exercise), key_of(course, unit))


def outdated(course: Course, units: Iterable[str]) -> list[tuple[str, str]]:
    """The exercises of these units, each with its unit, whose outcomes are not recorded, or are out of date."""
    exercises = [(unit, exercise) for unit in units for exercise in course.units[unit].exercises]
    return [(unit, exercise) for unit, exercise in exercises if not _is_current(course, unit, exercise)]


def fill(course: Course, units: Iterable[str], advance: Callable[[str], None] = lambda _exercise: None) -> None:
    """Record what is missing or out of date, with all processors, and once whoever else asks for it.

    Args:
        course: The course that the units belong to.
        units: The names of the units to record, whose misconceptions have been built.
        advance: Called with each exercise that is done.

    Raises:
        MisconceptionError: A misconception loses no criterion.
        OSError: The files cannot be written.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        return  # a process of the pool below imports the program that called this, and that holds the lock
    folder = _folder(course)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        # Classes take the longest, so they come first.
        missing = sorted(outdated(course, units), key=lambda one: not one[1][0].isupper())
        if not missing:
            return
        context = multiprocessing.get_context("spawn")  # a fork would lack this process's threads
        with ProcessPoolExecutor(min(os.cpu_count() or 1, len(missing)), context, _begin) as pool:
            waiting = {pool.submit(_record, course, *one): one for one in missing}
            try:
                for done in as_completed(waiting):
                    done.result()
                    advance("/".join(waiting[done]))
            finally:
                pool.shutdown(cancel_futures=True)


def run(criteria: Sequence[Criterion], known: Sequence[Misconception]) -> Rows:
    """Run every misconception on every criterion of its exercise, in this process."""
    return {
        one.name: {
            criterion.name: criterion.run(InProcessBackend(criterion.unit, {one.exercise: one.implementation}))
            for criterion in criteria
            if criterion.exercise == one.exercise
        }
        for one in known
    }


@functools.cache
def key_of(course: Course, unit: str) -> bytes:
    """The digest of all that a unit's outcomes depend on. Its misconceptions have been built.

    Of the solutions only what the misconceptions are made of counts, which is in the file that was built of them.
    """
    total = hashlib.sha256(f"{torch.__version__} {course.version}".encode())
    for path in [
        *sorted(course.suites.glob("*.py")),
        *sorted((course.suites / unit).glob("*.py")),
        *(path for folder in ("sandbox", "testing", "engine") for path in sorted((PACKAGE / folder).glob("*.py"))),
    ]:
        total.update(path.read_bytes())
    made = made_file(course, unit)
    built = made.read_bytes() if made.exists() else b""
    total.update(built.partition(b"\n")[2])  # its first line is a digest of all solutions
    return total.digest()


# -- the files ---------------------------------------------------------------------------------------------------


def _is_current(course: Course, unit: str, exercise: str) -> bool:
    key = key_of(course, unit)
    with contextlib.suppress(OSError), _file(course, unit, exercise).open("rb") as file:
        return file.read(len(key)) == key
    return False


def _folder(course: Course) -> Path:
    return course.caches / "failures"


def _file(course: Course, unit: str, exercise: str) -> Path:
    return _folder(course) / f"{unit}.{exercise}"


@functools.cache
def _read(file: Path, key: bytes) -> Rows | None:
    try:
        data = file.read_bytes()
    except OSError:
        return None
    if not data.startswith(key):
        return None
    sizes = protocol.HEADER.size
    json_bytes, _ = protocol.HEADER.unpack_from(data, len(key))
    text = data[len(key) + sizes : len(key) + sizes + json_bytes]
    message, tensors = protocol.unpack(text, data[len(key) + sizes + json_bytes :])
    rows = values.decode(message["rows"], tensors)
    return {name: {criterion: _outcome(*one) for criterion, one in row.items()} for name, row in rows.items()}


def _record(course: Course, unit: str, exercise: str) -> None:
    criteria = [one for one in criteria_of_unit(course, unit) if one.exercise == exercise]
    known = [one for one in misconceptions_of(course, unit) if one.exercise == exercise]
    rows = run(criteria, known)
    for one in known:
        if all(outcome.passed for outcome in rows[one.name].values()):
            raise MisconceptionError(
                f"{one.place}: {one.name} loses no criterion of {exercise}: change what it does, or add the criterion."
            )
    tensors: list[torch.Tensor] = []
    plain = {name: {criterion: _plain(one) for criterion, one in row.items()} for name, row in rows.items()}
    message = {"rows": values.encode(plain, tensors)}
    write_atomically(_file(course, unit, exercise), key_of(course, unit) + protocol.pack(message, tensors))


def _plain(outcome: Outcome) -> tuple[Any, ...]:
    """What the diagnosis asks of an outcome, without what a student reads."""
    return outcome.passed, outcome.kind, [(one.value, one.within) for one in outcome.observations]


def _outcome(passed: bool, kind: str, seen: Sequence[tuple[Any, float]]) -> Outcome:
    return Outcome(passed, kind, observations=tuple(Observation(value, within) for value, within in seen))


def _begin() -> None:
    torch.set_num_threads(1)
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - whatever a misconception prints
