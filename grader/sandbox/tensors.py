"""Tensors as bytes, in the format of safetensors (https://github.com/huggingface/safetensors#format).

That is a length, a header of JSON and the numbers. It is written and read here because its own library takes several
times as long where tensors are small.
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
# The dtypes of tensors that can be sent, by safetensors' names; and those of numpy arrays alone.
TENSOR_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
ARRAY_DTYPES = {"U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64}
DTYPE_BY_NAME = TENSOR_DTYPES | ARRAY_DTYPES
NAMES = {dtype: name for name, dtype in DTYPE_BY_NAME.items()}


def pack(tensors: list[torch.Tensor]) -> bytes:
    """Return contiguous tensors, numbered, as safetensors."""
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
    text += b" " * (-len(text) % LENGTH.size)  # so that the numbers begin where processors like them to
    return b"".join([LENGTH.pack(len(text)), text, *parts])


def unpack(blob: bytes) -> list[torch.Tensor]:
    """Return the tensors that `pack` made bytes of.

    Raises:
        ProtocolError: They are not numbered and plain, or do not fill the bytes exactly.
        TooLarge: One has too many rows without bytes.
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
    # A RuntimeError is torch's, where no tensor can have such a shape.
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, struct.error) as error:
        raise ProtocolError("tensors with a damaged header") from error
    if last != len(data):
        raise ProtocolError("tensors that do not fill their message")
    return tensors


def _tensor(entry: dict[str, Any], data: memoryview, last: int) -> tuple[torch.Tensor, int]:
    """The tensor of an entry of the header, whose data begins at `last`, and where it ends."""
    shape, dtype = entry["shape"], DTYPE_BY_NAME[entry["dtype"]]
    if len(shape) > MAX_DIMENSIONS or not all(type(n) is int and 0 <= n <= 2**40 for n in shape):
        raise ProtocolError("a tensor with an impossible shape")
    check_rows(shape)
    begin, end = entry["data_offsets"]
    if begin != last or math.prod(shape) * dtype.itemsize != end - begin or end > len(data):
        raise ProtocolError("a tensor whose shape does not fit its data")
    if begin == end:  # torch reads nothing of no bytes
        return torch.empty(shape, dtype=dtype), end
    # A copy, for others may not write to what torch reads.
    return torch.frombuffer(bytearray(data[begin:end]), dtype=dtype).reshape(shape), end
