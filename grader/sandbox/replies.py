"""What a reply says: a value, the statements that failed, or a failure with a sentence for the student.

A student's process has worded it, so what becomes part of a reason is made one line of plain words.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import Any

import torch

from grader.sandbox.bounds import ProtocolError
from grader.sandbox.failures import FailedStatement, NotDefined, Raised, Refused
from grader.sandbox.loader import AlwaysTrue
from grader.sandbox.messages import MAX_FAILURES, Error, Failed, Reply, checked
from grader.sandbox.values import decode_reply

# Tracebacks end at the line of the test: the way from there helps nobody.
__tracebackhide__ = True

NOT_PYTHON = "It is not valid Python."
ALWAYS_TRUE = "This assert is always true."
# What terminals and the logs of workflows obey.
SIGNS = re.compile(r"[^\w\s.,;'()/+-]")

Reader = Callable[[Reply | Error, list[torch.Tensor]], Any]


def value_of(reply: Reply | Error, tensors: list[torch.Tensor]) -> Any:
    """Return the value of a reply.

    Raises:
        Failure: It is an error.
        ProtocolError: The value is malformed, or too large.
    """
    if isinstance(reply, Reply):
        return decode_reply(reply.value, tensors)
    types = tuple(reply.types)
    if types[:1] == ("Undefined",):
        raise NotDefined(f"{_plain(reply.text)}.")
    if types[:1] in (("Unsupported",), ("Unsendable",)):
        raise Refused(_sentence(reply.text))
    raise Raised(_errors(types) or ("Exception",), reply.text, reply.line, reply.file)


def failed_statements(reply: Reply | Error, tensors: list[torch.Tensor]) -> list[FailedStatement]:
    """Return the statements that failed when a unit was loaded, as value_of does."""
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
    """Those that name a built-in error."""
    found = ((name, getattr(builtins, name, None)) for name in types)
    return tuple(name for name, kind in found if isinstance(kind, type) and issubclass(kind, BaseException))


def _sentence(text: str) -> str:
    text = _plain(text)
    return f"{text[:1].upper()}{text[1:]}."


def _plain(text: str) -> str:
    return " ".join(SIGNS.sub(" ", text[:200]).split())
