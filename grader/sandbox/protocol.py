"""What crosses the socket: frames of JSON and safetensors, never pickle.

A frame is two 4-byte lengths (big-endian), that much JSON, then that much safetensors. Both sides use the
same few functions; the trusted side checks every claimed size, shape and dtype before it allocates.

The format of safetensors is written and read right here (https://github.com/huggingface/safetensors#format): a length,
a header of JSON and the numbers, which its own library is several times as slow at where tensors are small.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import torch

HEADER = struct.Struct(">II")
# The bounds of a reply. Honest ones stay below a tenth of each (docs/attacks.md has the figures).
MAX_JSON_BYTES = 4 * 2**20
MAX_VALUES = 10_000
MAX_TENSORS = 1000
MAX_TENSOR_BYTES = 64 * 2**20
MAX_EMPTY_ROWS = 10_000
# Of the tensors of requests that go together.
MAX_REQUEST_BYTES = 256 * 2**20
# And of whatever is sent.
MAX_HEADER_BYTES = 2**20
MAX_DIMENSIONS = 16
MAX_NESTING = 20

TENSOR_HEADER = struct.Struct("<Q")
# The dtypes that may cross, by safetensors' names, and those names by the dtypes; and torch's own names.
SAFETENSORS_DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
DTYPES = {dtype: name for name, dtype in SAFETENSORS_DTYPES.items()}
DTYPE_BY_NAME = {str(dtype).removeprefix("torch."): dtype for dtype in DTYPES}


class WireError(Exception):
    """A value that cannot cross, or bytes that are not what they claim to be."""


class TooLarge(WireError):
    """A value beyond one of the bounds above, which the text names."""


class Handle:
    """A reference to an object that stays on the student's side."""

    def __init__(self, number: int, kinds: tuple[str, ...] = ()) -> None:
        self.number = number
        self.kinds = kinds


class _Tensors(list[torch.Tensor]):
    """Tensors to send, which may not take more than so many bytes together."""

    def __init__(self, bytes_left: int) -> None:
        super().__init__()
        self.bytes_left = bytes_left

    def append(self, tensor: torch.Tensor) -> None:
        self.bytes_left -= tensor.nbytes
        if self.bytes_left < 0:
            raise TooLarge("tensors that are too large together")
        super().append(tensor)


class Requests:
    """Requests that go together, with all their tensors. They may hold what a student's process has sent."""

    def __init__(self) -> None:
        self.encoded: list[Any] = []
        self.tensors: list[torch.Tensor] = _Tensors(MAX_REQUEST_BYTES)

    def add(self, operation: str, **details: Any) -> None:
        self.encoded.append(encode({"operation": operation, **details}, self.tensors))


def encode(value: Any, tensors: list[torch.Tensor], hold: Callable[[Any], Handle] | None = None) -> Any:
    """`value` as JSON. Tensors are appended to `tensors`; what cannot cross is given to `hold` for a handle."""
    return _encode(value, tensors, hold, 0)


def _encode(value: Any, tensors: list[torch.Tensor], hold: Callable[[Any], Handle] | None, depth: int) -> Any:
    if depth > MAX_NESTING:
        raise WireError(f"a value nested deeper than {MAX_NESTING} levels")
    kind = type(value)
    if kind is str or kind is bool or value is None:  # most are, so they come first
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        number = int.__int__(value)
        if abs(number) >= 2**63:
            raise WireError("an int of more than 64 bits")
        return number
    if isinstance(value, float):
        real = float.__float__(value)
        return real if math.isfinite(real) else {"float": repr(real)}
    if isinstance(value, torch.Tensor):
        return _encode_tensor(value, tensors)
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, Handle):
        return {"handle": value.number, "kinds": list(value.kinds)}
    if isinstance(value, (list, tuple)):
        # The base type's own iterator: a subclass's may lie.
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        name = "list" if isinstance(value, list) else "tuple"
        return {name: [_encode(item, tensors, hold, depth + 1) for item in items]}
    if isinstance(value, dict):
        pairs = list(dict.items(value))
        return {"dict": [[_encode(item, tensors, hold, depth + 1) for item in pair] for pair in pairs]}
    if type(value).__module__ == "numpy":
        return _encode_numpy(value, tensors)
    if hold is None:
        raise WireError(f"a {type(value).__name__}, which cannot be sent")
    return _encode(hold(value), tensors, hold, depth + 1)


def _encode_numpy(value: Any, tensors: list[torch.Tensor]) -> Any:
    import numpy

    return _encode_tensor(torch.from_numpy(numpy.array(value)), tensors)


def _encode_tensor(tensor: torch.Tensor, tensors: list[torch.Tensor]) -> Any:
    # A subclass may lie about itself through __torch_function__; only torch's own view of it crosses.
    with torch._C.DisableTorchFunctionSubclass():
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta or tensor.is_nested:
            raise WireError("a tensor that is sparse, quantised, nested or without data")
        if tensor.dtype not in DTYPES:
            raise WireError(f"a tensor of dtype {tensor.dtype}")
        if tensor.dim() > MAX_DIMENSIONS:
            raise WireError(f"a tensor of {tensor.dim()} dimensions")
        if tensor.numel() * tensor.element_size() > MAX_TENSOR_BYTES:
            raise TooLarge(f"a tensor of more than {MAX_TENSOR_BYTES // 2**20} MB")
        _check_rows(tensor.shape)
        tensor = tensor.detach()
        reference: dict[str, Any] = {"tensor": len(tensors)}
        # A transposed or otherwise permuted view arrives as one: the memory layout is part of the question.
        if not tensor.is_contiguous():
            order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
            if tensor.permute(order).is_contiguous():
                tensor = tensor.permute(order)
                reference["permute"] = [order.index(dim) for dim in range(len(order))]
        # resolve_* materialise lazy conjugates and negatives; clone gives plain memory of its own.
        plain = tensor.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        tensors.append(plain.as_subclass(torch.Tensor))
    return reference


def decode(value: Any, tensors: list[torch.Tensor], held: Callable[[Handle], Any] = lambda handle: handle) -> Any:
    """Decode what `encode` made JSON of; a handle becomes whatever `held` gives for it.

    Raises:
        WireError: It is malformed.
    """
    return _Decoder(tensors, held).decode(value, 0)


def decode_reply(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Decode the value of a reply; handles stay what they are.

    Raises:
        TooLarge: It names tensors more often than a reply may.
        WireError: It is malformed.
    """
    return _Decoder(tensors, lambda handle: handle, MAX_TENSORS).decode(value, 0)


class _Decoder:
    def __init__(self, tensors: list[torch.Tensor], held: Callable[[Handle], Any], most: int | None = None) -> None:
        self.tensors = tensors
        self.held = held
        self.most = most
        self.references = 0

    def decode(self, value: Any, depth: int) -> Any:
        if depth > MAX_NESTING + 2:
            raise WireError("a value nested too deeply")
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise WireError("a bare JSON list")
            return value
        match value:
            case {"tuple": list(items)}:
                return tuple(self.decode(item, depth + 1) for item in items)
            case {"dict": list(pairs)}:
                return self.decode_dict(pairs, depth)
            case {"tensor": int(number), **rest} if 0 <= number < len(self.tensors):
                return self.tensor(self.tensors[number], rest.get("permute"))
            case {"list": list(items)}:
                return [self.decode(item, depth + 1) for item in items]
            case {"float": ("nan" | "inf" | "-inf") as text}:
                return float(text)
            case {"dtype": str(name)} if name in DTYPE_BY_NAME:
                return DTYPE_BY_NAME[name]
            case {"handle": int(number), "kinds": list(kinds)}:
                return self.held(Handle(number, tuple(str(kind)[:200] for kind in kinds[:20])))
        raise WireError("a value of no known kind")

    def tensor(self, tensor: torch.Tensor, order: Any) -> torch.Tensor:
        self.references += 1
        if self.most is not None and self.references > self.most:
            raise TooLarge(f"more than {self.most:,} tensors")
        if order is None:
            return tensor
        if not isinstance(order, list) or sorted(map(repr, order)) != sorted(map(repr, range(tensor.dim()))):
            raise WireError("a permutation that is none")
        return tensor.permute(order)

    def decode_dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        decoded = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise WireError("a damaged dict")
            key = pair[0]
            if type(key) is not str:
                key = self.decode(key, depth + 1)
                if not isinstance(key, str | int | float | bool | None):
                    raise WireError("a dict whose key is neither text nor a number")
            decoded[key] = self.decode(pair[1], depth + 1)
        return decoded


def pack(message: dict[str, Any], tensors: list[torch.Tensor]) -> bytes:
    """Pack a message and its tensors into one frame. Raises WireError where a frame cannot hold them."""
    text = TO_JSON(message).encode()
    blob = _pack_tensors(tensors) if tensors else b""
    return HEADER.pack(len(text), len(blob)) + text + blob


def pack_reply(message: dict[str, Any], tensors: list[torch.Tensor]) -> bytes:
    """Pack a reply. Raises TooLarge where the other side would refuse it."""
    if len(tensors) > MAX_TENSORS:
        raise TooLarge(f"more than {MAX_TENSORS:,} tensors")
    frame = pack(message, tensors)
    text, blob = halves(frame)
    check_sizes(len(text), len(blob))
    _check_values(text)
    return frame


def halves(frame: bytes) -> tuple[bytes, bytes]:
    """Split a frame into its JSON and its tensors."""
    middle = HEADER.size + HEADER.unpack_from(frame)[0]
    return frame[HEADER.size : middle], frame[middle:]


def _pack_tensors(tensors: list[torch.Tensor]) -> bytes:
    """Contiguous tensors, numbered, as safetensors."""
    header: dict[str, Any] = {}
    parts = []
    end = 0
    for number, tensor in enumerate(tensors):
        data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
        begin, end = end, end + len(data)
        header[str(number)] = {
            "dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end],
        }  # fmt: skip
        parts.append(data)
    text = TO_JSON(header).encode()
    text += b" " * (-len(text) % TENSOR_HEADER.size)  # so that the numbers begin where processors like them to
    return b"".join([TENSOR_HEADER.pack(len(text)), text, *parts])


def check_sizes(json_bytes: int, tensor_bytes: int) -> None:
    """Check what a reply's header claims, before anything is read or allocated for it. Raises TooLarge."""
    if json_bytes > MAX_JSON_BYTES:
        raise TooLarge(f"a message of more than {MAX_JSON_BYTES // 2**20} MB")
    # The header of safetensors comes on top of the data.
    if tensor_bytes > MAX_TENSOR_BYTES + MAX_HEADER_BYTES:
        raise TooLarge(f"tensors of more than {MAX_TENSOR_BYTES // 2**20} MB")


def _check_values(text: bytes) -> None:
    """Count the values of a JSON text, at most, before it is parsed. Raises TooLarge."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_VALUES:
        raise TooLarge(f"more than {MAX_VALUES:,} values")


def _check_rows(shape: Sequence[int]) -> None:
    """Bound a tensor that has rows but no bytes, for whatever walks over its rows. Raises TooLarge."""
    if 0 in shape and math.prod(max(size, 1) for size in shape) > MAX_EMPTY_ROWS:
        raise TooLarge(f"a tensor of more than {MAX_EMPTY_ROWS:,} empty rows")


def unpack_reply(text: bytes, blob: bytes) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """Unpack a reply whose sizes were checked. Raises TooLarge, and WireError on anything malformed."""
    _check_values(text)
    message, tensors = unpack(text, blob)
    if len(tensors) > MAX_TENSORS:
        raise TooLarge(f"more than {MAX_TENSORS:,} tensors")
    return message, tensors


def unpack(text: bytes, blob: bytes) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """The message and tensors of a frame's two parts. Raises WireError on anything malformed."""
    try:
        message = _parse(text)
    except (ValueError, RecursionError) as error:
        raise WireError("a message that is not JSON") from error
    if not isinstance(message, dict):
        raise WireError("a message that is not a JSON object")
    return message, _unpack_tensors(blob) if blob else []


def _parse(text: bytes) -> Any:
    """JSON as `pack` writes it: no NaN, and no int beyond 64 bits. Raises ValueError or RecursionError."""
    return (FROM_JSON if LONG_NUMBER.search(text) else FROM_SIMPLE_JSON)(text.decode())


def _parse_int(digits: str) -> int:
    if len(digits) > 20 or abs(number := int(digits)) >= 2**63:
        raise ValueError("an int of more than 64 bits")
    return number


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


TO_JSON = json.JSONEncoder(allow_nan=False).encode
FROM_JSON = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant).decode
# To have every number looked at takes long, and only long ones need it.
FROM_SIMPLE_JSON = json.JSONDecoder(parse_constant=_refuse_constant).decode
LONG_NUMBER = re.compile(rb"[0-9]{19}")


def _unpack_tensors(blob: bytes) -> list[torch.Tensor]:
    """The tensors that `_pack_tensors` made bytes of; WireError unless they are numbered, plain and fit exactly."""
    try:
        [length] = TENSOR_HEADER.unpack_from(blob)
        if not 0 < length <= min(len(blob) - TENSOR_HEADER.size, MAX_HEADER_BYTES):
            raise WireError("tensors with a header that does not fit")
        data = memoryview(blob)[TENSOR_HEADER.size + length :]
        header = _parse(blob[TENSOR_HEADER.size : TENSOR_HEADER.size + length])
        header.pop("__metadata__", None)
        tensors = []
        last = 0
        for number in range(len(header)):
            entry = header[str(number)]
            shape, dtype = entry["shape"], SAFETENSORS_DTYPES[entry["dtype"]]
            if len(shape) > MAX_DIMENSIONS or not all(type(n) is int and 0 <= n <= 2**40 for n in shape):
                raise WireError("a tensor with an impossible shape")
            _check_rows(shape)
            begin, end = entry["data_offsets"]
            if begin != last or math.prod(shape) * dtype.itemsize != end - begin or end > len(data):
                raise WireError("a tensor whose shape does not fit its data")
            tensors.append(_tensor(data[begin:end], dtype, shape))
            last = end
    # A RuntimeError is torch's, where no tensor can have such a shape.
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, struct.error) as error:
        raise WireError("tensors with a damaged header") from error
    if last != len(data):
        raise WireError("tensors that do not fill their message")
    return tensors


def _tensor(data: memoryview, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
    # A copy, for others may not write to what torch reads, and torch reads nothing of no bytes.
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


def cotangent(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """The weights with which both sides sum an output before taking gradients: cosines, none alike."""
    count = math.prod(shape)
    return torch.cos(torch.arange(count, dtype=torch.float64) + 1).to(dtype).reshape(shape)
