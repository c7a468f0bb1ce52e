"""The failures of a student process: what it did instead of returning a value, each with a sentence for the student."""

from __future__ import annotations

import re
from dataclasses import dataclass

NOT_PYTHON = "It is not valid Python."
# As `pieces` says it: no statement is lost, or its names are known.
KNOWN_LINES = re.compile(r"the line is (?:a|printed)|lines \d+ to \d+ are|a cell that begins with")


class Failure(Exception):
    """What a student process did instead of returning a value.

    Attributes:
        reason: A plain sentence for the student.
        detail: The student's own error text.
        line, file: The place in the student's source.
        trace: The student's lines that led there, the outermost first, each a file and a line.
        shapes: The tensors in the expression that failed, each a name and a shape.
        about: The class of the object that it is about; "" if none.
    """

    trace: tuple[tuple[str, int], ...] = ()
    shapes: tuple[str, ...] = ()
    about: str = ""

    def __init__(self, reason: str, detail: str = "", line: int | None = None, file: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.line = line
        self.file = file


class Raised(Failure):
    """The student's code raised an error; `types` are its built-in types, the most specific first."""

    def __init__(self, types: tuple[str, ...], detail: str, line: int | None, file: str | None) -> None:
        kind = next((name for name in types if name != "object"), "Exception")
        super().__init__(f"It raised {'an' if kind[0] in 'AEIOU' else 'a'} {kind}.", detail, line, file)
        self.types = types


class Refused(Failure):
    """The student's object lacks what the call needs, or its value cannot be sent."""


class NotDefined(Refused):
    """The student's module does not define the name."""


class TimedOut(Failure):
    """No reply in time; the process was stopped."""


class Ended(Failure):
    """The process ended, or sent a malformed reply and was stopped."""


@dataclass
class FailedStatement:
    """A statement of a unit that failed, or a remark: the names it would have defined, why it failed, and where.

    Attributes:
        kept: The names that still have the function or class that an earlier statement gave them.
        trace: The student's lines that led to the error, the outermost first, each a file and a line.
        hint: What to do about it, if that is known by now.
        ran: Whether it ran, and this is a remark that counts only where it explains a failure.
    """

    names: tuple[str, ...]
    reason: str
    detail: str
    line: int | None
    file: str | None
    kept: tuple[str, ...] = ()
    trace: tuple[tuple[str, int], ...] = ()
    hint: str = ""
    ran: bool = False

    @property
    def may_define_anything(self) -> bool:
        """Whether it is not known which names it would have defined."""
        return self.reason == NOT_PYTHON and not self.names and not KNOWN_LINES.match(self.detail)
