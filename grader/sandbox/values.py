"""Python values as plain JSON, with tensors and arrays kept apart.

Strings, ints, finite floats, bools and None stay as they are. Any other value is a list that begins with its kind, such
as ["tuple", 1, 2] or ["tensor", 0], where 0 is the index of the tensor among those of the message.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy
import torch

from grader.sandbox.bounds import (
    MAX_DIMENSIONS,
    MAX_NESTING,
    MAX_TENSOR_BYTES,
    ProtocolError,
    TooLarge,
    check_rows,
    check_tensors,
)  # fmt: skip
from grader.sandbox.messages import MAX_KINDS, MAX_NAME
from grader.sandbox.tensors import ARRAY_DTYPES, TENSOR_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TENSORS = frozenset(TENSOR_DTYPES.values())
ARRAYS = [dtype for dtype in (*TENSOR_DTYPES.values(), *ARRAY_DTYPES.values()) if dtype != torch.bfloat16]
NUMPY_DTYPES = [torch.empty(0, dtype=dtype).numpy().dtype for dtype in ARRAYS]
DTYPE_BY_NAME = {str(dtype).removeprefix("torch."): dtype for dtype in TENSORS}
PLAIN = (str, int, float, type(None))
HASHABLE = {"tuple", "frozenset", "bytes", "float", "scalar"}


@dataclass(eq=False)
class Handle:
    """A reference to an object that stays in the student process, with the names of its types."""

    number: int
    kinds: tuple[str, ...] = ()


def encode(value: Any, tensors: list[torch.Tensor], hold: Callable[[Any], Handle] | None = None) -> Any:
    """Return `value` as plain JSON.

    Args:
        value: What to send.
        tensors: The list to which its tensors are appended.
        hold: Returns a handle for a value that cannot be sent. Without it, such a value is refused.

    Raises:
        ProtocolError: The value cannot be sent; the text says what it is.
    """
    return _Encoder(tensors, hold).encode(value, 0)


@dataclass
class _Encoder:
    tensors: list[torch.Tensor]
    hold: Callable[[Any], Handle] | None

    def encode(self, value: Any, depth: int) -> Any:
        if depth > MAX_NESTING:
            raise ProtocolError(f"a value nested deeper than {MAX_NESTING} levels")
        kind = type(value)
        if kind is str or kind is bool or value is None:  # the most frequent kinds first
            return value
        write = WRITERS.get(kind) or next((WRITERS[base] for base in BASES if isinstance(value, base)), None)
        if write is not None:
            return write(self, value, depth)
        if self.hold is None:
            raise ProtocolError(f"a {kind.__name__}, which cannot be sent")
        return self.write_handle(self.hold(value), depth)

    # A subclass may lie about itself, so each of these uses the base type's own methods.

    def write_str(self, value: str, _: int) -> str:
        return str.__str__(value)

    def write_int(self, value: int, _: int) -> int:
        number = int.__int__(value)
        if abs(number) >= 2**63:
            raise ProtocolError("an int of more than 64 bits")
        return number

    def write_float(self, value: float, _: int) -> Any:
        real = float.__float__(value)
        return real if math.isfinite(real) else ["float", repr(real)]

    def write_list(self, value: Any, depth: int) -> Any:
        return ["list", *[self.encode(item, depth + 1) for item in list.__iter__(value)]]

    def write_tuple(self, value: Any, depth: int) -> Any:
        return ["tuple", *[self.encode(item, depth + 1) for item in tuple.__iter__(value)]]

    def write_set(self, value: Any, depth: int) -> Any:
        return ["set", *self.keys(set.__iter__(value), depth)]

    def write_frozenset(self, value: Any, depth: int) -> Any:
        return ["frozenset", *self.keys(frozenset.__iter__(value), depth)]

    def write_dict(self, value: Any, depth: int) -> Any:
        pairs = list(dict.items(value))
        keys = self.keys((key for key, _ in pairs), depth)
        values = [self.encode(item, depth + 1) for _, item in pairs]
        return ["dict", *[part for pair in zip(keys, values, strict=True) for part in pair]]

    def keys(self, keys: Iterable[Any], depth: int) -> list[Any]:
        encoded = [self.encode(key, depth + 1) for key in keys]
        if any(type(key) is list and key[0] not in HASHABLE for key in encoded):
            raise ProtocolError("a dict or set in which a key is neither text, a number nor a tuple")
        return encoded

    def write_bytes(self, value: Any, depth: int) -> Any:
        return ["bytes", *self.write_tensor(torch.tensor(bytearray(value), dtype=torch.uint8), depth)[1:]]

    def write_dtype(self, value: torch.dtype, _: int) -> Any:
        return ["dtype", str(value).removeprefix("torch.")]

    def write_handle(self, value: Handle, _: int) -> Any:
        return ["handle", value.number, *value.kinds]

    def write_ndarray(self, value: Any, _: int) -> Any:
        if value.dtype not in NUMPY_DTYPES:
            raise ProtocolError(f"an array of dtype {value.dtype}")
        _check_size(torch.Size(value.shape), value.itemsize)
        kind = "array" if isinstance(value, numpy.ndarray) else "scalar"
        return [kind, *self.reference(torch.from_numpy(numpy.array(value)))]

    def write_tensor(self, value: torch.Tensor, _: int) -> Any:
        # A subclass may also lie through __torch_function__, so only torch's own view of it is sent.
        with torch._C.DisableTorchFunctionSubclass():
            if value.layout != torch.strided or value.is_quantized or value.is_meta or value.is_nested:
                raise ProtocolError("a tensor that is sparse, quantised, nested or without data")
            if value.dtype not in TENSORS:
                raise ProtocolError(f"a tensor of dtype {value.dtype}")
            _check_size(value.shape, value.element_size())
            return ["tensor", *self.reference(value.detach())]

    def reference(self, tensor: torch.Tensor) -> list[Any]:
        """Return the index of the tensor and, for a permuted view, the order of its dimensions."""
        reference: list[Any] = [len(self.tensors)]
        # A permuted view, such as a transpose, keeps its memory layout: answers must handle it.
        if not tensor.is_contiguous():
            order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
            if tensor.permute(order).is_contiguous():
                tensor = tensor.permute(order)
                reference.append([order.index(dim) for dim in range(len(order))])
        # resolve_* materialise lazy conjugates and negatives; clone gives plain memory of its own.
        plain = tensor.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        self.tensors.append(plain.as_subclass(torch.Tensor))
        return reference


def _check_size(shape: torch.Size, item_bytes: int) -> None:
    if len(shape) > MAX_DIMENSIONS:
        raise ProtocolError(f"a tensor of {len(shape)} dimensions")
    if shape.numel() * item_bytes > MAX_TENSOR_BYTES:
        raise TooLarge(f"a tensor of more than {MAX_TENSOR_BYTES // 2**20} MB")
    check_rows(shape)


# Subclasses are written like the first of these that they derive from.
BASES = (str, int, float, torch.Tensor, Handle, list, tuple, dict, set, frozenset, bytes)
WRITERS: dict[type, Callable[[_Encoder, Any, int], Any]] = {
    **{kind: getattr(_Encoder, f"write_{kind.__name__.lower()}") for kind in (*BASES, torch.dtype, numpy.ndarray)},
    # Not float64, which is a subclass of float.
    **{dtype.type: _Encoder.write_ndarray for dtype in NUMPY_DTYPES if not issubclass(dtype.type, float)},
}


def decode(value: Any, tensors: list[torch.Tensor], held: Callable[[Handle], Any] = lambda handle: handle) -> Any:
    """Return the value that `encode` turned into plain JSON; a handle becomes what `held` returns for it.

    Raises:
        ProtocolError: The JSON is malformed.
    """
    return _Decoder(tensors, held, is_reply=False).decode(value, 0)


def decode_reply(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return the value of a reply; handles stay handles.

    Raises:
        TooLarge: The reply refers to tensors more often than it may.
        ProtocolError: The JSON is malformed.
    """
    return _Decoder(tensors, lambda handle: handle, is_reply=True).decode(value, 0)


@dataclass
class _Decoder:
    tensors: list[torch.Tensor]
    held: Callable[[Handle], Any]
    is_reply: bool
    references: int = 0
    known_bytes: dict[int, bytes] = field(default_factory=dict)

    def decode(self, value: Any, depth: int) -> Any:
        if depth > MAX_NESTING + 2:
            raise ProtocolError("a value nested too deeply")
        kind = type(value)
        if kind in PLAIN or kind is bool:
            return value
        if kind is list and value and type(value[0]) is str and value[0] in READERS:
            return READERS[value[0]](self, value, depth + 1)
        raise ProtocolError("a value of an unknown kind")

    def read_list(self, value: list[Any], depth: int) -> Any:
        return [self.decode(item, depth) for item in value[1:]]

    def read_tuple(self, value: list[Any], depth: int) -> Any:
        return tuple(self.read_list(value, depth))

    def read_set(self, value: list[Any], depth: int) -> Any:
        return set(map(_key, self.read_list(value, depth)))

    def read_frozenset(self, value: list[Any], depth: int) -> Any:
        return frozenset(map(_key, self.read_list(value, depth)))

    def read_dict(self, value: list[Any], depth: int) -> Any:
        items = self.read_list(value, depth)
        if len(items) % 2:
            raise ProtocolError("a damaged dict")
        return dict(zip(map(_key, items[::2]), items[1::2], strict=True))

    def read_float(self, value: list[Any], _: int) -> float:
        if value[1:] not in (["nan"], ["inf"], ["-inf"]):
            raise ProtocolError("a damaged number")
        return float(value[1])

    def read_dtype(self, value: list[Any], _: int) -> torch.dtype:
        if len(value) != 2 or type(value[1]) is not str or value[1] not in DTYPE_BY_NAME:
            raise ProtocolError("an unknown dtype")
        return DTYPE_BY_NAME[value[1]]

    def read_handle(self, value: list[Any], _: int) -> Any:
        number, *kinds = value[1:] or [None]
        are_names = len(kinds) <= MAX_KINDS and all(type(kind) is str and len(kind) <= MAX_NAME for kind in kinds)
        if type(number) is not int or not are_names:
            raise ProtocolError("a damaged handle")
        return self.held(Handle(number, tuple(kinds)))

    def read_tensor(self, value: list[Any], _: int) -> torch.Tensor:
        return self.reference(value, TENSORS)

    def read_array(self, value: list[Any], _: int) -> Any:
        return self.reference(value, ARRAYS).numpy()

    def read_scalar(self, value: list[Any], _: int) -> Any:
        return self.reference(value, ARRAYS, 0).numpy()[()]

    def read_bytes(self, value: list[Any], _: int) -> Any:
        # Once for each tensor: a reply may refer to a large one many times.
        tensor = self.reference(value, {torch.uint8}, 1)
        if value[1] not in self.known_bytes:
            self.known_bytes[value[1]] = tensor.numpy().tobytes()
        return self.known_bytes[value[1]]

    def reference(self, value: list[Any], dtypes: Any, dimensions: int | None = None) -> torch.Tensor:
        """Return the tensor that a value refers to, of one of these dtypes and with this number of dimensions."""
        number, *order = value[1:] or [None]
        if type(number) is not int or not 0 <= number < len(self.tensors):
            raise ProtocolError("a missing tensor")
        self.references += 1
        if self.is_reply:
            check_tensors(self.references)
        tensor = self.tensors[number]
        if tensor.dtype not in dtypes or dimensions not in (None, tensor.dim()):
            raise ProtocolError("a tensor of an unexpected dtype or shape")
        return _permuted(tensor, order) if order else tensor


def _permuted(tensor: torch.Tensor, order: list[Any]) -> torch.Tensor:
    match order:
        case [list(dims)] if sorted(map(repr, dims)) == sorted(map(repr, range(tensor.dim()))):
            return tensor.permute(dims)
    raise ProtocolError("an invalid permutation")


def _key(value: Any) -> Any:
    """Return a key of a dict or set: a string, a number, bytes, None, or a tuple or frozenset of these."""
    if not isinstance(value, (*PLAIN, bytes, numpy.generic)):
        if not isinstance(value, tuple | frozenset):
            raise ProtocolError("a dict or set in which a key is neither text, a number nor a tuple")
        for item in value:
            _key(item)
    return value


READERS: dict[str, Callable[[_Decoder, list[Any], int], Any]] = {
    name.removeprefix("read_"): method for name, method in vars(_Decoder).items() if name.startswith("read_")
}
