"""The slopes of a student's own function, which its gradients should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from grader.sandbox import protocol
from grader.testing.checks import expect_tensor
from grader.testing.student import RemoteCallable, RemoteObject

if TYPE_CHECKING:
    from collections.abc import Sequence

STEP = 1e-2


def tensors_of(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result: itself, or those in a tuple or list."""
    return [expect_tensor(one) for one in (result if isinstance(result, tuple | list) else (result,))]


def direction_of(value: torch.Tensor) -> torch.Tensor:
    """Return a fixed direction of length one, in float64, along which every entry changes by another step."""
    steps = (torch.arange(value.numel(), dtype=torch.float64) + 0.5).cos().reshape(value.shape)
    direction: torch.Tensor = steps / steps.norm()
    return direction


def slope_of(
    call: RemoteCallable, values: Sequence[Any], key: str, value: torch.Tensor, direction: torch.Tensor
) -> float:
    """Return the change of the weighted sum of the result along a direction, divided by the step."""
    ends = []
    for step in (STEP, -STEP):
        moved = (value.double() + step * direction).to(value.dtype)
        if key.isdigit():
            result = call(*(moved if n == int(key) else one for n, one in enumerate(values)))
        else:
            assert isinstance(call, RemoteObject)
            call.set({key: moved})
            result = call(*values)
            call.set({key: value})
        outputs = [one.double() for one in tensors_of(result) if one.is_floating_point()]
        ends.append(sum((one * protocol.cotangent(one.shape, one.dtype)).sum().item() for one in outputs))
    return (ends[0] - ends[1]) / (2 * STEP)
