"""Lets plain `pytest` run the visible tests on the files beside them, in its own process, so that a debugger works.

`grader check` runs the same tests with the student's code in a process of its own, like the hidden suites.
"""

from __future__ import annotations

import importlib
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.course.find import find_course
from grader.course.selection import deselect
from grader.engine.criteria import criteria_of
from grader.engine.outcomes import judge
from grader.sandbox.failures import Failure
from grader.testing.backend import InProcessBackend
from grader.testing.checks import CheckFailed
from grader.testing.recorder import Recorder
from grader.testing.student import Student

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import ModuleType

__all__ = ["pytest_collection_modifyitems", "pytest_configure", "pytest_runtest_makereport", "student"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of visible tests."""
    config.addinivalue_line(
        "markers", "example(name, rule): the exercise of a visible test, and the stub's words that it tries"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests of exercises that the course leaves out."""
    if items:
        deselect(items, find_course(around=items[0].path.parent))


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Iterator[Student]:
    """Return your answers to the unit that the test file is named after."""
    unit = request.path.stem.removeprefix("test_")
    backend = InProcessBackend(unit, vars(_imported(unit, request.path.parent)))
    # Errors name a line in these files.
    backend.worker.units.labels.update(map(str, request.path.parent.glob("*.py")))
    cases = request.node.callspec.indices.values() if hasattr(request.node, "callspec") else ()
    place = request.node.originalname, max(cases, default=0)
    with Recorder(f"{unit}/{criteria_of(request.module, unit, '')[place].name}").recording():
        yield Student(backend, unit)


def _imported(unit: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(unit)
    except Exception as error:  # noqa: BLE001 - a student's file can raise anything
        places = [(error.lineno, error.filename)] if isinstance(error, SyntaxError) else []
        places += [(line, frame.f_code.co_filename) for frame, line in traceback.walk_tb(error.__traceback__)]
        ours = [(line, Path(name or "").name) for line, name in places if Path(name or "").parent == folder]
        line, name = ours[-1] if ours else (None, f"{unit}.py")
        where = f"line {line} of {name}" if line else name
        sentence = f"{unit}.py cannot be run. {where} raises {type(error).__name__}: {error}"
    raise CheckFailed(sentence)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001 - the hook's own arguments
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Describe a failure in one sentence, without a traceback through the grader."""
    report = yield
    if call.excinfo and isinstance(call.excinfo.value, CheckFailed | Failure):
        outcome = judge(call.excinfo.value, Recorder())
        where = f" ({Path(outcome.file).name}, line {outcome.line})" if outcome.file else ""
        report.longrepr = f"{outcome.reason}{where} {outcome.detail}".strip()
    return report
