"""Sends students what their grades of record say, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GraderError, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Delivery(NamedTuple):
    """Something to send: for whom, and what sends it. Sent again, it changes nothing; it raises GraderError."""

    recipient: str
    deliver: Callable[[], None]


def send(deliveries: Iterable[Delivery]) -> Iterator[tuple[str, str | None]]:
    """Send everything, even after an error. Yield each recipient, and the error or None."""
    for recipient, deliver in deliveries:
        problem = None
        try:
            deliver()
        except InternalError:
            raise
        except GraderError as error:
            problem = str(error)
        yield recipient, problem
