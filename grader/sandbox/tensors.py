"""Tensors as bytes, in the format of safetensors (https://github.com/huggingface/safetensors#format).

The format is a length, a header of JSON and the numbers. This module writes and reads it, because the safetensors
library takes several times as long for small tensors.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import torch

from grader.sandbox.bounds import (
    MAX_DIMENSIONS,
    MAX_HEADER_BYTES,
    ProtocolError,
    check_rows,
    read_json,
    write_json,
)

LENGTH = struct.Struct("<Q")
# The dtypes of tensors that can be sent, by their names in safetensors, and those that only numpy arrays may have.
TENSOR_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
ARRAY_DTYPES = {"U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64}
DTYPE_BY_NAME = TENSOR_DTYPES | ARRAY_DTYPES
NAMES = {dtype: name for name, dtype in DTYPE_BY_NAME.items()}


def pack(tensors: list[torch.Tensor]) -> bytes:
    """Return contiguous tensors in the format of safetensors, named by number."""
    header: dict[str, Any] = {}
    parts = []
    end = 0
    for number, tensor in enumerate(tensors):
        data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
        begin, end = end, end + len(data)
        header[str(number)] = {
            "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end],
        }  # fmt: skip
        parts.append(data)
    text = write_json(header).encode()
    text += b" " * (-len(text) % LENGTH.size)  # aligns the numbers
    return b"".join([LENGTH.pack(len(text)), text, *parts])


def unpack(blob: bytes) -> list[torch.Tensor]:
    """Return the tensors that `pack` wrote.

    Raises:
        ProtocolError: They are not numbered, are malformed, or do not fill the bytes exactly.
        TooLarge: A tensor has too many rows without bytes.
    """
    try:
        [length] = LENGTH.unpack_from(blob)
        if not 0 < length <= min(len(blob) - LENGTH.size, MAX_HEADER_BYTES):
            raise ProtocolError("tensors with a header that does not fit")
        data = memoryview(blob)[LENGTH.size + length :]
        header = read_json(blob[LENGTH.size : LENGTH.size + length])
        header.pop("__metadata__", None)
        tensors = []
        last = 0
        for number in range(len(header)):
            tensor, last = _tensor(header[str(number)], data, last)
            tensors.append(tensor)
    # torch raises RuntimeError if no tensor can have such a shape.
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, struct.error) as error:
        raise ProtocolError("tensors with a damaged header") from error
    if last != len(data):
        raise ProtocolError("tensors that do not fill their message")
    return tensors


def _tensor(entry: dict[str, Any], data: memoryview, last: int) -> tuple[torch.Tensor, int]:
    """Return the tensor of a header entry whose data begins at `last`, and where the data ends."""
    shape, dtype = entry["shape"], DTYPE_BY_NAME[entry["dtype"]]
    if len(shape) > MAX_DIMENSIONS or not all(type(n) is int and 0 <= n <= 2**40 for n in shape):
        raise ProtocolError("a tensor with an impossible shape")
    check_rows(shape)
    begin, end = entry["data_offsets"]
    if begin != last or math.prod(shape) * dtype.itemsize != end - begin or end > len(data):
        raise ProtocolError("a tensor whose shape does not fit its data")
    if begin == end:  # torch.frombuffer refuses zero bytes
        return torch.empty(shape, dtype=dtype), end
    # A copy, because torch shares the memory of the buffer.
    return torch.frombuffer(bytearray(data[begin:end]), dtype=dtype).reshape(shape), end
