"""Makes pytest run the hidden suites against a submission: `pytest grader/suites --submission DIR --json-report`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.course import ROOT, Course, load_course
from grader.sandbox.door import Door, Failure, Source
from grader.sandbox.processes import ForkServer
from grader.sandbox.student import Student
from grader.submission import SubmissionError, UnitSource, find_submissions, read_submission
from grader.suites.checks import SEEN
from grader.suites.criteria import Criterion, Fresh, Outcome, criterion_of, judge

COURSE = pytest.StashKey[Course]()
DOOR = pytest.StashKey[Door]()
CRITERION = pytest.StashKey[Criterion]()
OUTCOME = pytest.StashKey[Outcome]()
MESSAGES = pytest.StashKey[list[dict[str, Any]]]()


def open_door(server: ForkServer | None, units: Mapping[str, UnitSource], course: Course) -> Door:
    """A door for a submission's units, with the course's limits."""
    sources = {unit: Source.of(source.filename, source.cells) for unit, source in units.items()}
    return Door(server, sources, course.limits)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--submission", type=Path, help="the folder whose answers to grade")
    parser.addoption("--allow-unisolated", action="store_true", help="run student code even where nothing locks it in")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "exercise(name, rule): the exercise a test belongs to, and the stub's own words")
    config.stash[COURSE] = load_course()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every test gets its criterion; in the course's order of units and exercises, then as written."""
    course = config.stash[COURSE]
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
    unit = item.path.parent.name
    try:
        criterion = criterion_of(item.obj, unit, course.version)  # type: ignore[attr-defined]
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
        [(student, path)] = find_submissions([folder], course.units, student="by-hand")
    except SubmissionError as error:
        raise pytest.UsageError(str(error)) from error
    submission = read_submission(student, path, course.units, ROOT / "exercises")
    server = ForkServer.spawned()
    config.add_cleanup(server.close)
    if not lockdown.is_enough(server.missing) and not config.getoption("--allow-unisolated"):
        raise pytest.UsageError(" ".join(["Student code cannot be locked in here.", *server.missing.values()]))
    config.stash[DOOR] = open_door(server, submission.units, course)
    config.add_cleanup(config.stash[DOOR].close)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Before a test: its exercise's own share of time, its unit loaded, its own random state."""
    SEEN.clear()
    criterion = item.stash[CRITERION]
    door = _door(item.config)
    is_first = criterion.unit not in door.failures
    shares = 1 + len(item.config.stash[COURSE].units[criterion.unit].exercises)
    # Loading has a share of its own: what hangs at the top of a file does not cost the first exercise its points.
    door.charge(criterion.unit, shares)
    with contextlib.suppress(Failure):
        door.load(criterion.unit)
    door.charge(f"{criterion.unit}/{criterion.exercise}", shares)
    criterion.prepare(door)
    if is_first:
        for lost in door.failures[criterion.unit]:
            _note_message(
                item.config,
                criterion.unit,
                None,
                "not run",
                f"{lost.reason} {lost.detail}",
                lost.file,
                lost.line,
            )
        _note_printed(item.config, criterion.unit, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.when == "call":
        criterion = item.stash[CRITERION]
        outcome = judge(call.excinfo.value if call.excinfo else None)
        outcome = item.stash[OUTCOME] = outcome.explained(_door(item.config).failures.get(criterion.unit, []))
        if outcome.detail:
            _note_message(
                item.config, criterion.unit, criterion.exercise, "raised", f"{outcome.reason} {outcome.detail}",
                outcome.file, outcome.line,
            )  # fmt: skip
        _note_printed(item.config, criterion.unit, criterion.exercise)
    return (yield)


def _note_printed(config: pytest.Config, unit: str, exercise: str | None) -> None:
    text, dropped = _door(config).take_printed()
    if dropped:
        text += f"\n… {dropped} more bytes were printed and not kept."
    if text:
        _note_message(config, unit, exercise, "printed", text, None, None)


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
    messages = config.stash.setdefault(MESSAGES, [])
    if message not in messages:
        messages.append(message)


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """The submission's unit, on the other side of the door."""
    return Student(_door(request.config), request.node.stash[CRITERION].unit)


@pytest.fixture
def fresh(request: pytest.FixtureRequest) -> Fresh:
    """Draws this test's own inputs."""
    return request.node.stash[CRITERION].fresh()


def _door(config: pytest.Config) -> Door:
    if DOOR not in config.stash:
        raise pytest.UsageError("Which submission? pytest grader/suites --submission DIR")
    return config.stash[DOOR]
