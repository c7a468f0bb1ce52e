"""Grades submissions in turn, a few at a time, and those that failed once more."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from grader.reports.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grader.engine.messages import Reply
    from grader.submissions.source import Submission


def in_turn(
    submissions: Iterable[Submission],
    at_once: Callable[[], int],
    send: Callable[[int, Submission], None],
    receive: Callable[[Iterable[Submission]], Reply],
) -> Iterator[tuple[Submission, Result | str]]:
    """Grade submissions, on this machine or on others.

    A submission whose grading process failed is graded once more. One that exceeded a limit of its grading process is
    graded once more at the end and alone, because the load of the others may be the reason.

    Args:
        submissions: The submissions; each is taken from the iterable when there is room for it.
        at_once: Returns how many to grade at the same time.
        send: Sends a submission, with the number of its reply.
        receive: Waits for the next reply to one of the submissions that are being graded.

    Yields:
        Each submission with its result, or with the reason why there is none, in the order of completion.
    """
    waiting = enumerate(submissions)
    # Each with the kinds of failure after which it is graded once more.
    running: dict[int, tuple[Submission, set[str]]] = {}
    for_later: deque[tuple[int, Submission, set[str]]] = deque()

    def start(number: int, submission: Submission, retries: set[str]) -> None:
        running[number] = submission, retries
        send(number, submission)

    while True:
        while len(running) < at_once() and (following := next(waiting, None)):
            start(*following, {"fault", "exceeded"})
        if not running and for_later:
            start(*for_later.popleft())
        if not running:
            return
        reply = receive([submission for submission, _ in running.values()])
        submission, retries = running.pop(reply.number)
        if isinstance(reply.result, str) and "fault" in retries:
            start(reply.number, submission, retries - {"fault"})
        elif isinstance(reply.result, Result) and reply.result.exceeded and "exceeded" in retries:
            for_later.append((reply.number, submission, retries - {"exceeded"}))
        else:
            yield submission, reply.result
