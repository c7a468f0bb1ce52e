"""The engine as a pytest plugin: collects the suites once, and runs them for each submission."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import time
from typing import TYPE_CHECKING, Any

import numpy
import pytest
import torch

from grader.course.modules import described
from grader.engine import failure_matrix
from grader.engine.budget import LimitExceeded
from grader.engine.diagnosis import diagnose, main_criterion
from grader.engine.drawing import Drawn, draw
from grader.engine.explanations import with_own_names
from grader.engine.graders import Graders
from grader.engine.messages import Handshake, Reply, Request, read_request, to_line
from grader.engine.outcomes import Outcome
from grader.engine.plugin import CRITERION, RUNNER, run_criterion
from grader.engine.recognition import recognized
from grader.engine.runner import Runner
from grader.engine.signatures import FILENAME, Coded, Signature, decoded, read_signatures, recognize
from grader.errors import SuiteFault
from grader.reports.folder import SUITE_FAULTS
from grader.reports.results import Described, Diagnosed, Judged, Result
from grader.sandbox.processes import ForkServer, Server
from grader.testing.misconceptions import misconceptions_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from grader.course.model import Course
    from grader.engine.budget import Budget
    from grader.engine.criteria import Criterion
    from grader.engine.source_lines import SourceLines
    from grader.testing.misconceptions import Misconception
    from grader.testing.properties import Property


class Engine:
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
            self.send(Handshake({}, [], {}, self.problems))
            raise pytest.UsageError(self.problems[-1]) from error

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self) -> Generator[None]:
        """Keep what is wrong with a test. If there is a problem, say so in place of the handshake."""
        try:
            yield
        except pytest.UsageError as error:
            self.problems.append(str(error))
        if self.problems:
            self.send(Handshake({}, [], {}, self.problems))

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
        if isinstance(self.server, ForkServer):

            def grade(request: Request, budget: Budget) -> Reply:
                return Reply(request.number, self.grade(session, request, budget))

            Graders(grade, self.prepare, self.send, self.course.limits).serve(self.requests)
        else:
            # Without a fork: one submission after another, in this process.
            with open(self.requests, "rb") as lines:
                for request in map(read_request, lines):
                    self.load_misconceptions(request.units)
                    self.send(self.reply(session, request))
                    self.server.prepare()
        return True

    def pytest_runtest_protocol(self, item: pytest.Function) -> bool:
        """Run one test. Its setup, call and teardown are left out: a criterion gets its arguments from the grader."""
        hook = item.config.hook
        call = pytest.CallInfo.from_call(lambda: run_criterion(item), when="call")
        hook.pytest_runtest_logreport(report=hook.pytest_runtest_makereport(item=item, call=call))
        return True

    def handshake(self) -> Handshake:
        """Return the message before the first submission."""
        criteria = [criterion for tests in self.tests.values() for _, criterion in tests]
        return Handshake(
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

    def reply(self, session: pytest.Session, request: Request) -> Reply:
        """Return the reply to a request, in this process."""
        try:
            return Reply(request.number, self.grade(session, request))
        except SuiteFault as fault:
            return Reply(request.number, str(fault).removesuffix("."))

    def prepare(self, request: Request) -> None:
        """Before a grading process is forked, load and start what it needs. Raises OSError."""
        self.load_misconceptions(request.units)
        self.revive_server()

    def load_misconceptions(self, units: Iterable[str]) -> None:
        """Load the misconceptions of these units, and in a class what they fail; for visible tests, all signatures."""
        if not self.is_hidden:
            self.signatures = self.signatures or read_signatures(self.course.exercises / FILENAME)
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

    def revive_server(self) -> None:
        """Start a new fork server if the old one has ended. Raises OSError."""
        if isinstance(self.server, ForkServer) and not self.server.is_alive:
            # Not forked from this process, which holds the suites by now.
            self.server.close()
            self.server = ForkServer.spawned(self.course.modules)

    def send(self, message: Handshake | Reply) -> None:
        """Send a message to the client."""
        data = memoryview(to_line(message))
        while data:
            data = data[os.write(self.replies, data) :]

    def grade(self, session: pytest.Session, request: Request, budget: Budget | None = None) -> Result:
        """Run the suites of a submission's units.

        Args:
            session: Pytest's session, with every collected test.
            request: The submission.
            budget: The limits of this process, if it was forked for this submission.
        """
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
        drawn = Drawn([], [])
        try:
            for unit, tests in tested.items():
                try:
                    with limited():
                        for item in tests.values():
                            hook.pytest_runtest_protocol(item=item, nextitem=None)
                except LimitExceeded as error:
                    failure_matrix.require_end(self.course, unit, tests, limited)
                    exceeded.append(unit)
                    runner.fail(tests, str(error))
            if request.drawn:
                with contextlib.suppress(LimitExceeded), limited():
                    drawn = draw(runner, self.course, request.units, request.drawn)
        finally:
            runner.client.close()
        outcomes = {one: outcome for one, outcome in runner.outcomes.items() if one in tested.get(one.unit, ())}
        main = self.main_criteria(outcomes)
        session.exitstatus = 1 if session.testsfailed else 0
        report_plugin.pytest_sessionfinish(session)
        return Result(
            outcomes=[judged(*result, is_main=result[0] in main) for result in outcomes.items()],
            misconceptions=self.diagnoses(outcomes, runner.lines),
            messages=runner.messages,
            layers=runner.client.layers,
            exceeded=exceeded,
            drawings=drawn.drawings,
            questions=drawn.questions,
            seconds=round(time.monotonic() - begun, 3),
            pytest=self.pytest_report | ({SUITE_FAULTS: runner.suite_faults} if runner.suite_faults else {}),
        )

    def diagnoses(self, outcomes: dict[Criterion, Outcome], lines: SourceLines) -> list[Diagnosed]:
        """Return what is known about the mistakes in each exercise."""
        return [
            Diagnosed(unit, exercise, found.name, with_own_names(found.sentence, unit, exercise, lines))
            for (unit, exercise), results in by_exercise(outcomes).items()
            for found in self.mistakes_in(unit, exercise, results)
        ]

    def main_criteria(self, outcomes: dict[Criterion, Outcome]) -> set[Criterion | None]:
        """Return, for each exercise with failures, the criterion that explains most of them."""
        return {
            main_criterion(results, self.rows_of(unit, exercise))
            for (unit, exercise), results in by_exercise(outcomes).items()
            if not all(outcome.passed for _, outcome in results)
        }

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


def by_exercise(outcomes: dict[Criterion, Outcome]) -> dict[tuple[str, str], list[tuple[Criterion, Outcome]]]:
    """Return the criteria with their outcomes by unit and exercise."""
    results: dict[tuple[str, str], list[tuple[Criterion, Outcome]]] = {}
    for criterion, outcome in outcomes.items():
        results.setdefault((criterion.unit, criterion.exercise), []).append((criterion, outcome))
    return results


def judged(criterion: Criterion, outcome: Outcome, is_main: bool) -> Judged:
    """Return the outcome of a criterion as it is sent."""
    is_waiting = outcome.kind == "waiting"
    return Judged(
        criterion.unit,
        criterion.exercise,
        criterion.name,
        outcome.passed,
        "" if is_waiting else outcome.reason,
        is_waiting,
        outcome.substitutes,
        outcome.remarks,
        is_main,
    )
