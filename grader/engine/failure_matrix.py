"""The failure matrix: the outcome of each criterion for the solution, which passes, and for each misconception.

`grader build` runs each misconception on the criteria of its exercise, and keeps the outcomes in build/failures/, one
file per exercise. The diagnosis compares submissions with them, so grading runs no misconception. The audit and the
tests read the same files. A file that was made with other suites, checks, substitutes, solutions or another torch is
outdated, and is not read.

Signatures are the same for the visible tests: `grader check` names a student's mistake by them. `grader release` makes
them, and they are part of the students' grader. They hold no code and no hidden input. The name and the sentence of a
misconception can be read only with its signature, from which their key is made. That keeps them from being read by
chance. It is no secret: the signatures are in the same file.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import json
import math
import multiprocessing
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

from grader.course.model import Course
from grader.course.modules import SuiteError, described, shown
from grader.engine.criteria import Criterion, criteria_of_unit
from grader.engine.grading_processes import OUT_OF_MEMORY, LimitExceeded, ran_out_of_memory
from grader.engine.outcomes import MISSING, Outcome
from grader.errors import GraderError, SuiteFault
from grader.files import PACKAGE, mixed, write_atomically
from grader.sandbox import protocol, values
from grader.testing.misconceptions import MisconceptionError, made_file, misconceptions_of
from grader.testing.running_test import Observation
from grader.testing.student import InProcessBackend
from grader.text import ended

Rows = dict[str, dict[str, Outcome]]
"""The outcome of each criterion, by the misconception's name and the criterion's."""
FILENAME = "signatures.json"
STARTS = multiprocessing.get_context("spawn")
"""How pools start their processes: new ones, because a fork of a process with threads lacks them."""
Coded = tuple[str, str]
"""The outcomes of a signature, and its name and sentence."""


def with_solution(course: Course, criterion: Criterion, outcome: Outcome) -> str:
    """Return a sentence for the instructor on a test that raised with a student's answer; "" if it did not.

    Raises:
        SuiteFault: It raises with the solution too, or asks for a name that the solution has not, so the answer is not
            the cause.
    """
    if not criterion.file.is_relative_to(course.suites):
        return outcome.fault  # visible tests are proved by `grader build`, and students have no solutions
    try:
        names = solution_names(course, criterion.unit)
    except SuiteError as error:
        raise SuiteFault(str(error)) from error
    right = criterion.run(InProcessBackend(criterion.unit, names), outcome.substitutes)
    if right.fault or right.kind == "not defined":
        raise SuiteFault(failed_by_solution(criterion, right))
    return outcome.fault and (
        f"{outcome.fault} The test {criterion.name} raises this with an answer and not with the solution, so the point "
        "is lost: check the value in the test first."
    )


def failed_by_solution(criterion: Criterion, outcome: Outcome) -> str:
    """Return a sentence for the author of a test that the solution fails."""
    place = f"{shown(criterion.file)}:{criterion.line}: {outcome.reason} {outcome.detail}".rstrip()
    return f"{outcome.fault or ended(place)} This is so with the solution too: correct the test {criterion.name}."


def solution_names(course: Course, unit: str) -> dict[str, Any]:
    """Run the solution of a unit in this process, and return the names in it.

    Raises:
        SuiteError: It raises an error.
        LimitExceeded: This process has no memory or time left for it.
    """
    path = course.solutions / f"{unit}.py"
    try:
        texts = with_imports(unit, path.read_text(encoding="utf-8"), course.solutions)
        return names_in(unit, texts, course.solutions)
    except LimitExceeded:
        raise
    except Exception as error:
        if ran_out_of_memory(error):
            raise LimitExceeded(OUT_OF_MEMORY) from error
        raise SuiteError(f"{described(error, path)} Correct it.") from error


def with_imports(unit: str, text: str, siblings: Path) -> dict[str, str]:
    """Return the texts of the units that a unit imports from the folder `siblings`, directly or not, then its own.

    The folder also has the units that autograder.yml leaves out and a solution needs.
    """
    sources: dict[str, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and (path := siblings / f"{node.module}.py").is_file():
            sources |= with_imports(node.module, path.read_text(encoding="utf-8"), siblings)
    return {**sources, unit: text}


def names_in(unit: str, sources: Mapping[str, str], folder: Path = Path()) -> dict[str, Any]:
    """Run these sources in this process, and return the names in the last one, the unit's file.

    folder: where the sources are, for the traces of errors.

    Raises:
        Exception: Anything that they raise.
    """
    before = {name: sys.modules[name] for name in sources if name in sys.modules}
    try:
        with warnings.catch_warnings(action="ignore"):
            for name, text in sources.items():
                module = sys.modules[name] = types.ModuleType(name)
                exec(compile(text, str(folder / f"{name}.py"), "exec", dont_inherit=True), module.__dict__)
        return vars(sys.modules[unit])
    finally:
        for name in sources:
            sys.modules.pop(name, None)
        sys.modules.update(before)  # the packages of suites may have the names of units


def recorded(course: Course, unit: str, exercise: str) -> Rows | None:
    """Return the recorded outcomes of an exercise's misconceptions, or None if they are missing or outdated."""
    return _read(_file(course, unit, exercise), key_of(course, unit))


def outdated(course: Course, units: Iterable[str]) -> list[tuple[str, str]]:
    """Return the exercises of these units whose outcomes are missing or outdated, each with its unit."""
    exercises = [(unit, exercise) for unit in units for exercise in course.units[unit].exercises]
    return [(unit, exercise) for unit, exercise in exercises if not _is_current(course, unit, exercise)]


def fill(
    course: Course,
    units: Iterable[str],
    advance: Callable[[str], None] = lambda _exercise: None,
    exercise: str | None = None,
) -> None:
    """Record missing and outdated outcomes on all processors. A lock prevents that two processes do it twice.

    Args:
        course: The course that the units belong to.
        units: The names of the units to record. Their misconceptions are built already.
        advance: Called with each exercise when it is done.
        exercise: The only exercise to record; by default all.

    Raises:
        SuiteError: A test cannot be used, or the solution fails it.
        MisconceptionError: A misconception loses no criterion, or cannot be run.
        OSError: The files cannot be written.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        return  # a process of the pool below imports the main program, which may call this while it holds the lock
    folder = course.caches / "failures"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        # Classes take longest, so they come first.
        wanted = [one for one in outdated(course, units) if exercise in (None, one[1])]
        missing = sorted(wanted, key=lambda one: not one[1][0].isupper())
        if not missing:
            return
        with worker_pool(min(os.cpu_count() or 1, len(missing))) as pool:
            waiting = {pool.submit(_record, course, *one): one for one in missing}
            try:
                for done in as_completed(waiting):
                    done.result()
                    advance("/".join(waiting[done]))
            finally:
                pool.shutdown(cancel_futures=True)


@functools.cache
def key_of(course: Course, unit: str) -> bytes:
    """Return the digest of all that a unit's outcomes depend on. Its misconceptions are built already.

    The solutions count as far as the misconceptions use them, which the file of built misconceptions contains.
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


def require_proof(
    course: Course, criteria: Iterable[Criterion], limited: Callable[[], AbstractContextManager[None]] | None = None
) -> None:
    """Run the solution on hidden tests, if they changed since their outcomes were recorded.

    Args:
        course: The course.
        criteria: The tests.
        limited: Returns the limits of one unit, if the tests exceeded one with an answer.

    Raises:
        SuiteFault: The solution fails one, or exceeds that limit too, so no submission may lose a point.
    """
    hidden = [one for one in criteria if one.file.is_relative_to(course.suites)]
    if all(_is_current(course, one.unit, one.exercise) for one in hidden):
        return
    running = hidden[0]
    try:
        with limited() if limited else contextlib.nullcontext():
            backend = InProcessBackend(running.unit, solution_names(course, running.unit))
            for running in hidden:
                _require_passed(running, backend)
    except LimitExceeded as error:
        if not limited:
            raise
        if str(error) != OUT_OF_MEMORY:  # an answer can use up the memory, and not the time of the solution
            # The trace may have no line of the suite: what ran in the test may have handled the error first.
            place = described(error, running.file, running.line)
            raise SuiteFault(f"{place} This is so with the solution too: correct the test.") from error
    except GraderError as error:
        raise SuiteFault(str(error)) from error


# -- the files ---------------------------------------------------------------------------------------------------


def _is_current(course: Course, unit: str, exercise: str) -> bool:
    key = key_of(course, unit)
    with contextlib.suppress(OSError), _file(course, unit, exercise).open("rb") as file:
        return file.read(len(key)) == key
    return False


def _file(course: Course, unit: str, exercise: str) -> Path:
    return course.caches / "failures" / f"{unit}.{exercise}"


@functools.cache
def _read(file: Path, key: bytes) -> Rows | None:
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return unpacked(data[len(key) :]) if data.startswith(key) else None


def _record(course: Course, unit: str, exercise: str) -> None:
    criteria = [one for one in criteria_of_unit(course, unit) if one.exercise == exercise]
    known = [one for one in misconceptions_of(course, unit) if one.exercise == exercise]
    backend = InProcessBackend(unit, solution_names(course, unit))
    for criterion in criteria:
        _require_passed(criterion, backend)
    rows = {
        one.name: {
            criterion.name: criterion.run(InProcessBackend(unit, {exercise: one.implementation}))
            for criterion in criteria
        }
        for one in known
    }
    for one in known:
        missing = {outcome.detail for outcome in rows[one.name].values() if outcome.kind == "raised"}
        if typo := next(filter(MISSING.match, sorted(missing)), None):
            raise MisconceptionError(f"{one.place}: {one.name} cannot be run: {ended(typo)} Correct it.")
        if all(outcome.passed for outcome in rows[one.name].values()):
            raise MisconceptionError(
                f"{one.place}: {one.name} loses no criterion of {exercise}: change what it does, or add the criterion."
            )
    write_atomically(_file(course, unit, exercise), key_of(course, unit) + packed(rows))


def _require_passed(criterion: Criterion, solution: InProcessBackend) -> None:
    """Raise SuiteError if the solution fails a test."""
    outcome = criterion.run(solution)
    if not outcome.passed:
        raise SuiteError(failed_by_solution(criterion, outcome))


def packed(rows: Rows) -> bytes:
    """Return the part of these outcomes that the diagnosis compares, as bytes."""
    encoder = values.Encoder(most_bytes=math.inf, most_tensors=math.inf)
    plain = {name: {criterion: _compared(one) for criterion, one in row.items()} for name, row in rows.items()}
    return protocol.pack(encoder.encode(plain), encoder.data)


def unpacked(data: bytes) -> Rows:
    """Return what `packed` packed."""
    text, tensors = protocol.halves(data)
    rows = values.Decoder(tensors).decode(protocol.unpack(text))
    return {name: {criterion: _outcome(*one) for criterion, one in row.items()} for name, row in rows.items()}


def _compared(outcome: Outcome) -> tuple[Any, ...]:
    """Return the part of an outcome that the diagnosis compares."""
    return outcome.passed, outcome.kind, [(one.value, one.within) for one in outcome.observations]


def _outcome(passed: bool, kind: str, seen: Sequence[tuple[Any, float]]) -> Outcome:
    return Outcome(passed, kind, observations=tuple(Observation(value, within) for value, within in seen))


def worker_pool(jobs: int, prepare: Callable[..., None] | None = None, *arguments: Any) -> ProcessPoolExecutor:
    """Return a pool of processes that run misconceptions and other answers.

    prepare: what each calls first, with these arguments; by default `start_worker`.
    """
    return ProcessPoolExecutor(jobs, STARTS, prepare or start_worker, arguments)


def start_worker() -> None:
    """Prepare a process that runs misconceptions and other answers: one thread, and no output."""
    torch.set_num_threads(1)
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open as long as the process


@dataclass(frozen=True)
class Signature:
    """The visible tests that a misconception fails, with its outcomes, by their names."""

    exercise: str
    name: str
    sentence: str
    row: Mapping[str, Outcome]


def to_json(signatures: Iterable[Signature]) -> bytes:
    """Return the file of these signatures."""
    entries = []
    for one in signatures:
        row = packed({"": dict(one.row)})
        text = mixed(json.dumps([one.name, one.sentence]).encode(), row)
        coded = [base64.b64encode(data).decode() for data in (row, text)]
        entries.append([one.exercise, *coded])
    return (json.dumps(entries, indent=0) + "\n").encode()


def read_signatures(path: Path) -> dict[str, list[Coded]]:
    """Return the signatures in a file, by exercise, still encoded. There are none if the file does not exist."""
    found: dict[str, list[Coded]] = {}
    for exercise, row, text in json.loads(path.read_bytes()) if path.is_file() else ():
        found.setdefault(exercise, []).append((row, text))
    return found


@functools.cache
def decoded(exercise: str, coded: Coded) -> Signature:
    """Return a signature of an exercise that `to_json` encoded."""
    row, text = map(base64.b64decode, coded)
    name, sentence = json.loads(mixed(text, row))
    return Signature(exercise, name, sentence, unpacked(row)[""])
