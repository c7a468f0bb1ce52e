"""What a student process does instead of giving a value."""

from __future__ import annotations

from dataclasses import dataclass


class Failure(Exception):
    """What a student's process did instead of giving the value that was asked for.

    reason: a plain sentence for the student. detail: the student's own error text. line, file: where.
    """

    def __init__(self, reason: str, detail: str = "", line: int | None = None, file: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.line = line
        self.file = file


class Raised(Failure):
    """The student's code raised; `types` holds the built-in types of the error, most special first."""

    def __init__(self, types: tuple[str, ...], detail: str, line: int | None, file: str | None) -> None:
        kind = next((name for name in types if name != "object"), "Exception")
        super().__init__(f"It raised {'an' if kind[0] in 'AEIOU' else 'a'} {kind}.", detail, line, file)
        self.types = types


class Refused(Failure):
    """The student's object does not have, or give, what was asked for."""


class NotDefined(Refused):
    """The name that was asked for does not exist."""


class TimedOut(Failure):
    """No answer in time; the process has been ended."""


class Ended(Failure):
    """The process is gone, or sent a malformed reply and was ended."""


@dataclass
class FailedStatement:
    """A piece of source that failed: the names it would have defined, why, and where.

    kept: those of the names that an earlier piece has defined.
    """

    names: tuple[str, ...]
    reason: str
    detail: str
    line: int | None
    file: str | None
    kept: tuple[str, ...] = ()
