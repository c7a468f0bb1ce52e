"""What a reply of a student process becomes: a value, or a failure with a sentence for the student.

Student code may have worded the reply. What becomes part of a reason is therefore reduced to one line of plain words.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.sandbox.bounds import ProtocolError
from grader.sandbox.loader import AlwaysTrue
from grader.sandbox.messages import MAX_FAILURES, Error, Failed, Reply, checked
from grader.sandbox.values import decode_reply

if TYPE_CHECKING:
    import torch

# Tracebacks end at the line of the test: the frames below it help nobody.
__tracebackhide__ = True

NOT_PYTHON = "It is not valid Python."
ALWAYS_TRUE = "This assert is always true."
# Characters that terminals and workflow logs may interpret.
CONTROL_CHARACTERS = re.compile(r"[^\w\s.,;'()/+-]")


class Failure(Exception):
    """What a student process did instead of returning a value.

    Attributes:
        reason: A plain sentence for the student.
        detail: The student's own error text.
        line, file: The place in the student's source.
    """

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
    """A statement of a unit that failed: the names it would have defined, why it failed, and where.

    Attributes:
        kept: The names that an earlier statement has defined.
    """

    names: tuple[str, ...]
    reason: str
    detail: str
    line: int | None
    file: str | None
    kept: tuple[str, ...] = ()


Reader = Callable[["Reply | Error", "list[torch.Tensor]"], Any]


def value_of(reply: Reply | Error, tensors: list[torch.Tensor]) -> Any:
    """Return the value of a reply.

    Raises:
        Failure: The reply is an error.
        ProtocolError: The value is malformed, or too large.
    """
    if isinstance(reply, Reply):
        return decode_reply(reply.value, tensors)
    text, types = _plain(reply.text), tuple(reply.types)
    if types[:1] == ("Undefined",):
        raise NotDefined(f"{text}.")
    if types[:1] in (("Unsupported",), ("Unsendable",)):
        raise Refused(f"{text[:1].upper()}{text[1:]}.")
    raise Raised(_errors(types) or ("Exception",), reply.text, reply.line, reply.file)


def failed_statements(reply: Reply | Error, tensors: list[torch.Tensor]) -> list[FailedStatement]:
    """Return the statements that failed when a unit was loaded. Raises what value_of raises."""
    found = value_of(reply, tensors)
    if type(found) is not list or len(found) > MAX_FAILURES:
        raise ProtocolError("another value than the statements that failed")
    return [_statement(checked(Failed, one)) for one in found]


def _statement(failed: Failed) -> FailedStatement:
    if tuple(failed.types) == (AlwaysTrue.__name__,):
        reason = ALWAYS_TRUE
    else:
        kinds = _errors(tuple(failed.types))
        reason = NOT_PYTHON if "SyntaxError" in kinds else f"It raised {kinds[0] if kinds else 'an error'}."
    file = None if failed.file is None else _plain(failed.file)
    kept = tuple(name for name in failed.kept if name.isidentifier())
    return FailedStatement(tuple(failed.names), reason, failed.text, failed.line, file, kept)


def _errors(types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that are built-in errors."""
    found = ((name, getattr(builtins, name, None)) for name in types)
    return tuple(name for name, kind in found if isinstance(kind, type) and issubclass(kind, BaseException))


def _plain(text: str) -> str:
    return " ".join(CONTROL_CHARACTERS.sub(" ", text[:200]).split())
