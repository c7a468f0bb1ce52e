"""The messages between the processes. The form of each field is checked when a message arrives.

A message is a JSON list: the name of its kind, then its fields in order. The receiver names the kinds that may come. A
message of another kind or form is refused, so no other module sees a field of a wrong type or size.

Honest senders cut what is longer than the bounds below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

from grader.sandbox.bounds import MAX_CALLS, ProtocolError

MAX_TEXT = 2000
MAX_NAME = 200
MAX_NAMES = 100
MAX_TYPES = 20
MAX_FAILURES = 200
MORE = "more failures"  # the kind of the last one, if there are too many
MAX_KINDS = 20
MAX_LAYERS = 20
MAX_LINE = 2**31
MAX_TRACE = 4
MAX_SHAPES = 6

M = TypeVar("M", bound=tuple[Any, ...])
Check = Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _text(most: int) -> Check:
    return lambda value: type(value) is str and len(value) <= most


def _list(check: Check, most: int) -> Check:
    return lambda value: type(value) in (list, tuple) and len(value) <= most and all(map(check, value))


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _by_name(check: Check, most: int) -> Check:
    return lambda value: type(value) is dict and len(value) <= most and all(map(check, value.values()))


def _is_place(value: Any) -> bool:
    return type(value) in (list, tuple) and [type(part) for part in value] == [str, int] and len(value[0]) <= MAX_TEXT


def _is_call(value: Any) -> bool:
    return type(value) in (list, tuple) and [type(part) for part in value] == [str, dict]


Whole = Annotated[int, _is_whole]
Line = Annotated[int | None, _optional(_is_whole)]
Seconds = Annotated[float, lambda value: type(value) in (int, float)]
Flag = Annotated[bool, lambda value: type(value) is bool]
Name = Annotated[str, _text(MAX_NAME)]
Text = Annotated[str, _text(MAX_TEXT)]
File = Annotated[str | None, _optional(_text(MAX_TEXT))]
Names = Annotated[tuple[str, ...], _list(_text(MAX_NAME), MAX_NAMES)]
Types = Annotated[tuple[str, ...], _list(_text(MAX_NAME), MAX_TYPES)]
Trace = Annotated[tuple[tuple[str, int], ...], _list(_is_place, MAX_TRACE)]
Shapes = Annotated[tuple[str, ...], _list(_text(MAX_NAME), MAX_SHAPES)]
Call = tuple[str, dict[str, Any]]
"""An operation of the worker, and its arguments by name, encoded."""


# -- the sandbox client to a student process ------------------------------------------------------------------


class Request(NamedTuple):
    """Calls to make in order, the last one this many times.

    Replies have the values of the last call, or the first error, after which there is no more. The number is a random
    one, so that nobody can reply in advance.
    """

    number: Whole
    calls: Annotated[list[Call], _list(_is_call, MAX_CALLS)]
    times: Whole


# -- a student process to the sandbox client ------------------------------------------------------------------


class Handshake(NamedTuple):
    """The process has started: which layers isolate it, and its process id."""

    layers: Annotated[dict[str, bool], _by_name(lambda value: type(value) is bool, MAX_LAYERS)]
    pid: Whole


class Progress(NamedTuple):
    """A top-level statement of a unit is about to run: its place, and the names that it binds."""

    number: Whole
    unit: Name
    cell: Whole
    line: Whole
    names: Names


class Running(NamedTuple):
    """The student's line that runs now, sent from time to time by a call that takes long."""

    number: Whole
    file: Annotated[str, _text(MAX_TEXT)]
    line: Whole


class Anomaly(NamedTuple):
    """Student code did something that no answer needs: the words of the audit log for it, and its argument."""

    number: Whole
    words: Name
    argument: Name


class Reply(NamedTuple):
    """The next encoded values of a request's last call, at least one."""

    number: Whole
    values: Annotated[list[Any], lambda value: type(value) is list and len(value) > 0]


class Error(NamedTuple):
    """The error of a call.

    Attributes:
        types: Its built-in types, the most specific first. Or a name of the worker, such as Undefined, and the class of
            the object that it is about, if any.
        text: Its text.
        line, file: The student's innermost line.
        trace: The student's lines that led there, the outermost first, each a file and a line.
        shapes: The tensors in the expression that failed, each a name and a shape.
    """

    number: Whole
    types: Types
    text: Text
    line: Line = None
    file: File = None
    trace: Trace = ()
    shapes: Shapes = ()


class Failed(NamedTuple):
    """A statement that failed when its unit was loaded. It is part of the value of a reply.

    Attributes:
        names: The names that it would have defined.
        kept: Those that still have the function or class that an earlier statement gave them.
        line: Where it is, in the source of this file.
        trace: The student's lines that led to the error, as of an `Error`.
    """

    names: Names
    kept: Names
    types: Types
    text: Text
    line: Line
    file: File
    trace: Trace = ()


# -- the sandbox client and the fork server -------------------------------------------------------------------


class Start(NamedTuple):
    """Start a student process. Three descriptors are sent with it."""

    cpu_seconds: Whole
    memory_bytes: Whole


class Ready(NamedTuple):
    """The fork server has started: the layers that this system lacks, each with a sentence."""

    missing: Annotated[dict[str, str], _by_name(_text(MAX_TEXT), MAX_LAYERS)]


class NotStarted(NamedTuple):
    """The fork server, or a student process, could not be started, and why."""

    reason: Text


class Exited(NamedTuple):
    """A student process has ended, and what was measured of it.

    Attributes:
        code: Its exit code, negative for a signal.
        was_ended: Whether the fork server ended it.
        cpu_seconds: Its processor time.
        memory_bytes: The most memory that it held.
        memory_ran_out: Whether the system killed a process for want of memory while this one ran.
    """

    code: Whole
    was_ended: Flag
    cpu_seconds: Seconds = 0
    memory_bytes: Whole = 0
    memory_ran_out: Flag = False


# ------------------------------------------------------------------------------------------------------------


def _checks(kind: type) -> tuple[Check, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(hint.__metadata__[0] for hint in hints.values())


CHECKS: dict[type, tuple[Check, ...]] = {
    kind: _checks(kind)
    for kind in (
        Request, Handshake, Progress, Running, Anomaly, Reply, Error, Failed, Start, Ready, NotStarted, Exited,
    )
}  # fmt: skip


def plain(message: tuple[Any, ...]) -> list[Any]:
    """Return a message as plain JSON."""
    return [type(message).__name__, *message]


def parse(plain: Any, *kinds: type[M]) -> M:
    """Return plain JSON as a message of one of these kinds.

    Raises:
        ProtocolError: It is of another kind, or a field has another form.
    """
    if type(plain) is list and plain:
        for kind in kinds:
            if plain[0] == kind.__name__:
                return checked(kind, plain[1:])
    raise ProtocolError("a message of an unknown kind")


def checked(kind: type[M], fields: Any) -> M:
    """Return a message of this kind with these fields.

    Raises:
        ProtocolError: There are more or fewer fields, or one has another form.
    """
    checks = CHECKS[kind]
    if (
        type(fields) not in (list, tuple)
        or len(fields) != len(checks)
        or not all(check(field) for check, field in zip(checks, fields, strict=True))
    ):
        raise ProtocolError(f"a {kind.__name__} of the wrong form")
    return kind(*fields)


def cut(texts: Iterable[Any], most: int = MAX_NAMES) -> tuple[str, ...]:
    """Return the strings among these, within the number and length that a message may have."""
    found = (str.__str__(text)[:MAX_NAME] for text in texts if isinstance(text, str))
    return tuple(text for text, _ in zip(found, range(most), strict=False))
