"""The bounds of messages between the processes, JSON within these bounds, and the errors of what exceeds them."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

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
