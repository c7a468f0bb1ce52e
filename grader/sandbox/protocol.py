"""The frames that are sent over the socket: JSON and safetensors, never pickle.

A frame is two 4-byte lengths (big-endian), that many bytes of JSON, then that many bytes of safetensors. Both sides use
the same functions. The trusted side checks every claimed size, shape and dtype before it allocates memory.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import torch

from grader.sandbox import tensors
from grader.sandbox.bounds import (
    MAX_CALLS,
    MAX_REQUEST_BYTES,
    ProtocolError,
    TooLarge,
    check_sizes,
    check_tensors,
    check_values,
    read_json,
    write_json,
)
from grader.sandbox.messages import Call, Request
from grader.sandbox.values import encode

HEADER = struct.Struct(">II")


class Calls:
    """Calls of one request, with all their tensors. They may contain values from a student process."""

    def __init__(self) -> None:
        self.encoded: list[Call] = []
        self.tensors: list[torch.Tensor] = _Tensors(MAX_REQUEST_BYTES)

    def add(self, operation: str, **details: Any) -> None:
        """Add a call of this operation with these arguments. Raises ProtocolError if one cannot be sent."""
        if len(self.encoded) == MAX_CALLS:
            raise TooLarge(f"more than {MAX_CALLS:,} calls")
        encoded = {name: encode(value, self.tensors) for name, value in details.items()}
        self.encoded.append((operation, encoded))

    def request(self, number: int = 0) -> Request:
        """Return the request of all these calls."""
        return Request(number, self.encoded)


class _Tensors(list[torch.Tensor]):
    """Tensors to send, with a limit of their bytes together."""

    def __init__(self, bytes_left: int) -> None:
        super().__init__()
        self.bytes_left = bytes_left

    def append(self, tensor: torch.Tensor) -> None:
        self.bytes_left -= tensor.nbytes
        if self.bytes_left < 0:
            raise TooLarge("tensors that are too large together")
        super().append(tensor)


def pack(message: Any, sent: list[torch.Tensor]) -> bytes:
    """Return plain JSON and its tensors as one frame."""
    text = write_json(message).encode()
    blob = tensors.pack(sent) if sent else b""
    return HEADER.pack(len(text), len(blob)) + text + blob


def pack_reply(message: Any, sent: list[torch.Tensor]) -> bytes:
    """Return the frame of a reply. Raises TooLarge if the other side would refuse it."""
    check_tensors(len(sent))
    frame = pack(message, sent)
    text, blob = halves(frame)
    check_sizes(len(text), len(blob))
    check_values(text)
    return frame


def halves(frame: bytes) -> tuple[bytes, bytes]:
    """Return the JSON bytes and the tensor bytes of a frame."""
    middle = HEADER.size + HEADER.unpack_from(frame)[0]
    return frame[HEADER.size : middle], frame[middle:]


def unpack(text: bytes, blob: bytes) -> tuple[Any, list[torch.Tensor]]:
    """Return the plain JSON and the tensors of a frame's two parts. Raises ProtocolError if one is malformed."""
    try:
        message = read_json(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a message that is not JSON") from error
    return message, tensors.unpack(blob) if blob else []


def unpack_reply(text: bytes, blob: bytes) -> tuple[Any, list[torch.Tensor]]:
    """Unpack a reply whose sizes were checked. Raises TooLarge, or ProtocolError if it is malformed."""
    check_values(text)
    message, received = unpack(text, blob)
    check_tensors(len(received))
    return message, received


def cotangent(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Return the weights by which both sides multiply an output before they sum it and take gradients."""
    count = math.prod(shape)
    return torch.cos(torch.arange(count, dtype=torch.float64) + 1).to(dtype).reshape(shape)
