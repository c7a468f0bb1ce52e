"""Forks a grading process for each submission, watches it, and ends it if it hangs."""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from grader.engine.budget import Budget, longest_grading
from grader.engine.messages import Reply, read_reply, read_request, to_line
from grader.errors import GraderError, SuiteFault
from grader.sandbox import lockdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.engine.messages import Request
    from grader.sandbox.limits import Limits

READ_BYTES = 2**20
FRAMES_SHOWN = 3


@dataclass
class Grader:
    """A grading process, as the engine sees it."""

    pid: int
    number: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)


@dataclass
class Graders:
    """Serves each request in a process forked from this one, in which everything is imported and collected.

    Attributes:
        grade: What a forked process does with a request.
        before_fork: What this process does before each fork, with the request.
        reply: What this process does with each reply.
        limits: The course's limits.
    """

    grade: Callable[[Request, Budget], Reply]
    before_fork: Callable[[Request], None]
    reply: Callable[[Reply], None]
    limits: Limits
    _running: dict[int, Grader] = field(default_factory=dict)  # by the pipe of their result

    def serve(self, requests: int) -> None:
        """Serve the requests from this descriptor until it ends."""
        pending = bytearray()
        while True:
            earliest = min((grader.deadline for grader in self._running.values()), default=None)
            wait = None if earliest is None else max(earliest - time.monotonic(), 0)
            ready, _, _ = select.select([requests, *self._running], [], [], wait)
            if requests in ready:
                received = os.read(requests, READ_BYTES)
                if not received:
                    break
                pending += received
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    self._start(read_request(line))
            for pipe in self._running.keys() & set(ready):
                part = os.read(pipe, READ_BYTES)
                self._running[pipe].received += part
                if not part:
                    self._finish(pipe)
            for pipe in [pipe for pipe, grader in self._running.items() if grader.deadline <= time.monotonic()]:
                os.kill(self._running[pipe].pid, signal.SIGKILL)
                self._finish(pipe)
        for grader in self._running.values():
            os.kill(grader.pid, signal.SIGKILL)

    def _start(self, request: Request) -> None:
        """Fork a grading process for a request. If the system cannot start one, reply with the reason."""
        reading, writing = os.pipe()
        engine = os.getpid()
        try:
            self.before_fork(request)
            pid = lockdown.fork()
            if pid == 0:
                self._become_grader(engine, request, writing)
        except (OSError, GraderError) as error:
            os.close(reading)
            problem = (
                f"a grading process could not be started: {error.strerror}" if isinstance(error, OSError) else error
            )
            self.reply(Reply(request.number, str(problem).removesuffix(".")))
        else:
            deadline = time.monotonic() + longest_grading(self.limits, len(request.units))
            self._running[reading] = Grader(pid, request.number, deadline)
        finally:
            os.close(writing)

    def _become_grader(self, engine: int, request: Request, pipe: int) -> NoReturn:
        """In the forked process: grade, send the result, and exit."""
        code = 1
        try:
            lockdown.die_with_parent(engine)
            budget = Budget(len(request.units), self.limits.cpu_seconds)
            try:
                line = to_line(self.grade(request, budget))
            except SuiteFault as fault:
                line = to_line(Reply(request.number, str(fault).removesuffix(".")))
            except BaseException:  # noqa: BLE001 - any failure is reported to the engine
                error = traceback.format_exc(limit=-FRAMES_SHOWN).strip()
                line = to_line(Reply(request.number, f"the grading process failed:\n{error}"))
            with open(pipe, "wb") as file:
                file.write(line)
            code = 0
        finally:
            os._exit(code)

    def _finish(self, pipe: int) -> None:
        """Send the result of a grading process that has ended."""
        grader = self._running.pop(pipe)
        os.close(pipe)
        code = os.waitstatus_to_exitcode(os.waitpid(grader.pid, 0)[1])
        reply = Reply(grader.number, f"the grading process ended with code {code}")
        self.reply(read_reply(bytes(grader.received)) if code == 0 else reply)
