"""The bounds of what is sent between the processes, and the errors of what is beyond them or malformed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of a reply. Honest ones stay below a tenth of each (docs/attacks.md has the figures).
MAX_JSON_BYTES = 4 * 2**20
MAX_VALUES = 10_000
MAX_TENSORS = 1000
MAX_TENSOR_BYTES = 64 * 2**20
MAX_EMPTY_ROWS = 10_000
# Of the tensors of a request.
MAX_REQUEST_BYTES = 256 * 2**20
# And of both.
MAX_CALLS = 10_000
MAX_HEADER_BYTES = 2**20
MAX_DIMENSIONS = 16
MAX_NESTING = 20


class ProtocolError(Exception):
    """A value that cannot be sent, or bytes that are not what they claim to be."""


class TooLarge(ProtocolError):
    """A value beyond one of the bounds above, which the text names."""


def check_sizes(json_bytes: int, tensor_bytes: int) -> None:
    """Check what a reply's header claims, before anything is read or allocated for it. Raises TooLarge."""
    if json_bytes > MAX_JSON_BYTES:
        raise TooLarge(f"a message of more than {MAX_JSON_BYTES // 2**20} MB")
    # The header of safetensors comes on top of the data.
    if tensor_bytes > MAX_TENSOR_BYTES + MAX_HEADER_BYTES:
        raise TooLarge(f"tensors of more than {MAX_TENSOR_BYTES // 2**20} MB")


def check_values(text: bytes) -> None:
    """Count the values of a JSON text, at most, before it is parsed. Raises TooLarge."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_VALUES:
        raise TooLarge(f"more than {MAX_VALUES:,} values")


def check_tensors(count: int) -> None:
    """Bound how many tensors a reply has, or names. Raises TooLarge."""
    if count > MAX_TENSORS:
        raise TooLarge(f"more than {MAX_TENSORS:,} tensors")


def check_rows(shape: Sequence[int]) -> None:
    """Bound a tensor that has rows but no bytes, for whatever walks over its rows. Raises TooLarge."""
    if 0 in shape and math.prod(max(size, 1) for size in shape) > MAX_EMPTY_ROWS:
        raise TooLarge(f"a tensor of more than {MAX_EMPTY_ROWS:,} empty rows")
