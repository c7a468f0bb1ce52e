"""Many submissions: hands them to the grading engine, a few at a time, and gives each result as it comes."""

from __future__ import annotations

import contextlib
import itertools
import queue
import subprocess
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from grader.engine.budget import GRACE_SECONDS, longest_grading
from grader.engine.messages import Handshake, Request, read_handshake, read_reply, to_line
from grader.errors import InternalError
from grader.reports.results import Result
from grader.reports.scoring import Rubric, make_report, passed_exercises
from grader.sandbox import lockdown
from grader.sandbox.processes import start_module
from grader.testing.misconceptions import MisconceptionError
from grader.testing.misconceptions import build as build_misconceptions

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

    from grader.course.model import Course
    from grader.quizzes.questions import Questions
    from grader.quizzes.source import Quiz
    from grader.reports.model import Report, Suites
    from grader.submissions.source import Submission

ERROR_LINES = 12
# Torch and the suites are imported in this time, on the slowest machine.
START_SECONDS = 600


class SandboxUnavailable(InternalError):
    """Student code cannot be isolated on this machine. `missing` has a sentence for each layer that is needed."""

    def __init__(self, missing: list[str]) -> None:
        """Say which layers are missing."""
        super().__init__("\n".join(["Student code cannot be isolated here, so nothing was graded.", *missing]))
        self.missing = missing


class Engine:
    """The grading engine, in a process of its own with a clean environment, whatever this program is."""

    def __init__(self, course: Course, isolated: bool = sys.platform == "linux", suites: Suites = "hidden") -> None:
        """Start the engine.

        Args:
            course: The course to grade.
            isolated: Whether student code is isolated, which needs Linux.
            suites: The tests to grade with.

        Raises:
            InternalError: It cannot be started, or the misconceptions cannot be built.
        """
        self._limits = course.limits
        options = [str(course.root), suites, *([] if isolated else ["--practice"]), *course.modules]
        pipe = subprocess.PIPE
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
            self._process = start_module("grader.engine.server", *options, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise InternalError(f"The grading engine cannot be started here: {error.strerror}.") from error
        # Written and read all the time, for an engine may wait to be read from, or hang, while it is being sent
        # something. And kept in memory, so that no full disk stops it.
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._last_words: deque[bytes] = deque(maxlen=ERROR_LINES)
        work = (self._speak, self._listen, self._overhear)
        self._threads = [threading.Thread(target=target, daemon=True) for target in work]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the engine: once it has done all, or where something failed, at once."""
        assert self._process.stdout
        assert self._process.stderr
        if kind is not None:
            self._process.kill()
        self._requests.put(None)
        self._process.wait()
        for thread in self._threads:
            thread.join()
        self._process.stdout.close()
        self._process.stderr.close()

    def handshake(self) -> Handshake:
        """Return what the engine says when it is ready. Raises InternalError where it does not."""
        return read_handshake(self._read(START_SECONDS))

    def grade(self, submissions: Iterable[Submission], at_once: int) -> Iterator[tuple[Submission, Result | str]]:
        """Grade submissions, in the order in which they are done.

        A grading process that fails is tried once more. One that came to a limit of its own is tried once more after
        all others, alone, for what else ran may have been the reason.

        Args:
            submissions: Those to grade, each taken when there is room for it.
            at_once: How many to grade at the same time.

        Yields:
            Each submission with its result, or with the fault for which there is none.

        Raises:
            InternalError: The engine ended, or hangs.
        """
        waiting = enumerate(submissions)
        # With what may still happen to each without being its result.
        running: dict[int, tuple[Submission, set[str]]] = {}
        for_later: list[tuple[int, Submission, set[str]]] = []
        while True:
            while len(running) < at_once and (following := next(waiting, None)):
                number, submission = following
                running[number] = (submission, {"fault", "exceeded"})
                self._ask(number, submission)
            if not running and for_later:
                number, submission, retries = for_later.pop(0)
                running[number] = (submission, retries)
                self._ask(number, submission)
            if not running:
                return
            longest = max(longest_grading(self._limits, len(submission.units)) for submission, _ in running.values())
            reply = read_reply(self._read(longest + GRACE_SECONDS))
            submission, retries = running.pop(reply.number)
            if isinstance(reply.result, str) and "fault" in retries:
                running[reply.number] = (submission, retries - {"fault"})
                self._ask(reply.number, submission)
            elif isinstance(reply.result, Result) and reply.result.exceeded and "exceeded" in retries:
                for_later.append((reply.number, submission, retries - {"exceeded"}))
            else:
                yield submission, reply.result

    def last_words(self) -> str:
        """The last lines that the engine has written as errors."""
        return b"".join(self._last_words).decode("utf-8", "replace").strip()

    def _ask(self, number: int, submission: Submission) -> None:
        kept = submission.kept.units if submission.kept else {}
        sources = {**submission.siblings, **submission.sources}
        graded = submission.sources.keys() - kept.keys()
        request = Request(
            number,
            units={name: source for name, source in sources.items() if name in graded},
            siblings={name: source for name, source in sources.items() if name not in graded},
            right=[name for unit in kept.values() for name in passed_exercises(unit)],
        )
        self._requests.put(to_line(request))

    def _speak(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError), self._process.stdin as file:  # where it is gone, that is read from it too
            for line in iter(self._requests.get, None):
                file.write(line)
                file.flush()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _overhear(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            self._last_words.append(line)

    def _read(self, seconds: float) -> bytes:
        """Return the engine's next line. Raises InternalError where it has ended, or says nothing for so long."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self._process.kill()
            self._process.wait()
            raise InternalError(
                f"The grading engine said nothing for {seconds:.0f} s, so it was ended. Run the same command again; if "
                "it hangs once more, grade one submission alone to find the one that it hangs on."
            ) from None
        if not line:
            raise self._fault()
        return line

    def _fault(self) -> InternalError:
        code = self._process.wait()
        self._requests.put(None)
        for thread in self._threads:
            thread.join()
        words = self.last_words()
        said = f" Its last words:\n{words}" if words else ""
        return InternalError(f"The grading engine ended with code {code}.{said}")


class Graded(NamedTuple):
    """The report of a submission and, for the instructor alone, pytest's own."""

    report: Report
    pytest: dict[str, Any] | None


class Grading:
    """Makes reports of submissions. The engine starts with the first submission, and anew after one that failed."""

    def __init__(
        self,
        course: Course,
        quizzes: Mapping[str, Quiz | Questions],
        allow_unisolated: bool = False,
        suites: Suites = "hidden",
    ) -> None:
        """Start nothing yet.

        Args:
            course: The course to grade.
            quizzes: Those of the units that are graded.
            allow_unisolated: Run student code even where nothing isolates it.
            suites: The tests to grade with.
        """
        self._course = course
        self._quizzes = quizzes
        self._allow_unisolated = allow_unisolated
        self._suites: Suites = suites
        self._engine: Engine | None = None
        self._handshake: Handshake | None = None

    def __enter__(self) -> Grading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        engine, self._engine = self._engine, None
        if engine:
            engine.__exit__(kind, error, trace)

    def close(self) -> None:
        """End the engine; the next submission starts a new one."""
        self.__exit__(None, None, None)

    def reports(
        self, submissions: Iterable[Submission], at_once: int, now: datetime.datetime
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Each submission with its reports, or with why there are none, in the order in which they are done.

        Raises InternalError; and SandboxUnavailable, before anything is graded.
        """
        submissions = iter(submissions)
        first = next(submissions, None)
        if first is None:  # then no engine need be started
            return
        try:
            rubric = self.rubric()
            engine, said = self._engine, self._handshake
            assert engine
            assert said
            for submission, result in engine.grade(itertools.chain([first], submissions), at_once):
                if isinstance(result, str):
                    yield submission, result
                else:
                    report = make_report(submission, result, rubric, self._course, said.missing, said.versions, now)
                    yield submission, Graded(report, result.pytest)
        except BaseException:
            # An engine that is left half way still owes results, which would be taken for those that follow.
            self.__exit__(*sys.exc_info())
            raise

    def rubric(self) -> Rubric:
        """Return what points are given for; starts the engine.

        Raises:
            InternalError: The engine ended.
            SandboxUnavailable: Student code cannot be isolated here, and nobody has allowed that.
        """
        if self._engine is None:
            self._engine = Engine(self._course, suites=self._suites)
            self._handshake = self._engine.handshake()
        assert self._handshake
        missing = self._handshake.missing
        if not lockdown.is_enough(missing) and not self._allow_unisolated:
            raise SandboxUnavailable([f"{layer}: {missing[layer]}" for layer in lockdown.NEEDED if layer in missing])
        return Rubric(self._handshake.criteria, self._quizzes, self._suites)
