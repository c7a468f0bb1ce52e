"""Compares two observations of a probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor

from grader.testing.relations import ABSOLUTE, RELATIVE


@dataclass(frozen=True)
class Estimate:
    """A number or numbers that differ from their true value by at most `within`."""

    value: float | Tensor
    within: float | Tensor


def alike(found: Any, right: Any) -> bool:
    """Return whether two observations are the same up to rounding in float32.

    A tuple may equal a list, a number a tensor without dimensions, and both may be NumPy's.
    """
    if isinstance(found, numpy.ndarray | numpy.number):
        found = torch.as_tensor(found)
    if isinstance(right, Estimate):
        return isinstance(found, Estimate) and _near(found, right)
    if isinstance(right, tuple | list):
        same_length = isinstance(found, tuple | list) and len(found) == len(right)
        return same_length and all(alike(one, other) for one, other in zip(found, right, strict=True))
    if _is_number(right) and _is_number(found):
        if isinstance(right, int) and isinstance(found, int):
            return found == right
        found, right = (torch.as_tensor(value, dtype=torch.float64).detach() for value in (found, right))
    if isinstance(right, Tensor):
        if not isinstance(found, Tensor) or found.shape != right.shape:
            return False
        if found.dtype == right.dtype and torch.equal(found, right):
            return True
        return torch.allclose(found.detach().double(), right.detach().double(), RELATIVE, ABSOLUTE, equal_nan=True)
    return type(found) is type(right) and bool(found == right)


def _near(found: Estimate, right: Estimate) -> bool:
    one, other, apart = (
        torch.as_tensor(number, dtype=torch.float64).detach()
        for number in (found.value, right.value, found.within + right.within)
    )
    return one.shape == other.shape and bool(((one - other).abs() <= apart).all())


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain or (isinstance(value, Tensor) and value.dim() == 0)
