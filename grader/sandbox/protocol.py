"""The frames that are sent over the socket: JSON and the bytes of tensors, never pickle.

A frame is two 4-byte lengths (big-endian), that many bytes of JSON, then that many bytes of tensors. Both sides use the
same functions. The trusted side checks every claimed size, shape and dtype before it allocates memory.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import torch

from grader.sandbox.bounds import (
    MAX_CALLS,
    MAX_REQUEST_BYTES,
    ProtocolError,
    TooLarge,
    check_sizes,
    check_values,
    read_json,
    write_json,
)
from grader.sandbox.messages import Call, Request
from grader.sandbox.values import Encoder

HEADER = struct.Struct(">II")


class Calls:
    """Calls of one request, with all their tensors. They may contain values from a student process."""

    def __init__(self) -> None:
        self.encoded: list[Call] = []
        self._encoder = Encoder(most_bytes=MAX_REQUEST_BYTES, most_tensors=math.inf)

    @property
    def data(self) -> bytearray:
        """The bytes of all tensors."""
        return self._encoder.data

    def add(self, operation: str, **details: Any) -> None:
        """Add a call of this operation with these arguments. Raises ProtocolError if one cannot be sent."""
        if len(self.encoded) == MAX_CALLS:
            raise TooLarge(f"more than {MAX_CALLS:,} calls")
        end = len(self.data)
        try:
            encoded = {name: self._encoder.encode(value) for name, value in details.items()}
        except ProtocolError:
            del self.data[end:]  # the other calls may still be sent
            raise
        self.encoded.append((operation, encoded))

    def request(self, number: int = 0, times: int = 1) -> Request:
        """Return the request of all these calls, the last one this many times."""
        return Request(number, self.encoded, times)


def pack(message: Any, data: bytes | bytearray = b"") -> bytes:
    """Return plain JSON, and the bytes of its tensors, as one frame."""
    return _framed(write_json(message).encode(), data)


def pack_reply(message: Any, data: bytes | bytearray = b"") -> bytes:
    """Return the frame of a reply. Raises TooLarge if the other side would refuse it."""
    text = write_json(message).encode()
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


def cotangent(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Return the weights by which both sides multiply an output before they sum it and take gradients."""
    count = math.prod(shape)
    return torch.cos(torch.arange(count, dtype=torch.float64) + 1).to(dtype).reshape(shape)
