"""Makes reports of submissions that the workers of a Dask cluster grade."""

from __future__ import annotations

import contextlib
import datetime
import queue
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from grader.cluster.cluster_messages import RemoteResult, Task, WorkerAnswer, read_answer
from grader.cluster.cluster_worker import grade, installed
from grader.cluster.connection import INSTALL, connect, start_worker
from grader.course.model import Course
from grader.engine.engine_client import Engine, Turns, request_for
from grader.engine.engine_messages import EngineReply, EngineRequest
from grader.engine.grading import Graded, SandboxUnavailable
from grader.errors import InternalError
from grader.quizzes.quiz_source import QuizSource
from grader.reports.report_model import Described, Result
from grader.reports.scoring import Rubric, make_report
from grader.sandbox.protocol import ProtocolError
from grader.submissions.submission import Submission

if TYPE_CHECKING:
    from distributed import Future

# Between two looks at the workers.
LOOK_SECONDS = 10
# For each thread of the workers: one that is graded, and one that waits at the worker.
SENT_AHEAD = 2


class ClusterGrading(contextlib.ExitStack):
    """Makes reports of submissions, as `Grading` does, from what workers return. At the end it disconnects."""

    def __init__(
        self, course: Course, quizzes: Mapping[str, QuizSource], allow_unisolated: bool, scheduler: str
    ) -> None:
        """Prepare; nothing is started or connected yet.

        Args:
            course: The course to grade.
            quizzes: The quizzes of the units that are graded. They are marked here.
            allow_unisolated: Run student code even on workers that cannot isolate it.
            scheduler: The scheduler's address.
        """
        super().__init__()
        self._course, self._quizzes, self._allow_unisolated = course, quizzes, allow_unisolated
        self._scheduler = scheduler
        self._finished: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
        self._sent: dict[Any, tuple[int, EngineRequest, Future[bytes]]] = {}  # by the key of the task
        self._threads, self._looked = 0, 0.0

    def turns(self, _jobs: int) -> Turns:
        """Return what grades submissions on the workers, which say how many at once. Connects to the cluster.

        Raises:
            GraderError: The address is refused, or nothing answers there.
            InternalError: A worker refuses to grade, or there is no worker or scheduler any more.
            SandboxUnavailable: A worker cannot isolate student code.
        """
        self._scheduler, self._client = self.enter_context(connect(self._scheduler))
        # What earns points comes from this machine, whatever a worker says.
        with Engine(self._course) as engine:
            criteria = engine.handshake().criteria
        self._rubric = Rubric(criteria, self._quizzes)
        needed = installed(self._course)

        def send(number: int, submission: Submission) -> None:
            request = request_for(number, submission)
            task = Task(needed, self._allow_unisolated, request).to_bytes()
            # Not pure: otherwise the scheduler would return the result of an equal submission.
            with self._connected():
                future = self._client.submit(grade, task, pure=False)
            self._sent[future.key] = number, request, future
            future.add_done_callback(self._finished.put)

        def receive(_running: Iterable[Submission]) -> EngineReply:
            future = self._next_finished()
            number, request, _ = self._sent.pop(future.key)
            return EngineReply(number, self._result(future, request, criteria))

        return Turns(self._at_once, send, receive)

    def marked(
        self, submission: Submission, result: Result | str, now: datetime.datetime
    ) -> Iterator[tuple[Submission, Graded | str]]:
        """Yield a graded submission and its copies, each with its report, or with the reason why there is none."""
        for one in (submission, *submission.copies):
            if isinstance(result, RemoteResult):
                report = make_report(one, result, self._rubric, self._course, result.missing, result.versions, now)
                yield one, Graded(report, result.pytest)
            else:
                yield one, str(result)

    def _result(self, future: Future[bytes], request: EngineRequest, criteria: Sequence[Described]) -> Result | str:
        """Return the result of a task that has ended, or the reason why there is none. Raises InternalError."""
        with self._connected():
            error = future.exception()  # raises an error of its own if the scheduler has forgotten the task
            content = None if error is not None else future.result()
        if error is not None:
            return self._failure(error)
        try:
            answer, result = read_answer(content, request, criteria)
        except ProtocolError as problem:
            return f"the worker {self._holder(future)} sent a malformed answer: {problem}"
        if isinstance(result, str):
            return _why_not_graded(answer, result)
        return result

    def _failure(self, error: BaseException) -> str:
        """Return why a submission lost its workers. Raises InternalError if Dask can run nothing."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return f"each worker that graded it ended, the last one at {error.last_worker.address}"
        # What goes wrong while a worker grades is an answer, so Dask itself failed, and would fail again.
        reason = str(error).partition("\n")[0]
        raise InternalError(
            f"Dask could not run the grader at {self._scheduler} ({type(error).__name__}: {reason}): the scheduler and "
            f"each worker need the grader of this machine, with {INSTALL}. Start them with its Python."
        ) from None

    def _holder(self, future: Future[bytes]) -> str:
        """Return the addresses of the workers that have a result."""
        with self._connected():
            found = self._client.who_has([future])
        return ", ".join(address for places in found.values() for address in places)

    def _next_finished(self) -> Future[bytes]:
        """Wait for a task that has ended. Raises InternalError if there is nobody left who could grade it."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._finished.get(timeout=LOOK_SECONDS)
            if not self._look():
                start = start_worker(self._scheduler)
                raise InternalError(f"The scheduler {self._scheduler} has no worker any more: start one, {start}.")

    def _at_once(self) -> int:
        """Return how many submissions to send at once. Workers may come and go."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        return max(SENT_AHEAD * self._threads, 1)

    def _look(self) -> int:
        """Ask how many threads the workers have. Raises InternalError if the scheduler does not answer."""
        with self._connected():
            self._threads = sum(self._client.nthreads().values())
        self._looked = time.monotonic()
        return self._threads

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Report that the scheduler is gone as an InternalError."""
        from distributed.client import ClosedClientError

        try:
            yield
        except (OSError, RuntimeError, CancelledError, ClosedClientError) as error:
            reason = " ".join(str(error).split())
            raise InternalError(
                f"The scheduler {self._scheduler} does not answer any more, or was restarted ({reason})."
            ) from None


def _why_not_graded(answer: WorkerAnswer, text: str) -> str:
    """Return why a submission was not graded. Raises InternalError if the worker can grade none."""
    if answer.kind == "unisolated":
        raise SandboxUnavailable(answer.reasons, where=f"on the worker {answer.worker}")
    if answer.kind == "refused":
        raise InternalError(
            f"The worker {answer.worker} refuses to grade: {text}. Install this machine's versions there, with "
            "`git pull` and `make` in the course's folder, and restart the worker."
        )
    return f"{text} (on the worker {answer.worker})"
