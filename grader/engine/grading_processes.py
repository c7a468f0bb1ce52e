"""Grading processes: the engine forks one for each submission, within limits, and ends it if it hangs.

They are trusted, but process what a student process sends, so their memory and processor time have limits.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from grader.engine.engine_messages import REPLY, REQUEST, EngineReply, EngineRequest, read, to_line
from grader.errors import GraderError, InternalError
from grader.sandbox import lockdown
from grader.sandbox.limits import LEAST_COUNTED, Limits

# An honest submission takes less than a tenth of this.
MEMORY_BYTES = 3 * 2**29
# Time for the work before and after the units.
GRACE_SECONDS = 60
OUT_OF_MEMORY = f"Checking its results took more than {MEMORY_BYTES / 2**30:g} GB of memory in the grader."
# Torch's errors if the system gives it no memory.
REFUSED_BY_SYSTEM = ("can't allocate memory", "not enough memory")
READ_BYTES = 2**20
FRAMES_SHOWN = 3


class LimitExceeded(InternalError):
    """A unit exceeded a limit of the grading process. The text is the reason in its report."""


def longest_grading(limits: Limits, units: int) -> float:
    """Return the seconds after which a process that grades this number of units counts as hung."""
    return units * (limits.unit_seconds + limits.call_seconds) / LEAST_COUNTED + GRACE_SECONDS


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error means that this process had no memory left."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in REFUSED_BY_SYSTEM)
    )


class Budget:
    """Limits the further memory of this process, and its processor time for each unit.

    Args:
        units: How many units it will grade.
        seconds: The processor time for each.
    """

    def __init__(self, units: int, seconds: int) -> None:
        """Set the limits for everything outside of the units."""
        import resource  # not on Windows, where nothing is forked

        self._resource = resource
        self._seconds = seconds
        self._last = units * seconds + GRACE_SECONDS
        self._exceeded: LimitExceeded | None = None
        memory = lockdown.address_space() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        self._allow(self._last)
        signal.signal(signal.SIGXCPU, self._stop)

    @contextlib.contextmanager
    def of_a_unit(self) -> Iterator[None]:
        """Limit the code in the block. Raises LimitExceeded."""
        used = self._resource.getrusage(self._resource.RUSAGE_SELF)
        self._exceeded = None
        self._allow(int(used.ru_utime + used.ru_stime) + self._seconds)
        try:
            yield
        except MemoryError as error:
            raise LimitExceeded(OUT_OF_MEMORY) from error
        finally:
            self._allow(self._last)
            if self._exceeded:  # a solution or misconception that ran in this process may have handled the error
                raise self._exceeded

    def _allow(self, seconds: int) -> None:
        self._resource.setrlimit(self._resource.RLIMIT_CPU, (min(seconds, self._last), self._last))

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._allow(self._last)  # otherwise the signal is sent again every second
        self._exceeded = LimitExceeded(
            f"Checking its results took more than {self._seconds} s of processor time in the grader."
        )
        raise self._exceeded


@dataclass
class GradingProcess:
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

    grade: Callable[[EngineRequest, Budget], EngineReply]
    before_fork: Callable[[EngineRequest], None]
    reply: Callable[[EngineReply], None]
    limits: Limits
    _running: dict[int, GradingProcess] = field(default_factory=dict)  # by the pipe of their result

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
                    self._start(read(REQUEST, line))
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

    def _start(self, request: EngineRequest) -> None:
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
            self.reply(EngineReply(request.number, str(problem).removesuffix(".")))
        else:
            deadline = time.monotonic() + longest_grading(self.limits, len(request.units))
            self._running[reading] = GradingProcess(pid, request.number, deadline)
        finally:
            os.close(writing)

    def _become_grader(self, engine: int, request: EngineRequest, pipe: int) -> NoReturn:
        """In the forked process: grade, send the result, and exit."""
        code = 1
        try:
            lockdown.die_with_parent(engine)
            budget = Budget(len(request.units), self.limits.cpu_seconds)
            try:
                line = to_line(self.grade(request, budget))
            except BaseException:  # noqa: BLE001 - any failure is reported to the engine
                error = traceback.format_exc(limit=-FRAMES_SHOWN).strip()
                line = to_line(EngineReply(request.number, f"the grading process failed:\n{error}"))
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
        reply = EngineReply(grader.number, f"the grading process ended with code {code}")
        self.reply(read(REPLY, grader.received) if code == 0 else reply)
