"""Replays the answers of a submission, so that a test can judge them again without new calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.sandbox.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.testing.student import Backend


class Recorded:
    """A backend that records every answer of one run of a test and, after `rewind`, replays them in order.

    Which substitutes a submission called is known only at the end of a run, but expected values are made with them. So
    the same answers are judged a second time, and a process that lies about its calls gets no second try. New calls are
    made only if the first run failed early and the second goes further.
    """

    def __init__(self, backend: Backend) -> None:
        """Take the backend whose answers are recorded."""
        self.backend = backend
        self.draws: dict[Any, list[Any]] = {}  # with substitutes
        self.answers: list[tuple[str, Any]] = []
        self.called: Any = []  # by the first run
        self.place: int | None = None  # of the next answer to replay; None while recording
        # The notifications since the last replayed answer, and those about substitutes.
        self.withheld: list[tuple[str, dict[str, Any]]] = []

    def rewind(self) -> None:
        """Replay the answers from now on."""
        self.place = 0
        self.draws.clear()

    def load(self, unit: str) -> None:
        """Load a unit, unless answers are replayed."""
        if self.place is None:
            self.backend.load(unit)

    def forget(self) -> None:
        """Drop what waits for the next call, unless answers are replayed."""
        if self.place is None:
            self.backend.forget()

    def notify(self, operation: str, **details: Any) -> None:
        """Pass an operation on, or keep it while answers are replayed."""
        if self.place is None:
            self.backend.notify(operation, **details)
        else:
            self.withheld.append((operation, details))

    def call(self, operation: str, **details: Any) -> Any:
        """Return an answer. Raises the Failure that was recorded, or occurs, in its place."""
        return self._answer(operation, lambda: self.backend.call(operation, **details))

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        """Return the answers of a repeated operation, or raise their Failure, like `call`."""
        answers: list[Any] = self._answer(operation, lambda: self.backend.repeat(times, operation, **details))
        return answers

    def _answer(self, operation: str, ask: Callable[[], Any]) -> Any:
        if self.place is not None:
            if self.place < len(self.answers) and self.answers[self.place][0] == operation:
                value = self.answers[self.place][1]
                self.place += 1
                self.withheld = [one for one in self.withheld if one[0] in ("upload", "patch")]
                return _given(value)
            self.place = None
            for withheld, named in self.withheld:
                self.backend.notify(withheld, **named)
        try:
            value = ask()
        except Failure as failure:
            value = failure
        if operation == "unpatch" and self.withheld:
            value = self.called  # a second run that went on may have called fewer than the first
        self.called = value if operation == "unpatch" else self.called
        self.answers.append((operation, value))
        return _given(value)


def _given(value: Any) -> Any:
    if isinstance(value, Failure):
        raise value
    return value
