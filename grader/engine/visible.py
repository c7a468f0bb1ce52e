"""Lets plain `pytest` run the visible tests on a student's files, in its own process, so that a debugger works.

`grader check` runs the same tests with the student's code in a process of its own, like the hidden suites. Here a
failure shows the way from the test to the student's line that raised, and `pytest --pdb` stops there.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

from grader.course.left_out import deselect
from grader.course.model import find_course
from grader.engine.criteria import criteria_of
from grader.engine.explanations import advice, explained
from grader.engine.outcomes import Outcome, judge
from grader.engine.source_lines import SourceLines
from grader.errors import GraderError
from grader.sandbox.failures import Failure, Raised
from grader.sandbox.protocol import Error
from grader.sandbox.sandbox_client import Source
from grader.sandbox.units import students_places
from grader.sandbox.worker import Worker
from grader.submissions.submission import CHECKS
from grader.testing import running_test, visible_contracts
from grader.testing.checks import CheckFailed
from grader.testing.running_test import Recorder
from grader.testing.student import InProcessBackend, Student
from grader.text import ended

__all__ = ["prepare", "pytest_collection_modifyitems", "pytest_configure", "pytest_runtest_makereport", "student"]


def prepare(folder: Path) -> None:
    """Let the tests in this folder import the student's files and find what they read; conftest.py calls this."""
    sys.path.insert(1, str(_answers(folder)))  # after the folder itself
    try:
        checks = find_course(around=folder).checks
    except GraderError as error:
        raise SystemExit(str(error)) from None
    for name in (running_test.FILENAME, visible_contracts.FILENAME):
        if (checks / name).is_file() and not (folder / name).is_file():  # a copy that was made before they were built
            shutil.copyfile(checks / name, folder / name)


def _answers(folder: Path) -> Path:
    """Return the folder of the student's files, by that of the tests. In earlier releases, it was the same."""
    return folder.parent if folder.name == CHECKS else folder


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of visible tests. What a failure says is in its first sentence, so little else is shown."""
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "short"
    config.addinivalue_line(
        "markers", "example(name, rule): the exercise of a visible test, and the stub's words that it tries"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests of exercises that the course leaves out."""
    if items:
        deselect(items, find_course(around=items[0].path.parent))


class _PytestWorker(Worker):
    """A worker that keeps the student's last error, and lets those through that end pytest."""

    error: BaseException | None = None

    def describe(self, error: BaseException) -> Error:
        if isinstance(error, KeyboardInterrupt | pytest.exit.Exception):
            raise error
        self.error = error
        return super().describe(error)


class _Backend(InProcessBackend):
    """A backend whose failures have the student's own error as their cause."""

    worker: _PytestWorker

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        try:
            return super().repeat(times, operation, **details)
        except Raised as raised:
            raise raised from self.worker.error


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Iterator[Student]:
    """Return your answers to the unit that the test file is named after."""
    unit = request.path.stem.removeprefix("test_")
    folder = _answers(request.path.parent)
    backend = _Backend(unit, vars(_imported(unit, folder)), _PytestWorker())
    # Errors name a line in these files.
    backend.worker.units.labels.update(_files(folder))
    cases = request.node.callspec.indices.values() if hasattr(request.node, "callspec") else ()
    place = request.node.originalname, max(cases, default=0)
    with Recorder(f"{unit}/{criteria_of(request.module, unit, '')[place].name}").recording():
        yield Student(backend, unit)


def _files(folder: Path) -> list[str]:
    return [str(file) for file in folder.glob("*.py")]


def _imported(unit: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(unit)
    except Exception as error:
        places = [(error.lineno, error.filename)] if isinstance(error, SyntaxError) else []
        places += [(line, frame.f_code.co_filename) for frame, line in traceback.walk_tb(error.__traceback__)]
        ours = [(line, Path(name or "").name) for line, name in places if Path(name or "").parent == folder]
        line, name = ours[-1] if ours else (None, f"{unit}.py")
        where = f"line {line} of {name}" if line else name
        sentence = f"{unit}.py cannot be run. {where} raises {type(error).__name__}: {error}"
        raise CheckFailed(sentence) from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Describe a failure in one sentence; for an error in student code, with the traceback to the student's line."""
    failure = call.excinfo.value if call.excinfo else None
    if not isinstance(failure, CheckFailed | Failure):
        return (yield)
    outcome, sentence = _explained(failure, item)
    error = _without_the_grader(failure, item.path)
    call.excinfo = pytest.ExceptionInfo.from_exception(error)
    if error is failure or outcome.kind == "not written":
        report = yield
        report.longrepr = sentence
        return report
    error.add_note(sentence.replace(f" {ended(outcome.detail)}", "", 1))  # the error's own text is above it
    return (yield)


def _explained(failure: CheckFailed | Failure, item: pytest.Item) -> tuple[Outcome, str]:
    """Return the outcome of a failed test, and what is wrong, where, and what to do."""
    unit = item.path.stem.removeprefix("test_")
    files = _files(_answers(item.path.parent))
    texts = {file: Path(file).read_text(encoding="utf-8", errors="replace") for file in files}
    mark = item.get_closest_marker("example")
    course = find_course(around=item.path.parent)
    exercise = mark.args[0] if mark else ""
    sources = {Path(file).stem: Source(file, (text,), (file,), False) for file, text in texts.items()}
    lines = SourceLines(sources, {unit: one.exercises for unit, one in course.units.items()})
    others = {exercise for one in course.units.values() for exercise in one.exercises} - {exercise}
    outcome = explained(judge(failure, Recorder()), unit, exercise, others, lines)
    where = f" ({Path(outcome.file).name}, line {outcome.line})" if outcome.file else ""
    hint = advice(outcome, others, lines)
    detail = outcome.detail and ended(outcome.detail)
    return outcome, " ".join(filter(None, [f"{outcome.reason}{where}", detail, hint]))


def _without_the_grader(failure: CheckFailed | Failure, test: Path) -> BaseException:
    """Return the error to show: the student's own if it has lines of theirs, with a traceback of these and the test."""
    cause = failure.__cause__
    students = students_places(cause.__traceback__, _files(_answers(test.parent))) if cause else []
    following = None
    for place in reversed([*students_places(failure.__traceback__, {str(test)}), *students]):
        following = TracebackType(following, place.tb_frame, place.tb_lasti, place.tb_lineno)
    error = cause if cause and students else failure
    return error.with_traceback(following) if following else error
