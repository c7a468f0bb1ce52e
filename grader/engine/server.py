"""The trusted process that runs the suites: imports torch once, forks the server, then one grader a submission.

Started by `grader.engine.client`, which sends submissions as lines of JSON and reads the results as lines of JSON. The
fork server is forked first of all, so that no student's process ever holds a suite, a solution or a path.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import platform
import select
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from grader.engine.budget import Budget, LimitExceeded
from grader.sandbox import lockdown
from grader.sandbox.clock import LEAST_COUNTED
from grader.sandbox.processes import ForkServer

if TYPE_CHECKING:
    import pytest

    from grader.course.model import Course
    from grader.engine.criteria import Criterion, Outcome
    from grader.testing.misconceptions import Misconception

SETTINGS = Path(__file__).with_name("pytest.ini")
# They come with pytest and have a hand in every test, for things that no suite does.
IDLE_PLUGINS = (
    "logging", "warnings", "unraisableexception", "threadexception", "faulthandler", "skipping", "unittest",
    "subtests", "tmpdir", "setuponly", "setupplan",
)  # fmt: skip
PYTEST_OPTIONS = [
    *(f"-pno:{plugin}" for plugin in IDLE_PLUGINS),
    "-c", str(SETTINGS), "--noconftest", "-p", "grader.engine.plugin", "--capture=no", "--tb=native", "-qq",
    "-p", "pytest_metadata.plugin", "-p", "pytest_jsonreport.plugin", "--assert=plain",
    "--json-report", "--json-report-file=none", "--json-report-omit", "collectors", "keywords", "streams", "log",
]  # fmt: skip
# What a grader may take beyond the limits of its submission, before it counts as hung itself.
GRACE_SECONDS = 60
READ_BYTES = 2**20
FRAMES_TOLD = 3


@dataclass
class Grader:
    """A forked process that grades one submission, as the engine sees it."""

    pid: int
    number: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)


class Engine:
    """A pytest plugin that, once the suites are collected, grades submissions instead of running the tests once."""

    def __init__(self, is_hidden: bool, server: ForkServer | None, requests: int, replies: int) -> None:
        self.is_hidden = is_hidden
        self.server = server
        self.requests = requests
        self.replies = replies
        self.budget: Budget | None = None
        self.pytest_report: dict[str, Any] = {}
        self.known: dict[str, list[Misconception]] = {}

    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        self.pytest_report = json_report

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the suites could not be collected")
        self.load_misconceptions(session)
        # It has nothing to say of single tests: that is in the reports.
        session.config.pluginmanager.unregister(name="terminalreporter")
        # The collector would write to every object, and so make each grader a copy of its own of the pages.
        gc.freeze()
        self.tell(self.handshake(session))
        if self.server:
            self.serve(session)
        else:
            self.serve_in_turn(session)
        return True

    def handshake(self, session: pytest.Session) -> dict[str, Any]:
        """What is known before the first submission: the layers that are missing, every criterion, the versions."""
        import numpy
        import pytest
        import torch

        from grader.engine.plugin import CRITERION

        criteria = [item.stash[CRITERION] for item in session.items]
        return {
            "missing": self.server.missing if self.server else lockdown.nothing_holds(),
            "criteria": [
                {"unit": one.unit, "exercise": one.exercise, "name": one.name, "sentence": one.sentence}
                for one in criteria
            ],
            "versions": {
                "python": platform.python_version(),
                "torch": str(torch.__version__),
                "numpy": numpy.__version__,
                "pytest": pytest.__version__,
                "platform": platform.platform(),
            },
        }

    def load_misconceptions(self, session: pytest.Session) -> None:
        """Imports them here, once, so that no grader has to. The visible tests tell what is wrong by themselves."""
        if not self.is_hidden:
            return
        from grader.engine import failure_matrix
        from grader.engine.plugin import COURSE
        from grader.testing.misconceptions import misconceptions_of

        course = session.config.stash[COURSE]
        self.known = {unit: misconceptions_of(course, unit) for unit in course.units}
        for unit in self.known:
            failure_matrix.key_of(course, unit)  # it is kept, so no grader has to read all those files again

    def pytest_runtest_protocol(self, item: pytest.Function) -> bool:
        """Runs one test, without pytest's own setup and teardown: what a criterion takes is made right here."""
        import pytest

        from grader.engine.plugin import arguments

        hook = item.config.hook
        item.funcargs = arguments(item)
        call = pytest.CallInfo.from_call(lambda: hook.pytest_runtest_call(item=item), when="call")
        hook.pytest_runtest_logreport(report=hook.pytest_runtest_makereport(item=item, call=call))
        return True

    def tell(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(self.replies, data) :]

    # -- the engine's own process ---------------------------------------------------------------------------

    def serve(self, session: pytest.Session) -> None:
        """Forks a grader for every request, and passes its result on, until the requests end."""
        graders: dict[int, Grader] = {}
        pending = bytearray()
        while True:
            earliest = min((grader.deadline for grader in graders.values()), default=None)
            wait = None if earliest is None else max(earliest - time.monotonic(), 0)
            ready, _, _ = select.select([self.requests, *graders], [], [], wait)
            if self.requests in ready:
                received = os.read(self.requests, READ_BYTES)
                if not received:
                    break
                pending += received
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    request = json.loads(line)
                    try:
                        pipe, grader = self.start(session, request)
                    except OSError as error:
                        fault = f"a grading process could not be started: {error.strerror}"
                        self.tell({"number": request["number"], "fault": fault})
                    else:
                        graders[pipe] = grader
            for pipe in [pipe for pipe in ready if pipe in graders]:
                part = os.read(pipe, READ_BYTES)
                graders[pipe].received += part
                if not part:
                    self.finish(pipe, graders.pop(pipe))
            for pipe in [pipe for pipe in graders if graders[pipe].deadline <= time.monotonic()]:
                os.kill(graders[pipe].pid, signal.SIGKILL)
                self.finish(pipe, graders.pop(pipe))
        for grader in graders.values():
            os.kill(grader.pid, signal.SIGKILL)

    def serve_in_turn(self, session: pytest.Session) -> None:
        """Where there is no fork: one submission after another, in this very process."""
        with open(self.requests, encoding="utf-8") as lines:
            for line in lines:
                request = json.loads(line)
                self.tell({"number": request["number"], **self.grade(session, request)})

    def start(self, session: pytest.Session, request: dict[str, Any]) -> tuple[int, Grader]:
        """Fork a grader from here, where everything is imported and collected.

        Returns:
            The pipe of its result, and the grader.

        Raises:
            OSError: The system has no room for it.
        """
        from grader.engine.plugin import COURSE

        if self.server and not self.server.is_alive:
            # Not forked from here again: by now there are suites in this process.
            self.server.close()
            self.server = ForkServer.spawned(session.config.stash[COURSE].modules)
        limits = session.config.stash[COURSE].limits
        charged = len(request["units"]) * (limits.unit_seconds + limits.call_seconds)
        allowed = charged / LEAST_COUNTED + GRACE_SECONDS
        reading, writing = os.pipe()
        engine = os.getpid()
        try:
            pid = lockdown.fork()
            if pid == 0:
                self.become_grader(engine, session, request, writing)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return reading, Grader(pid, request["number"], time.monotonic() + allowed)

    def become_grader(self, engine: int, session: pytest.Session, request: dict[str, Any], pipe: int) -> NoReturn:
        """In the forked process: grade, pass the result on, and end. Never returns."""
        code = 1
        try:
            from grader.engine.plugin import COURSE

            lockdown.die_with_parent(engine)
            self.budget = Budget(len(request["units"]), session.config.stash[COURSE].limits.cpu_seconds)
            try:
                result = json.dumps(self.grade(session, request))
            except BaseException:
                error = traceback.format_exc(limit=-FRAMES_TOLD).strip()
                result = json.dumps({"fault": f"the grading process failed:\n{error}"})
            with open(pipe, "wb") as file:
                file.write(result.encode())
            code = 0
        finally:
            os._exit(code)

    def finish(self, pipe: int, grader: Grader) -> None:
        os.close(pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(grader.pid, 0)[1])
        result: dict[str, Any] = {"fault": f"the grading process ended with code {code}"}
        if code == 0:
            result = json.loads(grader.received)
        self.tell({"number": grader.number, **result})

    # -- a grader's process ---------------------------------------------------------------------------------

    def grade(self, session: pytest.Session, request: dict[str, Any]) -> dict[str, Any]:
        """Run the suites of a submission's units: outcomes, messages, and pytest's own report."""
        from grader.engine import plugin
        from grader.engine.criteria import Outcome
        from grader.submissions.source import UnitSource

        begun = time.monotonic()
        config, hook = session.config, session.config.hook
        units = request["units"]
        sources = {unit: UnitSource(**source) for unit, source in {**request["siblings"], **units}.items()}
        client = plugin.open_client(self.server, sources, config.stash[plugin.COURSE])
        plugin.begin_submission(config, client)
        # What was graded before, and is right, needs no substitute.
        config.stash[plugin.OUTCOMES].update(
            (item.stash[plugin.CRITERION], Outcome(True))
            for item in session.items
            if item.stash[plugin.CRITERION].exercise in request["right"]
        )
        items = [item for item in session.items if item.stash[plugin.CRITERION].unit in units]
        session.testscollected = len(items)
        report_plugin = config._json_report  # type: ignore[attr-defined]
        report_plugin.pytest_sessionstart(session)  # its clock began when the suites were collected
        exceeded = []
        try:
            for unit, tests in itertools.groupby(items, lambda item: item.stash[plugin.CRITERION].unit):
                try:
                    with self.budget.of_a_unit() if self.budget else contextlib.nullcontext():
                        for item in tests:
                            hook.pytest_runtest_protocol(item=item, nextitem=None)
                except LimitExceeded as error:
                    exceeded.append(unit)
                    plugin.fail_unit(config, items, unit, str(error))
        finally:
            client.close()
        outcomes = {one: outcome for one, outcome in config.stash[plugin.OUTCOMES].items() if one.unit in units}
        session.exitstatus = 1 if session.testsfailed else 0
        report_plugin.pytest_sessionfinish(session)
        return {
            "outcomes": [self.described(*result) for result in outcomes.items()],
            "misconceptions": self.diagnoses(config.stash[plugin.COURSE], outcomes),
            "messages": config.stash[plugin.MESSAGES],
            "layers": client.layers,
            # The units that took more than this process may use.
            "exceeded": exceeded,
            "seconds": round(time.monotonic() - begun, 3),
            "pytest": self.pytest_report,
        }

    @staticmethod
    def described(criterion: Criterion, outcome: Outcome) -> dict[str, Any]:
        return {
            "unit": criterion.unit,
            "exercise": criterion.exercise,
            "name": criterion.name,
            "passed": outcome.passed,
            # What it is waiting for is said once, for the whole exercise.
            "reason": "" if outcome.kind == "waiting" else outcome.reason,
            "waiting": outcome.kind == "waiting",
            "substitutes": outcome.substitutes,
            "remarks": outcome.remarks,
        }

    def diagnoses(self, course: Course, outcomes: dict[Criterion, Outcome]) -> list[dict[str, str]]:
        """The misconception behind each exercise whose outcomes fit exactly one."""
        if not self.known:
            return []
        from grader.engine.diagnosis import diagnose

        results: dict[tuple[str, str], list[tuple[Criterion, Outcome]]] = {}
        for criterion, outcome in outcomes.items():
            results.setdefault((criterion.unit, criterion.exercise), []).append((criterion, outcome))
        return [
            {"unit": unit, "exercise": exercise, "name": found.name, "sentence": found.sentence}
            for (unit, exercise), outcomes in results.items()
            for found in diagnose(course, exercise, outcomes, self.known[unit])
        ]


def main() -> int:
    """Serves requests on standard input, until it ends. Gives pytest's exit code.

    Its arguments: the course's folder; which tests, `hidden` or `visible`; `--practice` where there is no fork; and the
    modules that answers may import.
    """
    root, suites, *modules = sys.argv[1:]
    is_practice = "--practice" in modules
    requests, replies = os.dup(0), os.dup(1)
    # Whatever pytest prints goes with the errors: standard output carries results and nothing else.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    server = None if is_practice else ForkServer.forked(modules)
    # Only the plugins that are named above: others may be installed, and have a say in what passes.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    import pytest

    from grader.course.model import load_course

    course = load_course(Path(root))
    # The visible tests are the course's own, whatever a student made of theirs.
    tests = course.exercises if suites == "visible" else course.suites
    engine = Engine(suites == "hidden", server, requests, replies)
    try:
        return int(pytest.main([str(tests), "--course", root, *PYTEST_OPTIONS], plugins=[engine]))
    finally:
        if engine.server:
            engine.server.close()


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)  # spares the half second that Python takes to clear torch away
