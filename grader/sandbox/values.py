"""Python values as plain JSON, with the bytes of tensors and arrays apart, in one buffer.

Strings, ints, finite floats, bools and None stay as they are. Any other value is a list that begins with its kind, such
as ["tuple", 1, 2] or ["tensor", "float32", [2, 3]]. Such a tensor takes the next 24 bytes of the buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from grader.sandbox import protocol
from grader.sandbox.protocol import ProtocolError, TooLarge


def _dtypes(*names: str) -> dict[str, torch.dtype]:
    return {name: getattr(torch, name) for name in names}


# The dtypes of tensors that can be sent, and those of arrays.
TENSORS = _dtypes("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
ARRAYS = {name: dtype for name, dtype in TENSORS.items() if name != "bfloat16"} | _dtypes("uint16", "uint32", "uint64")
DTYPE_NAMES = {dtype: name for name, dtype in (TENSORS | ARRAYS).items()}
NUMPY_DTYPES = [torch.empty(0, dtype=dtype).numpy().dtype for dtype in ARRAYS.values()]


def write_tensor(tensor: torch.Tensor, data: bytearray) -> list[Any]:
    """Append the bytes of a tensor to `data`. Return its dtype, its shape and, for a permuted view, the order.

    Args:
        tensor: A dense tensor of one of these dtypes and of any shape, without gradients.
        data: The bytes of all tensors of a message.
    """
    order: list[Any] = []
    # A permuted view, such as a transpose, keeps its memory layout: answers must handle it.
    if not tensor.is_contiguous():
        dims = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
        if tensor.permute(dims).is_contiguous():
            tensor = tensor.permute(dims)
            order.append([dims.index(dim) for dim in range(len(dims))])
    described = [DTYPE_NAMES[tensor.dtype], list(tensor.shape), *order]
    if tensor.dtype == torch.bfloat16:  # which numpy lacks
        tensor = tensor.view(torch.int16)
    # Row by row, whatever the layout. numpy refuses a view that only claims to be negated.
    data += tensor.resolve_neg().numpy().tobytes()
    return described


PLAIN = (str, int, float, type(None))
HASHABLE = {"tuple", "frozenset", "bytes", "float", "scalar"}


@dataclass(eq=False)
class Handle:
    """A reference to an object that stays in the student process, with the names of its types."""

    number: int
    kinds: tuple[str, ...] = ()


class Encoder:
    """Turns values into plain JSON, and collects the bytes of their tensors in `data`, in the order of the values.

    `count` says how many values there were, with those inside others.
    """

    def __init__(
        self,
        hold: Callable[[Any], Handle] | None = None,
        most_bytes: float = protocol.MAX_TENSOR_BYTES,
        most_tensors: float = protocol.MAX_TENSORS,
    ) -> None:
        """Prepare for the values of one message.

        Args:
            hold: Returns a handle for a value that cannot be sent. Without it, such a value is refused.
            most_bytes: The bytes that its tensors may have together.
            most_tensors: How many tensors, arrays and bytes it may have.
        """
        self.data = bytearray()
        self.count = 0
        self._hold = hold
        self._most_bytes = most_bytes
        self._most_tensors = most_tensors
        self._tensors = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return `value` as plain JSON. Raises ProtocolError if it cannot be sent; the text says what it is."""
        self.count += 1
        if depth > protocol.MAX_NESTING:
            raise ProtocolError(f"a value nested deeper than {protocol.MAX_NESTING} levels")
        kind = type(value)
        if kind is str or kind is bool or value is None:  # the most frequent kinds first
            return value
        base = kind if kind in WRITERS else next((base for base in BASES if isinstance(value, base)), None)
        if base is not None:
            return WRITERS[base](self, value, depth, base)
        if self._hold is None:
            raise ProtocolError(f"a {kind.__name__}, which cannot be sent")
        return self._write_handle(self._hold(value))

    # A subclass may lie about itself, so each of these uses the base type's own methods.

    def _write_str(self, value: str, *_: Any) -> str:
        return str.__str__(value)

    def _write_int(self, value: int, *_: Any) -> int:
        number = int.__int__(value)
        if abs(number) >= 2**63:
            raise ProtocolError("an int of more than 64 bits")
        return number

    def _write_float(self, value: float, *_: Any) -> Any:
        real = float.__float__(value)
        return real if math.isfinite(real) else ["float", repr(real)]

    def _write_items(self, value: Any, depth: int, base: Any) -> Any:
        return [base.__name__, *[self.encode(item, depth + 1) for item in base.__iter__(value)]]

    def _write_keys(self, value: Any, depth: int, base: Any) -> Any:
        return [base.__name__, *[self._key(item, depth) for item in base.__iter__(value)]]

    def _write_dict(self, value: Any, depth: int, _: type) -> Any:
        encoded: list[Any] = ["dict"]
        for key, item in list(dict.items(value)):
            encoded += self._key(key, depth), self.encode(item, depth + 1)
        return encoded

    def _key(self, key: Any, depth: int) -> Any:
        encoded = self.encode(key, depth + 1)
        if type(encoded) is list and encoded[0] not in HASHABLE:
            raise ProtocolError("a dict or set in which a key is neither text, a number nor a tuple")
        return encoded

    def _write_bytes(self, value: Any, *_: Any) -> Any:
        self._reserve(torch.Size([len(plain := bytearray(value))]), 1)
        self.data += plain
        return ["bytes", len(plain)]

    def _write_dtype(self, value: torch.dtype, *_: Any) -> Any:
        return ["dtype", str(value).removeprefix("torch.")]

    def _write_handle(self, value: Handle, *_: Any) -> Any:
        return ["handle", value.number, *value.kinds]

    def _write_array(self, value: Any, *_: Any) -> Any:
        if value.dtype not in NUMPY_DTYPES:
            raise ProtocolError(f"an array of dtype {value.dtype}")
        self._reserve(torch.Size(value.shape), value.itemsize)
        kind = "array" if isinstance(value, numpy.ndarray) else "scalar"
        return [kind, *write_tensor(torch.from_numpy(numpy.array(value)), self.data)]

    def _write_tensor(self, value: torch.Tensor, *_: Any) -> Any:
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            return self._write_plain_tensor(value)
        # A subclass may also lie through __torch_function__, so only torch's own view of it is sent.
        with torch._C.DisableTorchFunctionSubclass():
            return self._write_plain_tensor(value)

    def _write_plain_tensor(self, value: torch.Tensor) -> Any:
        if value.layout != torch.strided or value.is_quantized or value.is_meta or value.is_nested:
            raise ProtocolError("a tensor that is sparse, quantised, nested or without data")
        if DTYPE_NAMES.get(value.dtype) not in TENSORS:
            raise ProtocolError(f"a tensor of dtype {value.dtype}")
        self._reserve(value.shape, value.element_size())
        return ["tensor", *write_tensor(value.detach(), self.data)]

    def _reserve(self, shape: torch.Size, item_bytes: int) -> None:
        """Check the size of one more tensor. Raises ProtocolError."""
        if len(shape) > protocol.MAX_DIMENSIONS:
            raise ProtocolError(f"a tensor of {len(shape)} dimensions")
        size = shape.numel() * item_bytes
        if size > protocol.MAX_TENSOR_BYTES:
            raise TooLarge(f"a tensor of more than {protocol.MAX_TENSOR_BYTES // 2**20} MB")
        protocol.check_rows(shape)
        if len(self.data) + size > self._most_bytes:
            raise TooLarge(f"tensors of more than {self._most_bytes // 2**20} MB")
        self._tensors += 1
        if self._tensors > self._most_tensors:
            raise TooLarge(f"more than {self._most_tensors:,} tensors")


# Subclasses are written like the first of these that they derive from.
BASES = (str, int, float, torch.Tensor, Handle, list, tuple, dict, set, frozenset, bytes)
WRITERS: dict[type, Callable[[Encoder, Any, int, type], Any]] = {
    str: Encoder._write_str, int: Encoder._write_int, float: Encoder._write_float, bytes: Encoder._write_bytes,
    list: Encoder._write_items, tuple: Encoder._write_items, set: Encoder._write_keys, frozenset: Encoder._write_keys,
    dict: Encoder._write_dict, torch.dtype: Encoder._write_dtype, Handle: Encoder._write_handle,
    torch.Tensor: Encoder._write_tensor, torch.nn.Parameter: Encoder._write_tensor, numpy.ndarray: Encoder._write_array,
    # Not float64, which is a subclass of float.
    **{dtype.type: Encoder._write_array for dtype in NUMPY_DTYPES if not issubclass(dtype.type, float)},
}  # fmt: skip


class Calls:
    """Calls of one request, and the bytes of all their tensors. They may contain values from a student process."""

    def __init__(self) -> None:
        self.encoded: list[protocol.Call] = []
        self._encoder = Encoder(most_bytes=protocol.MAX_REQUEST_BYTES, most_tensors=math.inf)
        self.data = self._encoder.data

    def add(self, operation: str, **details: Any) -> None:
        """Add a call of this operation with these arguments. Raises ProtocolError if one cannot be sent."""
        if len(self.encoded) == protocol.MAX_CALLS:
            raise TooLarge(f"more than {protocol.MAX_CALLS:,} calls")
        end = len(self.data)
        try:
            encoded = {name: self._encoder.encode(value) for name, value in details.items()}
        except ProtocolError:
            del self.data[end:]  # the other calls may still be sent
            raise
        self.encoded.append((operation, encoded))

    def request(self, number: int = 0, times: int = 1) -> protocol.Request:
        """Return the request of all these calls, the last one this many times."""
        return protocol.Request(number, self.encoded, times)


class Decoder:
    """Returns the values that an Encoder turned into plain JSON. They must come in the same order."""

    def __init__(
        self,
        data: bytes | bytearray,
        held: Callable[[Handle], Any] = lambda handle: handle,
        most_tensors: float = math.inf,
    ) -> None:
        """Take the encoder's `data`; what a handle becomes; and how many tensors, arrays and bytes there may be."""
        self.place = 0  # of the next tensor in the data
        self._data = memoryview(data)
        self._held = held
        self._most_tensors = most_tensors
        self._count = 0

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Return a value. Raises ProtocolError if it is malformed, or TooLarge if there are too many tensors."""
        if depth > protocol.MAX_NESTING + 2:
            raise ProtocolError("a value nested too deeply")
        kind = type(value)
        if kind in PLAIN or kind is bool:
            return value
        if kind is list and value and type(value[0]) is str and value[0] in READERS:
            return READERS[value[0]](self, value, depth + 1)
        raise ProtocolError("a value of an unknown kind")

    def end(self) -> None:
        """Expect that no data is left. Raises ProtocolError."""
        if self.place != len(self._data):
            raise ProtocolError("tensors that do not fill their message")

    def _read_list(self, value: list[Any], depth: int) -> Any:
        return [self.decode(item, depth) for item in value[1:]]

    def _read_tuple(self, value: list[Any], depth: int) -> Any:
        return tuple(self._read_list(value, depth))

    def _read_set(self, value: list[Any], depth: int) -> Any:
        return set(map(_key, self._read_list(value, depth)))

    def _read_frozenset(self, value: list[Any], depth: int) -> Any:
        return frozenset(map(_key, self._read_list(value, depth)))

    def _read_dict(self, value: list[Any], depth: int) -> Any:
        items = self._read_list(value, depth)
        if len(items) % 2:
            raise ProtocolError("a damaged dict")
        return dict(zip(map(_key, items[::2]), items[1::2], strict=True))

    def _read_float(self, value: list[Any], _: int) -> float:
        if value[1:] not in (["nan"], ["inf"], ["-inf"]):
            raise ProtocolError("a damaged number")
        return float(value[1])

    def _read_dtype(self, value: list[Any], _: int) -> torch.dtype:
        if len(value) != 2 or type(value[1]) is not str or value[1] not in TENSORS:
            raise ProtocolError("an unknown dtype")
        return TENSORS[value[1]]

    def _read_handle(self, value: list[Any], _: int) -> Any:
        number, *kinds = value[1:] or [None]
        are_names = len(kinds) <= protocol.MAX_KINDS and all(
            type(kind) is str and len(kind) <= protocol.MAX_NAME for kind in kinds
        )
        if type(number) is not int or not are_names:
            raise ProtocolError("a damaged handle")
        return self._held(Handle(number, tuple(kinds)))

    def _read_tensor(self, value: list[Any], _: int) -> torch.Tensor:
        return self._tensor(value, TENSORS)

    def _read_array(self, value: list[Any], _: int) -> Any:
        return self._tensor(value, ARRAYS).numpy()

    def _read_scalar(self, value: list[Any], _: int) -> Any:
        if value[2:] != [[]]:
            raise ProtocolError("a number with dimensions")
        return self._tensor(value, ARRAYS).numpy()[()]

    def _read_bytes(self, value: list[Any], _: int) -> bytes:
        if len(value) != 2:
            raise ProtocolError("damaged bytes")
        return bytes(self._take([value[1]], 1))

    def _tensor(self, value: list[Any], dtypes: dict[str, torch.dtype]) -> torch.Tensor:
        """Return the next tensor, which has one of these dtypes. See `write_tensor`."""
        name, shape, *order = value[1:] if len(value) > 2 else ("", None)
        if type(name) is not str or name not in dtypes or type(shape) is not list:
            raise ProtocolError("a tensor of an unexpected dtype or shape")
        # A copy, because torch shares the memory of the buffer. And torch.frombuffer refuses zero bytes.
        data = bytearray(self._take(shape, dtypes[name].itemsize))
        flat = torch.frombuffer(data, dtype=dtypes[name]) if data else torch.empty(0, dtype=dtypes[name])
        tensor = flat.reshape(shape)
        match order:
            case []:
                return tensor
            case [list(dims)] if sorted(map(repr, dims)) == sorted(map(repr, range(tensor.dim()))):
                return tensor.permute(dims)
        raise ProtocolError("an invalid permutation")

    def _take(self, shape: list[Any], item_bytes: int) -> memoryview:
        """Return the bytes of the next tensor, of this shape. Raises ProtocolError if there are fewer."""
        if len(shape) > protocol.MAX_DIMENSIONS or not all(
            type(size) is int and 0 <= size <= protocol.MAX_SIZE for size in shape
        ):
            raise ProtocolError("a tensor with an impossible shape")
        protocol.check_rows(shape)
        self._count += 1
        if self._count > self._most_tensors:
            raise TooLarge(f"more than {self._most_tensors:,} tensors")
        begin, self.place = self.place, self.place + math.prod(shape) * item_bytes
        if self.place > len(self._data):
            raise ProtocolError("a tensor whose shape does not fit its data")
        return self._data[begin : self.place]


def _key(value: Any) -> Any:
    """Return a key of a dict or set: a string, a number, bytes, None, or a tuple or frozenset of these."""
    if not isinstance(value, (*PLAIN, bytes, numpy.generic)):
        if not isinstance(value, tuple | frozenset):
            raise ProtocolError("a dict or set in which a key is neither text, a number nor a tuple")
        for item in value:
            _key(item)
    return value


READERS: dict[str, Callable[[Decoder, list[Any], int], Any]] = {
    name.removeprefix("_read_"): method for name, method in vars(Decoder).items() if name.startswith("_read_")
}


def cotangent(shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
    """Return the weights by which both sides multiply an output before they sum it and take gradients."""
    count = math.prod(shape)
    return torch.cos(torch.arange(count, dtype=torch.float64) + 1).to(dtype).reshape(shape)
