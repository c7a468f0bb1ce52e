"""Lets pytest run the suites on submissions: `pytest grader/suites --submission=DIR --json-report`, and the engine.

The engine collects the suites once, and runs them for each submission.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import platform
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
import torch

from grader.course.left_out import deselect
from grader.course.model import Course, find_course
from grader.course.modules import SuiteError, described, shown
from grader.engine import failure_matrix
from grader.engine.criteria import Criterion, criteria_of
from grader.engine.diagnosis import diagnose, main_criterion, recognize, recognized
from grader.engine.engine_messages import REQUEST, EngineHandshake, EngineReply, EngineRequest, read, to_line
from grader.engine.explanations import with_own_names
from grader.engine.failure_matrix import FILENAME, Coded, Signature, decoded, read_signatures
from grader.engine.grading_processes import Budget, Graders, LimitExceeded
from grader.engine.outcomes import Outcome, judge
from grader.engine.runner import Runner, draw
from grader.errors import SuiteFault
from grader.reports.folder import SUITE_FAULTS
from grader.reports.report_model import Described, Judged, Result
from grader.sandbox import lockdown
from grader.sandbox.processes import ForkServer, Server
from grader.submissions.reader import read_submission
from grader.submissions.submission import SubmissionError, require_folder
from grader.testing.drawings import Drawing, OwnQuestion
from grader.testing.misconceptions import Misconception, misconceptions_of
from grader.testing.properties import Property
from grader.testing.running_test import Recorder
from grader.testing.substitutes import hidden_substitutes, visible_substitutes

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
    config.addinivalue_line("markers", "rule(words): the words of the stub that a hidden test is about")
    config.addinivalue_line("markers", "example(name, rule): the exercise of a visible test, and the words it tries")
    tests = next((Path(one) for one in config.args if Path(one).exists()), None)
    config.stash[COURSE] = find_course(config.getoption("--course"), around=tests)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect the suite of an exercise in a folder. It has the exercise's name, which pytest would not collect."""
    course, unit = parent.config.stash[COURSE], file_path.parent.name
    if unit in course.units and file_path in course.hidden_tests(unit) and not parent.session.isinitpath(file_path):
        return pytest.Module.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every test its criterion. Sort the tests by units and exercises in the course's order, then as written."""
    course = config.stash[COURSE]
    deselect(items, course)
    suites: dict[Path, dict[tuple[str, int], Criterion]] = {}
    for item in items:
        if item.path not in suites:
            suites[item.path] = _criteria(item, course)
        item.stash[CRITERION] = _criterion(item, suites[item.path], course)
    order = [(unit, exercise) for unit, described in course.units.items() for exercise in described.exercises]
    items.sort(key=lambda item: order.index((item.stash[CRITERION].unit, item.stash[CRITERION].exercise)))


def _criteria(item: pytest.Item, course: Course) -> dict[tuple[str, int], Criterion]:
    """Return the criteria of a test's file."""
    is_hidden = item.path.is_relative_to(course.suites)
    unit = item.path.parent.name if is_hidden else item.path.stem.removeprefix("test_")
    suite: ModuleType = item.getparent(pytest.Module).obj  # type: ignore[union-attr]
    try:
        substitutes = hidden_substitutes(course) if is_hidden else visible_substitutes(course)
        return criteria_of(suite, unit, course.version, substitutes)
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from error


def _criterion(item: pytest.Item, criteria: dict[tuple[str, int], Criterion], course: Course) -> Criterion:
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
    config, folder = session.config, session.config.getoption("--submission")
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
    if lockdown.missing_sentences(server.missing) and not config.getoption("--allow-unisolated"):
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
        # A traceback starts at the test: the part before it is long and always the same. Its `cut` would look up the
        # path of every file in it.
        test, trace = item.obj.__code__, call.excinfo.traceback  # type: ignore[attr-defined]
        first = next((place for place, entry in enumerate(trace) if entry.frame.code.raw is test), 0)
        call.excinfo.traceback = trace[first:]
    if call.excinfo and call.when == "call":
        # This raises an InternalError again. It can also come after the outcome: a limit may be exceeded at any time.
        outcome = judge(call.excinfo.value, Recorder())
        _runner(item.config).outcomes.setdefault(item.stash[CRITERION], outcome)
    return (yield)


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


class EnginePlugin:
    """A pytest plugin that grades submissions, instead of running the collected tests once."""

    def __init__(self, course: Course, is_hidden: bool, server: Server, requests: int, replies: int) -> None:
        """Take the course, its tests, the server of student processes, and the descriptors of requests and replies."""
        self.course = course
        self.is_hidden = is_hidden
        self.server = server
        self.requests = requests
        self.replies = replies
        self.pytest_report: dict[str, Any] = {}
        self.problems: list[str] = []  # of the suites
        # By unit. A grading process that looked at tests of other units would copy their memory.
        self.tests: dict[str, list[tuple[pytest.Item, Criterion]]] = {}
        self.known: dict[str, list[Misconception]] = {}
        self.recorded: set[str] = set()  # the units of which it is read what these fail
        self.signatures: dict[str, list[Coded]] = {}

    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Keep pytest's own report for the result."""
        self.pytest_report = json_report

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]) -> None:
        """Keep what is wrong with a file that cannot be imported."""
        if call.when == "collect" and call.excinfo:
            error = call.excinfo.value
            self.problems.append(f"{described(error.__cause__ or error, node.path)} Correct it.")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Keep what is wrong with a file that exits, which stops pytest."""
        try:
            return (yield)
        except SystemExit as error:
            self.problems.append(f"{described(error, collector.path)} Correct it.")
            self.send(EngineHandshake({}, [], {}, self.problems))
            raise pytest.UsageError(self.problems[-1]) from error

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self) -> Generator[None]:
        """Keep what is wrong with a test. If there is a problem, say so in place of the handshake."""
        try:
            yield
        except pytest.UsageError as error:
            self.problems.append(str(error))
        if self.problems:
            self.send(EngineHandshake({}, [], {}, self.problems))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Send the handshake, and serve requests until they end."""
        if self.problems:
            raise session.Interrupted("the suites could not be collected")
        for item in session.items:
            criterion = item.stash[CRITERION]
            self.tests.setdefault(criterion.unit, []).append((item, criterion))
        # Its output on single tests is not needed: the reports have it.
        session.config.pluginmanager.unregister(name="terminalreporter")
        # Otherwise the garbage collector would write to every object, so that each grading process copied the pages.
        gc.freeze()
        gc.enable()
        self.send(self.handshake())
        reply = functools.partial(self.reply, session)
        if isinstance(self.server, ForkServer):
            Graders(reply, self.prepare, self.send, self.course.limits).serve(self.requests)
        else:
            # Without a fork: one submission after another, in this process.
            with open(self.requests, "rb") as lines:
                for line in lines:
                    request = read(REQUEST, line)
                    self.prepare(request)
                    self.send(reply(request))
                    self.server.prepare()
        return True

    def pytest_runtest_protocol(self, item: pytest.Function) -> bool:
        """Run one test. Its setup, call and teardown are left out: a criterion gets its arguments from the grader."""
        hook = item.config.hook
        call = pytest.CallInfo.from_call(lambda: run_criterion(item), when="call")
        hook.pytest_runtest_logreport(report=hook.pytest_runtest_makereport(item=item, call=call))
        return True

    def handshake(self) -> EngineHandshake:
        """Return the message before the first submission."""
        criteria = [criterion for tests in self.tests.values() for _, criterion in tests]
        return EngineHandshake(
            missing=self.server.missing,
            criteria=[Described(one.unit, one.exercise, one.name, one.sentence) for one in criteria],
            versions={
                "python": platform.python_version(),
                "torch": str(torch.__version__),
                "numpy": numpy.__version__,
                "pytest": pytest.__version__,
                "platform": platform.platform(),
            },
        )

    def reply(self, session: pytest.Session, request: EngineRequest, budget: Budget | None = None) -> EngineReply:
        """Return the reply to a request. budget: the limits of this process, if it was forked for this submission."""
        try:
            return EngineReply(request.number, self.grade(session, request, budget))
        except SuiteFault as fault:
            return EngineReply(request.number, str(fault).removesuffix("."))

    def prepare(self, request: EngineRequest) -> None:
        """Load and start what the grading of a submission needs, before a process is forked for it. Raises OSError."""
        self.load_misconceptions(request.units)
        if isinstance(self.server, ForkServer) and not self.server.is_alive:
            # Not forked from this process, which holds the suites by now.
            self.server.close()
            self.server = ForkServer.spawned(self.course.modules)

    def load_misconceptions(self, units: Iterable[str]) -> None:
        """Load the misconceptions of these units, and in a class what they fail; for visible tests, all signatures."""
        if not self.is_hidden:
            self.signatures = self.signatures or read_signatures(self.course.checks / FILENAME)
            return
        for unit in units:
            if unit not in self.known:
                self.known[unit] = misconceptions_of(self.course, unit)
                failure_matrix.key_of(self.course, unit)  # cached, so that grading processes need not read the files
                gc.freeze()
            elif unit not in self.recorded:
                # Cached too. One submission may need none of them, but a class will.
                for exercise in self.course.units[unit].exercises:
                    failure_matrix.recorded(self.course, unit, exercise)
                self.recorded.add(unit)
                gc.freeze()

    def send(self, message: EngineHandshake | EngineReply) -> None:
        """Send a message to the client."""
        data = memoryview(to_line(message))
        while data:
            data = data[os.write(self.replies, data) :]

    def grade(self, session: pytest.Session, request: EngineRequest, budget: Budget | None) -> Result:
        """Run the suites of a submission's units."""
        begun = time.monotonic()
        config, hook = session.config, session.config.hook
        runner = config.stash[RUNNER] = Runner(self.course, self.server, {**request.siblings, **request.units})
        if request.untested:  # they need no substitute
            known = [one for tests in self.tests.values() for _, one in tests if one.exercise in request.untested]
            runner.outcomes.update(dict.fromkeys(known, Outcome(True)))
        tested = {
            unit: {one: item for item, one in tests if one.exercise not in request.untested}
            for unit, tests in self.tests.items()
            if unit in request.units
        }
        session.testscollected = sum(map(len, tested.values()))
        report_plugin = config._json_report  # type: ignore[attr-defined]
        report_plugin.pytest_sessionstart(session)  # restarts its clock
        limited = budget.of_a_unit if budget else contextlib.nullcontext
        exceeded = []
        drawings: list[Drawing] = []
        questions: list[OwnQuestion] = []
        try:
            for unit, tests in tested.items():
                try:
                    with limited():
                        for item in tests.values():
                            hook.pytest_runtest_protocol(item=item, nextitem=None)
                except LimitExceeded as error:
                    failure_matrix.require_proof(self.course, tests, limited)
                    exceeded.append(unit)
                    runner.fail(tests, str(error))
            if request.drawn:
                with contextlib.suppress(LimitExceeded), limited():
                    drawings, questions = draw(runner, self.course, request.units, request.drawn)
        finally:
            runner.client.close()
        outcomes = {one: outcome for one, outcome in runner.outcomes.items() if one in tested.get(one.unit, ())}
        main: set[Criterion | None] = set()
        mistakes = []
        for (unit, exercise), group in itertools.groupby(outcomes.items(), lambda one: (one[0].unit, one[0].exercise)):
            results = list(group)
            if not all(outcome.passed for _, outcome in results):
                main.add(main_criterion(results, self.rows_of(unit, exercise)))
                for found in self.mistakes_in(unit, exercise, results):
                    sentence = with_own_names(found.sentence, unit, exercise, runner.lines)
                    mistakes.append(Described(unit, exercise, found.name, sentence))
        session.exitstatus = 1 if session.testsfailed else 0
        report_plugin.pytest_sessionfinish(session)
        return Result(
            outcomes=[judged(*result, is_main=result[0] in main) for result in outcomes.items()],
            misconceptions=mistakes,
            messages=runner.messages,
            layers=runner.client.layers,
            exceeded=exceeded,
            drawings=drawings,
            questions=questions,
            seconds=round(time.monotonic() - begun, 3),
            pytest=self.pytest_report | ({SUITE_FAULTS: runner.suite_faults} if runner.suite_faults else {}),
        )

    def rows_of(self, unit: str, exercise: str) -> list[Mapping[str, Outcome]]:
        """Return what each misconception of an exercise fails."""
        if self.is_hidden:
            return list((failure_matrix.recorded(self.course, unit, exercise) or {}).values())
        return [decoded(exercise, coded).row for coded in self.signatures.get(exercise, [])]

    def mistakes_in(
        self, unit: str, exercise: str, results: list[tuple[Criterion, Outcome]]
    ) -> Sequence[Misconception | Signature | Property]:
        """Return the misconceptions behind the outcomes of one exercise, or else a property of its wrong results."""
        known: Sequence[Misconception | Signature]
        # Their reasons name the lines that are the cause. What the results look like would lead away from it.
        if all(outcome.passed or outcome.is_explained for _, outcome in results):
            return ()
        if self.is_hidden:
            known = diagnose(self.course, exercise, results, self.known[unit])
        else:
            known = recognize(exercise, results, self.signatures.get(exercise, []))
        return known or recognized(exercise, [outcome for _, outcome in results])


def judged(criterion: Criterion, outcome: Outcome, is_main: bool) -> Judged:
    """Return the outcome of a criterion as it is sent."""
    is_waiting = outcome.kind == "waiting"
    names = criterion.unit, criterion.exercise, criterion.name
    reason = "" if is_waiting else outcome.reason
    return Judged(*names, outcome.passed, reason, is_waiting, outcome.substitutes, outcome.remarks, is_main)
