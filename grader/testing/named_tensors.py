"""Tensors by name, from a student process: a name that is missing there is the answer's fault, not the test's."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from grader.sandbox.failures import Refused

ODD_REPLY = "The student process sent a malformed reply."


class NamedTensors(dict[str, Any]):
    """Tensors by name. Asking for one that is missing raises Refused."""

    def __missing__(self, name: str) -> NoReturn:
        raise Refused(f"There is no {name}.")


def named_tensors(found: Any) -> NamedTensors:
    """Check that these are tensors by name. Raises Refused."""
    if isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in found.items()
    ):
        return NamedTensors(found)
    raise Refused(ODD_REPLY)
