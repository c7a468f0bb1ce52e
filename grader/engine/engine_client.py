"""The grading engine as other programs see it: sends submissions, a few at a time, and yields each result."""

from __future__ import annotations

import contextlib
import itertools
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, Any

from grader import machine
from grader.course.model import Course
from grader.engine.engine_messages import (
    HANDSHAKE,
    REPLY,
    EngineHandshake,
    EngineReply,
    EngineRequest,
    read,
    to_line,
)
from grader.engine.engine_server import start
from grader.engine.grading_processes import GRACE_SECONDS, longest_grading
from grader.errors import GraderError, InternalError, SuiteFault
from grader.reports.report_model import Result, Suites
from grader.reports.scoring import passed_exercises
from grader.submissions.submission import Submission
from grader.testing.misconceptions import MisconceptionError
from grader.testing.misconceptions import build as build_misconceptions


class Turns:
    """Grades submissions a few at a time, on this machine or on others.

    A submission whose grading process failed is graded once more. One that exceeded a limit of its grading process is
    graded once more at the end and alone, because the load of the others may be the reason.

    Args:
        at_once: Returns how many to grade at the same time.
        send: Sends a submission, with the number of its reply.
        receive: Waits for the next reply to one of the submissions that are being graded.
    """

    def __init__(
        self,
        at_once: Callable[[], int],
        send: Callable[[int, Submission], None],
        receive: Callable[[Iterable[Submission]], EngineReply],
    ) -> None:
        """Begin with nothing."""
        self._at_once, self._send, self._receive = at_once, send, receive
        self._numbers = itertools.count()
        # Each with the kinds of failure after which it is graded once more.
        self._running: dict[int, tuple[Submission, set[str]]] = {}
        self._for_later: deque[tuple[int, Submission, set[str]]] = deque()

    def put(self, submission: Submission) -> list[tuple[Submission, Result | str]]:
        """Wait until there is room for a submission, and send it.

        Returns:
            The submissions that were done until then, each with its result or with the reason why there is none.
        """
        done: list[tuple[Submission, Result | str]] = []
        while len(self._running) >= self._at_once():
            done += self._next()
        self._start(next(self._numbers), submission, {"fault", "exceeded"})
        return done

    def rest(self) -> Iterator[tuple[Submission, Result | str]]:
        """Yield the others, in the order of completion."""
        while self._running or self._for_later:
            if not self._running:
                self._start(*self._for_later.popleft())
            yield from self._next()

    def all(self, submissions: Iterable[Submission]) -> Iterator[tuple[Submission, Result | str]]:
        """Yield each submission with its result, or with the reason why there is none, in the order of completion."""
        for submission in submissions:
            yield from self.put(submission)
        yield from self.rest()

    def _start(self, number: int, submission: Submission, retries: set[str]) -> None:
        self._running[number] = submission, retries
        self._send(number, submission)

    def _next(self) -> list[tuple[Submission, Result | str]]:
        """Wait for a reply. Returns nothing if its submission is graded once more."""
        reply = self._receive([submission for submission, _ in self._running.values()])
        submission, retries = self._running.pop(reply.number)
        if isinstance(reply.result, str) and "fault" in retries:
            self._start(reply.number, submission, retries - {"fault"})
            return []
        if isinstance(reply.result, Result) and reply.result.exceeded and "exceeded" in retries:
            self._for_later.append((reply.number, submission, retries - {"exceeded"}))
            return []
        return [(submission, reply.result)]


ERROR_LINES = 12
# Enough to import torch and the suites on the slowest machine.
START_SECONDS = 600


class Engine(contextlib.AbstractContextManager["Engine"]):
    """The grading engine, in a process of its own with a clean environment."""

    def __init__(
        self,
        course: Course,
        isolated: bool = sys.platform == "linux",
        suites: Suites = "hidden",
        units: Iterable[str] = (),
    ) -> None:
        """Start the engine.

        Args:
            course: The course to grade.
            isolated: Whether student code is isolated, which needs Linux.
            suites: The tests to grade with.
            units: The units whose visible tests are collected; by default, all.

        Raises:
            GraderError: PyTorch is not installed.
            InternalError: The engine cannot be started, or the misconceptions cannot be built.
        """
        if missing := machine.missing_torch():
            raise GraderError(missing)
        self._limits = course.limits
        if suites == "hidden":
            try:
                build_misconceptions(course, course.units)
            except MisconceptionError as error:
                raise InternalError(str(error)) from error
            except OSError as error:
                raise InternalError(
                    f"The misconceptions cannot be written to {error.filename}: {error.strerror}."
                ) from error
        try:
            self._process = start()
        except OSError as error:
            raise InternalError(f"The grading engine cannot be started here: {error.strerror}.") from error
        # Threads write and read all the time, because the engine may hang, or wait until its output is read, while a
        # request is being sent. Everything is kept in memory, so that a full disk stops nothing.
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._requests.put(to_line({"modules": list(course.modules), "is_practice": not isolated}))
        settings = {"root": str(course.root), "is_hidden": suites == "hidden", "units": list(units)}
        self._requests.put(to_line(settings))
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._last_words: deque[bytes] = deque(maxlen=ERROR_LINES)
        work: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
            (_write, (self._process.stdin, self._requests)),
            (_read, (self._process.stdout, self._lines)),
            (self._last_words.extend, (self._process.stderr,)),
        ]
        self._threads = [threading.Thread(target=target, args=given, daemon=True) for target, given in work]
        for thread in self._threads:
            thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the engine: when it has graded everything, or at once if there was an error."""
        if kind is not None:
            self._process.kill()
        with self._process:
            self._wait()

    def kill(self) -> None:
        """End the engine at once, from another thread."""
        self._process.kill()

    def handshake(self) -> EngineHandshake:
        """Return the engine's first message.

        Raises:
            SuiteFault: The suites cannot be used.
            InternalError: The engine ended.
        """
        handshake = read(HANDSHAKE, self.next_line(START_SECONDS))
        if handshake.problems:
            raise SuiteFault("\n".join(handshake.problems))
        return handshake

    def turns(self, at_once: int, drawn: Iterable[str] = ()) -> Turns:
        """Return what grades submissions, those that failed once more. It raises InternalError if the engine ends.

        Args:
            at_once: How many to grade at the same time.
            drawn: The exercises whose pictures are drawn too.
        """

        def send(number: int, submission: Submission) -> None:
            self.send(request_for(number, submission, drawn))

        def receive(running: Iterable[Submission]) -> EngineReply:
            longest = max(longest_grading(self._limits, len(submission.units)) for submission in running)
            return read(REPLY, self.next_line(longest + GRACE_SECONDS))

        return Turns(lambda: at_once, send, receive)

    def send(self, request: EngineRequest) -> None:
        """Send a request, without waiting for the reply."""
        self._requests.put(to_line(request))

    def last_words(self) -> str:
        """Return the last lines of the engine's standard error."""
        return b"".join(self._last_words).decode("utf-8", "replace").strip()

    def next_line(self, seconds: float | None = None) -> bytes:
        """Return the engine's next line. Raises InternalError if the engine ended, or sends nothing for this time."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self._process.kill()
            self._process.wait()
            raise InternalError(
                f"The grading engine said nothing for {seconds:.0f} s, so it was ended. Run the same command again; if "
                "it hangs once more, grade one submission alone to find the one that it hangs on."
            ) from None
        if line:
            return line
        code, words = self._wait(), self.last_words()
        details = f" Its last words:\n{words}" if words else ""
        raise InternalError(f"The grading engine ended with code {code}.{details}")

    def _wait(self) -> int:
        """Send no more requests, wait until the engine and the threads end, and return the exit code."""
        self._requests.put(None)
        code = self._process.wait()
        for thread in self._threads:
            thread.join()
        return code


def request_for(number: int, submission: Submission, drawn: Iterable[str] = ()) -> EngineRequest:
    """Return the request to grade a submission, without the units that it keeps from an earlier report."""
    kept = submission.kept.units if submission.kept else {}
    sources = {**submission.siblings, **submission.sources}
    graded = submission.sources.keys() - kept.keys()
    return EngineRequest(
        number,
        units={name: source for name, source in sources.items() if name in graded},
        siblings={name: source for name, source in sources.items() if name not in graded},
        untested=[*submission.untested, *(name for unit in kept.values() for name in passed_exercises(unit))],
        drawn=list(drawn),
    )


def _write(file: IO[bytes], requests: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError), file:  # if the engine has ended, its output shows that
        for line in iter(requests.get, None):
            file.write(line)
            file.flush()


def _read(file: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    for line in file:
        lines.put(line)
    lines.put(b"")
