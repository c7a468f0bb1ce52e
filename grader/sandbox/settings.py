"""Settings of torch that a statement at the top of a file leaves changed for all code after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Setting(NamedTuple):
    """What a statement does that changes it, and how to read and set it."""

    words: str
    read: Callable[[], Any]
    set: Callable[[Any], Any]


def _default_device() -> torch.device | None:
    # torch.get_default_device makes a tensor, which fails if there is no such device.
    return _device.CURRENT_DEVICE


SETTINGS = {
    "default dtype": Setting("changes torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    "default device": Setting("changes torch's default device", _default_device, torch.set_default_device),
    "gradients": Setting("switches gradients off", torch.is_grad_enabled, torch.set_grad_enabled),
    "deterministic": Setting(
        "allows deterministic algorithms only",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
}


def current() -> dict[str, Any]:
    """Return the value of each setting."""
    return {name: setting.read() for name, setting in SETTINGS.items()}


def apply(values: Mapping[str, Any]) -> None:
    """Give each setting its value."""
    for name, value in values.items():
        SETTINGS[name].set(value)
