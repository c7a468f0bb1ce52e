"""Lets pytest run the hidden suites on a submission: `pytest grader/suites --submission=DIR --json-report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.course.left_out import deselect
from grader.course.model import Course, find_course
from grader.course.modules import SuiteError, shown
from grader.engine.criteria import Criterion, criteria_of, hidden_substitutes, visible_substitutes
from grader.engine.outcomes import judge
from grader.engine.runner import Runner
from grader.sandbox import lockdown
from grader.sandbox.processes import ForkServer
from grader.submissions.names import SubmissionError, require_folder
from grader.submissions.reader import read_submission
from grader.testing.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, ModuleType

    from grader.engine.criteria import Place

COURSE = pytest.StashKey[Course]()
CRITERION = pytest.StashKey[Criterion]()
RUNNER = pytest.StashKey[Runner]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for running the suites by hand."""
    parser.addoption("--course", type=Path, help="the folder of the course; by default the one around the tests")
    parser.addoption("--submission", type=Path, help="the folder whose answers to grade")
    parser.addoption("--allow-unisolated", action="store_true", help="run student code even where nothing isolates it")


def pytest_configure(config: pytest.Config) -> None:
    """Find the course, and register its marks."""
    config.addinivalue_line("markers", "exercise(name, rule): the exercise a test belongs to, and the stub's own words")
    config.addinivalue_line(
        "markers", "example(name, rule): the exercise of a visible test, and the words that it tries"
    )
    tests = next((Path(one) for one in config.args if Path(one).exists()), None)
    config.stash[COURSE] = find_course(config.getoption("--course"), around=tests)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every test its criterion. Sort the tests by units and exercises in the course's order, then as written."""
    course = config.stash[COURSE]
    deselect(items, course)
    suites: dict[Path, dict[Place, Criterion]] = {}
    for item in items:
        if item.path not in suites:
            suites[item.path] = _criteria(item, course)
        item.stash[CRITERION] = _criterion(item, suites[item.path], course)
    order = [(unit, exercise) for unit, described in course.units.items() for exercise in described.exercises]
    items.sort(key=lambda item: order.index((item.stash[CRITERION].unit, item.stash[CRITERION].exercise)))


def _criteria(item: pytest.Item, course: Course) -> dict[Place, Criterion]:
    """Return the criteria of a test's file."""
    is_hidden = item.path.is_relative_to(course.suites)
    unit = item.path.parent.name if is_hidden else item.path.stem.removeprefix("test_")
    suite: ModuleType = item.getparent(pytest.Module).obj  # type: ignore[union-attr]
    try:
        substitutes = hidden_substitutes(course) if is_hidden else visible_substitutes(course)
        return criteria_of(suite, unit, course.version, substitutes)
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from error


def _criterion(item: pytest.Item, criteria: dict[Place, Criterion], course: Course) -> Criterion:
    where = f"{shown(item.path)}:{(item.location[1] or 0) + 1}: {item.name}"
    cases = item.callspec.indices.values() if hasattr(item, "callspec") else ()
    place = getattr(item, "originalname", item.name), max(cases, default=0)
    if place not in criteria or len(set(cases)) > 1:
        raise pytest.UsageError(f"{where}: write it as a function of the file, with one parametrize mark at most.")
    criterion = criteria[place]
    if criterion.unit not in course.units or criterion.exercise not in course.units[criterion.unit].exercises:
        raise pytest.UsageError(
            f"{where} belongs to {criterion.unit}/{criterion.exercise}, which autograder.yml does not have."
        )
    return criterion


def pytest_sessionstart(session: pytest.Session) -> None:
    """If the suites run by hand, start a fork server for the submission named on the command line."""
    config = session.config
    folder = config.getoption("--submission")
    if folder is None:
        return
    course = config.stash[COURSE]
    try:
        require_folder(folder)
    except SubmissionError as error:
        raise pytest.UsageError(str(error)) from error
    submission = read_submission("by-hand", folder, course.units, course.exercises)
    server = ForkServer.spawned(course.modules)
    config.add_cleanup(server.close)
    if not lockdown.is_enough(server.missing) and not config.getoption("--allow-unisolated"):
        raise pytest.UsageError(" ".join(["Student code cannot be isolated here.", *server.missing.values()]))
    runner = config.stash[RUNNER] = Runner(course, server, submission.sources)
    config.add_cleanup(runner.client.close)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run a test's criterion in place of the test."""
    run_criterion(pyfuncitem)
    return True


def run_criterion(item: pytest.Item) -> None:
    """Run a test's criterion. Raises the error of the first run if it failed."""
    error = _runner(item.config).run(item.stash[CRITERION])
    if error:
        raise error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Judge a run that ended without an outcome, and shorten its traceback."""
    if call.excinfo:
        _leave_pytest_out(call.excinfo, item.obj.__code__)  # type: ignore[attr-defined]
    if call.excinfo and call.when == "call":
        # This raises an InternalError again. It can also come after the outcome: a limit may be exceeded at any time.
        outcome = judge(call.excinfo.value, Recorder())
        _runner(item.config).outcomes.setdefault(item.stash[CRITERION], outcome)
    return (yield)


def _leave_pytest_out(error: pytest.ExceptionInfo[BaseException], test: CodeType) -> None:
    """Make a traceback start at the test: the part before it is long and always the same."""
    # Traceback.cut would look up the path of every file in it.
    place = next((place for place, entry in enumerate(error.traceback) if entry.frame.code.raw is test), 0)
    error.traceback = error.traceback[place:]


@pytest.fixture
def student() -> None:
    """Placeholder of the submission's unit, which the criterion passes to the test."""


@pytest.fixture
def fresh() -> None:
    """Placeholder of the test's inputs, which the criterion passes to the test."""


def _runner(config: pytest.Config) -> Runner:
    if RUNNER not in config.stash:
        raise pytest.UsageError("Which submission? pytest grader/suites --submission=DIR")
    return config.stash[RUNNER]
