"""The messages between the processes, their bounds, and the frames in which they are sent.

A message is a JSON list: the name of its kind, then its fields in order. The receiver names the kinds that may come. A
message of another kind or form is refused, so no other module sees a field of a wrong type or size. Honest senders cut
what is longer than the bounds below.

A frame is two 4-byte lengths (big-endian), that many bytes of JSON, then that many bytes of tensors, never pickle. Both
sides use the same functions. The trusted side checks every claimed size, shape and dtype before it allocates memory.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

# Of a reply. Honest replies stay far below each (see docs/attacks.md).
MAX_JSON_BYTES = 4 * 2**20
MAX_VALUES = 10_000
MAX_TENSORS = 1000
MAX_TENSOR_BYTES = 16 * 2**20
MAX_EMPTY_ROWS = 10_000
# Of the tensors of a request.
MAX_REQUEST_BYTES = 256 * 2**20
# Of both.
MAX_CALLS = 10_000
MAX_SIZE = 2**40
MAX_DIMENSIONS = 16
MAX_NESTING = 20


class ProtocolError(Exception):
    """A value that cannot be sent, or a malformed message."""


class TooLarge(ProtocolError):
    """A value that exceeds one of the bounds above; the text names the bound."""


def check_sizes(json_bytes: int, tensor_bytes: int) -> None:
    """Check the sizes in a reply's header before anything is read or allocated. Raises TooLarge."""
    if json_bytes > MAX_JSON_BYTES:
        raise TooLarge(f"a message of more than {MAX_JSON_BYTES // 2**20} MB")
    if tensor_bytes > MAX_TENSOR_BYTES:
        raise TooLarge(f"tensors of more than {MAX_TENSOR_BYTES // 2**20} MB")


def check_values(text: bytes, most: int = MAX_VALUES) -> None:
    """Check an upper bound of the number of values in a JSON text, before it is parsed. Raises TooLarge."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") > most:
        raise TooLarge(f"more than {most:,} values")


def check_rows(shape: Sequence[int]) -> None:
    """Check a tensor that has rows but no bytes: code that iterates over the rows would be slow. Raises TooLarge."""
    if 0 in shape and math.prod(max(size, 1) for size in shape) > MAX_EMPTY_ROWS:
        raise TooLarge(f"a tensor of more than {MAX_EMPTY_ROWS:,} empty rows")


def read_json(text: bytes) -> Any:
    """Parse JSON without NaN and without ints beyond 64 bits. Raises ValueError or RecursionError."""
    return (_read if LONG_NUMBER.search(text) else _read_short_numbers)(text.decode())


def _parse_int(digits: str) -> int:
    if len(digits) > 20 or abs(number := int(digits)) >= 2**63:
        raise ValueError("an int of more than 64 bits")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


write_json = json.JSONEncoder(allow_nan=False).encode
_read = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant).decode
# Checking every number is slow, and only long numbers need it.
_read_short_numbers = json.JSONDecoder(parse_constant=_refuse_constant).decode
LONG_NUMBER = re.compile(rb"[0-9]{19}")


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


FROM_WORKER = (Reply, Error, Progress, Running, Anomaly, Handshake)


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


CHECKS: dict[type, tuple[Check, ...]] = {
    kind: tuple(hint.__metadata__[0] for hint in get_type_hints(kind, include_extras=True).values())
    for kind in (Request, *FROM_WORKER, Failed, Start, Ready, NotStarted, Exited)
}


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


HEADER = struct.Struct(">II")


def pack(message: Any, data: bytes | bytearray = b"") -> bytes:
    """Return plain JSON, and the bytes of its tensors, as one frame."""
    return _framed(write_json(message).encode(), data)


def pack_reply(message: tuple[Any, ...], data: bytes | bytearray = b"") -> bytes:
    """Return the frame of a message from a student process. Raises TooLarge if the other side would refuse it."""
    text = write_json(plain(message)).encode()
    check_sizes(len(text), len(data))
    check_values(text)
    return _framed(text, data)


def _framed(text: bytes, data: bytes | bytearray) -> bytes:
    return b"".join((HEADER.pack(len(text), len(data)), text, data))


def halves(frame: bytes) -> tuple[bytes, bytes]:
    """Return the JSON bytes and the tensor bytes of a frame."""
    middle = HEADER.size + HEADER.unpack_from(frame)[0]
    return frame[HEADER.size : middle], frame[middle:]


def unpack(text: bytes) -> Any:
    """Return the plain JSON of a frame. Raises ProtocolError if it is malformed."""
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a message that is not JSON") from error


def unpack_reply(text: bytes) -> Any:
    """Return the plain JSON of a reply whose size was checked. Raises TooLarge, or ProtocolError if it is malformed."""
    check_values(text)
    return unpack(text)
