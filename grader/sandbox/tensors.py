"""Tensors as bytes, and as what a message says about these bytes: a dtype, a shape and the order of the dimensions."""

from __future__ import annotations

from typing import Any

import torch

from grader.sandbox.bounds import ProtocolError


def _by_name(*names: str) -> dict[str, torch.dtype]:
    return {name: getattr(torch, name) for name in names}


# The dtypes of tensors that can be sent, and those of arrays.
TENSORS = _by_name("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
ARRAYS = {name: dtype for name, dtype in TENSORS.items() if name != "bfloat16"} | _by_name("uint16", "uint32", "uint64")
NAMES = {dtype: name for name, dtype in (TENSORS | ARRAYS).items()}
NUMPY_DTYPES = [torch.empty(0, dtype=dtype).numpy().dtype for dtype in ARRAYS.values()]


def write(tensor: torch.Tensor, data: bytearray) -> list[Any]:
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
    described = [NAMES[tensor.dtype], list(tensor.shape), *order]
    if tensor.dtype == torch.bfloat16:  # which numpy lacks
        tensor = tensor.view(torch.int16)
    # Row by row, whatever the layout. numpy refuses a view that only claims to be negated.
    data += tensor.resolve_neg().numpy().tobytes()
    return described


def read(data: memoryview, dtype: torch.dtype, shape: list[int], order: list[Any]) -> torch.Tensor:
    """Return the tensor of these bytes. Raises ProtocolError if `order` is not empty, and no order of its dimensions.

    Args:
        data: As many bytes as the shape and the dtype need.
        dtype: The dtype.
        shape: The sizes.
        order: What `write` returned after these.
    """
    # A copy, because torch shares the memory of the buffer. And torch.frombuffer refuses zero bytes.
    flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    tensor = flat.reshape(shape)
    match order:
        case []:
            return tensor
        case [list(dims)] if sorted(map(repr, dims)) == sorted(map(repr, range(tensor.dim()))):
            return tensor.permute(dims)
    raise ProtocolError("an invalid permutation")
