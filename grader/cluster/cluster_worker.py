"""What a Dask worker runs: grades one submission with an engine, which is a process of its own.

`grade` is sent to the workers by its name, so each has this grader installed. Each worker process starts one engine
with its first task and keeps it. The engine ends when the worker ends, because its standard input does.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import socket
import threading
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from grader import __version__
from grader.cluster.cluster_messages import MAX_TEXT, Kind, WorkerAnswer, read_task
from grader.course.model import FILENAME, Course, find_course
from grader.engine.engine_client import Engine
from grader.engine.engine_messages import EngineRequest
from grader.engine.grading_processes import GRACE_SECONDS, longest_grading
from grader.errors import GraderError, InternalError
from grader.files import PACKAGE, digest
from grader.reports.report_model import sanitize
from grader.sandbox import lockdown
from grader.text import printable

COURSE_VARIABLE = "GRADER_COURSE"
"""The environment variable that names the course's folder, for a worker that is started elsewhere."""
_SHOWN = 12


class SharedEngine:
    """An engine that several threads use at once."""

    def __init__(self, course: Course) -> None:
        """Start the engine. Raises GraderError."""
        self.course = course
        self._engine = Engine(course)
        try:
            self.handshake = self._engine.handshake()
        except InternalError as error:
            self._engine.__exit__(InternalError, error, None)
            raise
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._waiting: dict[int, queue.SimpleQueue[bytes]] = {}
        self.problem: InternalError | None = None
        threading.Thread(target=self._route, daemon=True).start()

    def reply(self, request: EngineRequest) -> bytes:
        """Return the engine's reply to a request. Raises InternalError if it ended, or hangs."""
        number, mine = next(self._numbers), queue.SimpleQueue[bytes]()
        with self._lock:
            if self.problem:
                raise self.problem
            self._waiting[number] = mine
        self._engine.send(replace(request, number=number))
        try:
            line = mine.get(timeout=longest_grading(self.course.limits, len(request.units)) + GRACE_SECONDS)
        except queue.Empty:
            self._engine.kill()
            raise InternalError("the grading engine hung, and was ended") from None
        if not line:
            raise self.problem or InternalError("the grading engine ended")
        return line

    def _route(self) -> None:
        """Give each reply to the thread that waits for it, until the engine ends."""
        try:
            while True:
                line = self._engine.next_line()
                self._waiting.pop(json.loads(line)["number"]).put(line)
        except InternalError as error:
            with self._lock:
                self.problem = error
            for thread in self._waiting.values():
                thread.put(b"")
            self._engine.__exit__(InternalError, error, None)


class WorkerProcess:
    """This process: its engine, and the course that it grades."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: SharedEngine | None = None
        self._course: Course | None = None
        self._installed: dict[str, str] = {}

    def differences(self, needed: dict[str, str]) -> list[str]:
        """Return what this worker has in another version. Raises GraderError if it has no course."""
        with self._lock:
            if self._course is None:
                named = os.environ.get(COURSE_VARIABLE)
                course = find_course(Path(named) if named else None)
                # The versions are read once: the engine, and this process itself, keep the files that they were
                # started with.
                self._course, self._installed = course, installed(course)
        return [
            f"its {name} is {self._installed.get(name, 'unknown')}, and this machine's is {version}"
            for name, version in needed.items()
            if self._installed.get(name) != version
        ]

    def engine(self) -> SharedEngine:
        """Return the engine; start one if there is none, or if it has ended. Raises GraderError."""
        with self._lock:
            assert self._course
            if self._engine is None or self._engine.problem:
                self._engine = SharedEngine(self._course)
            return self._engine


WORKER = WorkerProcess()
"""The worker that this process is."""


def grade(content: bytes) -> bytes:
    """Grade a task, and return a `WorkerAnswer` with the reply. What goes wrong is an answer too, no exception."""
    try:
        return _grade(content)
    except Exception as error:  # noqa: BLE001 - an exception would reach the sender as a pickle
        return _not_graded("failed", f"{type(error).__name__}: {error}")


def _grade(content: bytes) -> bytes:
    task = read_task(content)
    try:
        if different := WORKER.differences(task.needed):
            return _not_graded("refused", *different)
        engine = WORKER.engine()
    except GraderError as error:
        return _not_graded("refused", str(error))
    missing, versions = engine.handshake.missing, engine.handshake.versions
    needed = lockdown.missing_sentences(missing)
    if needed and not task.allow_unisolated:
        return _not_graded("unisolated", *needed)
    try:
        reply = _sanitized(engine.reply(task.request))
    except InternalError as error:
        return _not_graded("failed", str(error))
    answer = WorkerAnswer(kind="graded", worker=worker_name(), reasons=[], missing=missing, versions=versions)
    return answer.to_bytes(reply)


def _not_graded(kind: Kind, *reasons: str) -> bytes:
    cut = [printable(reason[:MAX_TEXT]) for reason in reasons]
    return WorkerAnswer(kind=kind, worker=worker_name(), reasons=cut, missing={}, versions={}).to_bytes()


def _sanitized(line: bytes) -> bytes:
    """Make a reply's sentences printable, and remove this machine's paths, which are not known elsewhere."""
    reply = json.loads(line)
    if isinstance(reply["result"], str):
        reply["result"] = printable(reply["result"][:MAX_TEXT])
    else:
        for outcome in reply["result"]["outcomes"]:
            outcome["reason"] = sanitize(outcome["reason"])
            outcome["remarks"] = list(map(sanitize, outcome["remarks"]))
    return json.dumps(reply).encode()


def worker_name() -> str:
    """Return the address of this worker, and the name of its machine."""
    from distributed import get_worker

    address = f"process {os.getpid()}"
    with contextlib.suppress(ValueError):  # not in a worker
        address = get_worker().address
    return f"{address} on {socket.gethostname()}"


def installed(course: Course) -> dict[str, str]:
    """Return the versions of the grader, the course and torch, by name; those of files with their digest.

    The digests depend on contents and relative names, not on the folder that the grader or the course is in.
    """
    suites = course.suites.resolve()
    grader = [path for kind in ("*.py", "*.ini") for path in PACKAGE.rglob(kind) if suites not in path.parents]
    # Misconceptions are made from the solutions.
    files = [*sorted(course.suites.rglob("*.py")), *sorted(course.solutions.glob("*.py"))]
    return {
        "grader": f"{__version__} ({digest(sorted(grader), PACKAGE).hex()[:_SHOWN]})",
        "course": f"{course.version} ({digest([course.root / FILENAME, *files], course.root).hex()[:_SHOWN]})",
        "torch": version("torch"),
    }
