"""Makes pytest run the hidden suites against a submission: `pytest grader/suites --submission DIR --json-report`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.course.find import find_course
from grader.course.model import Course
from grader.course.selection import deselect
from grader.engine.criteria import Criterion, Outcome, criterion_of_item, hidden_substitutes, judge, parameters_of
from grader.errors import InternalError
from grader.sandbox.client import SandboxClient, Source
from grader.sandbox.failures import Failure
from grader.sandbox.processes import ForkServer
from grader.sandbox.replies import ALWAYS_TRUE
from grader.submissions.paths import SubmissionError, require_folder
from grader.submissions.reader import read_submission
from grader.testing.checks import begin_test
from grader.testing.student import NO_SUBSTITUTES, Student

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from types import CodeType

    from grader.submissions.source import UnitSource
    from grader.testing.inputs import Fresh

COURSE = pytest.StashKey[Course]()
CLIENT = pytest.StashKey[SandboxClient]()
CRITERION = pytest.StashKey[Criterion]()
OUTCOMES = pytest.StashKey[dict[Criterion, Outcome]]()
MESSAGES = pytest.StashKey[list[dict[str, Any]]]()


def open_client(server: ForkServer | None, units: Mapping[str, UnitSource], course: Course) -> SandboxClient:
    """A sandbox client for a submission's units, with the course's limits."""
    sources = {unit: Source.of(source.filename, source.cells) for unit, source in units.items()}
    return SandboxClient(server, sources, course.limits, course.modules)


def begin_submission(config: pytest.Config, client: SandboxClient | None) -> None:
    """Make tests call this client, and forget what is known of the submission before."""
    config.stash[OUTCOMES] = {}
    config.stash[MESSAGES] = []
    if client is not None:
        config.stash[CLIENT] = client


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--course", type=Path, help="the folder of the course; by default the one around the tests")
    parser.addoption("--submission", type=Path, help="the folder whose answers to grade")
    parser.addoption("--allow-unisolated", action="store_true", help="run student code even where nothing locks it in")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "exercise(name, rule): the exercise a test belongs to, and the stub's own words")
    config.addinivalue_line("markers", "example(name): the exercise that a visible test is an example of")
    tests = next((Path(one) for one in config.args if Path(one).exists()), None)
    config.stash[COURSE] = find_course(config.getoption("--course"), around=tests)
    begin_submission(config, None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test gets its criterion; in the course's order of units and exercises, then as written."""
    course = config.stash[COURSE]
    deselect(items, course)
    for item in items:
        item.stash[CRITERION] = _criterion(item, course)
    order = {
        (unit, exercise): (number, place)
        for number, (unit, described) in enumerate(course.units.items())
        for place, exercise in enumerate(described.exercises)
    }
    items.sort(key=lambda item: order[item.stash[CRITERION].unit, item.stash[CRITERION].exercise])


def _criterion(item: pytest.Item, course: Course) -> Criterion:
    where = f"{item.path.name}:{(item.location[1] or 0) + 1}: {item.name}"
    is_hidden = item.path.is_relative_to(course.suites)
    unit = item.path.parent.name if is_hidden else item.path.stem.removeprefix("test_")
    try:
        substitutes = hidden_substitutes(course) if is_hidden else NO_SUBSTITUTES
        criterion = criterion_of_item(item, unit, course.version, substitutes)
    except ValueError as error:
        raise pytest.UsageError(f"{where}: {error}.") from error
    if unit not in course.units or criterion.exercise not in course.units[unit].exercises:
        raise pytest.UsageError(f"{where} belongs to {unit}/{criterion.exercise}, which autograder.yml does not have.")
    return criterion


def pytest_sessionstart(session: pytest.Session) -> None:
    """By hand: the submission named on the command line, through a fork server of its own."""
    config = session.config
    folder = config.getoption("--submission")
    if folder is None:
        return
    from grader.sandbox import lockdown

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
    client = open_client(server, submission.units, course)
    config.add_cleanup(client.close)
    begin_submission(config, client)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Before a test: its exercise's own share of time, its unit loaded, its own random state."""
    begin_test()
    criterion = item.stash[CRITERION]
    client = _client(item.config)
    is_first = criterion.unit not in client.failures
    # Loading has a share of its own: what hangs at the top of a file does not cost the first exercise its points.
    _use_budget(item.config, criterion, criterion.unit)
    with contextlib.suppress(Failure):
        client.load(criterion.unit)
    _use_budget(item.config, criterion, f"{criterion.unit}/{criterion.exercise}")
    criterion.prepare(client)
    if is_first:
        for lost in client.failures[criterion.unit]:
            if lost.reason != ALWAYS_TRUE:  # that ran
                kept = f" The earlier definition of {', '.join(lost.kept)} stays in force." if lost.kept else ""
                text = f"{lost.reason}{kept} {lost.detail}"
                _note_message(item.config, criterion.unit, None, "not run", text, lost.file, lost.line)
        _note_doings(item.config, criterion.unit, None)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test that fails on an exercise that builds on others gets another chance, with substitutes for those."""
    config, criterion = pyfuncitem.config, pyfuncitem.stash[CRITERION]
    try:
        return (yield)
    except InternalError:
        raise
    except Exception as error:
        first = judge(error)
        doubtful = _doubtful(config, criterion, first)
        if not doubtful:
            raise
        _note_doings(config, criterion.unit, criterion.exercise)
        # What hung in the first run took that run's time, and may be another exercise's fault.
        _use_budget(config, criterion, f"{criterion.unit}/{criterion.exercise} with substitutes")
        outcome = config.stash[OUTCOMES][criterion] = criterion.run_again(_client(config), first, doubtful)
        _client(config).take_printed()  # the same once more
        if not outcome.passed:
            raise
        return True


def _use_budget(config: pytest.Config, criterion: Criterion, name: str) -> None:
    """From here on the unit's code takes its time from this budget."""
    _client(config).budget.use(name, config.stash[COURSE].units[criterion.unit].time_shares)


def _doubtful(config: pytest.Config, criterion: Criterion, first: Outcome) -> list[str]:
    """The earlier exercises, on which this one may build, that are not known to be right; none where asking is idle."""
    kinds: dict[str, set[str]] = {}
    for known, outcome in config.stash[OUTCOMES].items():
        kinds.setdefault(known.exercise, set()).add("stood in for" if outcome.substitutes else outcome.kind)
    exercises = [exercise for unit in config.stash[COURSE].units.values() for exercise in unit.exercises]
    earlier = exercises[: exercises.index(criterion.exercise)]
    doubtful = [exercise for exercise in earlier if kinds.get(exercise) != {"passed"}]
    match first.kind:
        case "not defined":
            return []
        case "not written" if "not written" in kinds.get(criterion.exercise, ()):
            return []  # so it was for the test before, with substitutes too
        # Of an exercise that is not graded now, nothing is known.
        case "timed out" | "ended" if not any(first.kind in kinds.get(exercise, {first.kind}) for exercise in doubtful):
            return []  # it is its own fault, and would be again
    return doubtful


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.excinfo:
        _leave_pytest_out(call.excinfo, item.obj.__code__)  # type: ignore[attr-defined]
    if call.when == "call":
        criterion, outcomes = item.stash[CRITERION], item.config.stash[OUTCOMES]
        outcome = outcomes.get(criterion) or judge(call.excinfo.value if call.excinfo else None)
        lost = _client(item.config).failures.get(criterion.unit, [])
        units = item.config.stash[COURSE].units
        others = {*units, *(exercise for unit in units.values() for exercise in unit.exercises)} - {criterion.exercise}
        outcome = outcomes[criterion] = outcome.explained(lost, others)
        if outcome.detail:
            _note_message(
                item.config, criterion.unit, criterion.exercise, "raised", f"{outcome.reason} {outcome.detail}",
                outcome.file, outcome.line,
            )  # fmt: skip
        _note_doings(item.config, criterion.unit, criterion.exercise)
    return (yield)


def fail_unit(config: pytest.Config, items: Sequence[pytest.Item], unit: str, reason: str) -> None:
    """Fail every criterion of a unit for this reason, and end the student's process."""
    begin_test()
    _client(config).close()
    for item in items:
        criterion = item.stash[CRITERION]
        if criterion.unit == unit:
            config.stash[OUTCOMES][criterion] = Outcome(False, "stopped", reason)


def _leave_pytest_out(error: pytest.ExceptionInfo[BaseException], test: CodeType) -> None:
    """Has the traceback begin with the test: what pytest did before it is the same every time, and long."""
    # Traceback.cut would do it too, by looking up the path of every file on the way.
    place = next((place for place, entry in enumerate(error.traceback) if entry.frame.code.raw is test), 0)
    error.traceback = error.traceback[place:]


def _note_doings(config: pytest.Config, unit: str, exercise: str | None) -> None:
    """What the student's code printed, and what it was seen to try."""
    text, dropped = _client(config).take_printed()
    if dropped:
        text = f"(It printed {dropped} bytes more than are kept.)\n{text}"  # in front, for long texts are cut
    if text:
        _note_message(config, unit, exercise, "printed", text, None, None)
    for sentence in _client(config).take_anomalies():
        _note_message(config, unit, exercise, "attempted", sentence, None, None)


def _note_message(
    config: pytest.Config,
    unit: str,
    exercise: str | None,
    kind: str,
    text: str,
    file: str | None,
    line: int | None,
) -> None:
    """Keeps what the student's code had to say, once: many tests of one exercise make it say the same."""
    message = {"unit": unit, "exercise": exercise, "kind": kind, "text": text, "file": file, "line": line}
    if message not in config.stash[MESSAGES]:
        config.stash[MESSAGES].append(message)


def arguments(item: pytest.Item) -> dict[str, Any]:
    """Return all that a test may take: the submission's unit, its own inputs and its parameters."""
    criterion = item.stash[CRITERION]
    backend = Student(_client(item.config), criterion.unit, criterion.substitutes)
    return {"student": backend, "fresh": criterion.fresh(), **parameters_of(item)}


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    return arguments(request.node)["student"]


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Fresh:
    return arguments(request.node)["fresh"]


def _client(config: pytest.Config) -> SandboxClient:
    if CLIENT not in config.stash:
        raise pytest.UsageError("Which submission? pytest grader/suites --submission DIR")
    return config.stash[CLIENT]
