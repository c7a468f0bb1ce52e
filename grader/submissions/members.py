"""One file of an archive, and how many and how large the files of an archive may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.plain_files import MEGABYTE, UnreadableError, size_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.submissions.tree import Kind


class Limits(NamedTuple):
    """How large an archive may be: the bytes that it unpacks to, and its entries."""

    size: int
    entries: int


SUBMISSION = Limits(20 * MEGABYTE, 1_000)
CLASS = Limits(500 * MEGABYTE, 100_000)
"""Of a download that holds a class; each submission in it has the limits of a submission."""
RATIO = 100
"""The highest compression ratio of an archive that unpacks to more than a megabyte."""


class Member(NamedTuple):
    """A file of an archive."""

    kind: Kind
    size: int
    packed: float
    read: Callable[[], bytes]
    is_double: bool = False


def require_few(number: int, limits: Limits, name: str) -> None:
    """Raise UnreadableError where the archive `name` has more than the allowed number of files."""
    if number > limits.entries:
        raise UnreadableError(
            f"{name} holds more than {limits.entries:,} files, which is the most that is read: "
            "hand in your answers alone."
        )


def require_ratio(size: int, packed: float, name: str) -> None:
    """Raise UnreadableError where the archive `name` is compressed so well that it can only be an attack."""
    if size > max(MEGABYTE, RATIO * packed):
        raise UnreadableError(
            f"{name} unpacks to more than {RATIO} times its size, as only an attack does: hand in your answers alone."
        )


def require_small(size: int, limits: Limits, name: str) -> None:
    """Raise UnreadableError where the archive `name` unpacks to too many bytes."""
    if size > limits.size:
        raise UnreadableError(
            f"{name} unpacks to {size_text(size)}; at most {size_text(limits.size)} are read: "
            "hand in your answers alone."
        )
