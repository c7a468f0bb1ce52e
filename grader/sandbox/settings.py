"""Settings of torch, and parts of it, that a statement at the top of a file leaves changed for all code after it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


PARTS = "parts"  # of libraries: to read them takes long


class Setting(NamedTuple):
    """What a statement does that changes it, and how to read and set it."""

    words: str
    read: Callable[[], Any]
    set: Callable[[Any], Any]


def _default_device() -> tuple[torch.device | None, tuple[_device.DeviceContext, ...]]:
    # torch.get_default_device makes a tensor, which fails if there is no such device. A `torch.device(…)` that was
    # entered is only among the modes.
    modes = _get_current_function_mode_stack()
    return _device.CURRENT_DEVICE, tuple(one for one in modes if isinstance(one, _device.DeviceContext))


def _set_default_device(default: tuple[torch.device | None, tuple[_device.DeviceContext, ...]]) -> None:
    modes = _get_current_function_mode_stack()
    for _ in modes:
        _pop_mode()
    for mode in (*default[1], *(one for one in modes if not isinstance(one, _device.DeviceContext))):
        _push_mode(mode)
    _device.CURRENT_DEVICE = default[0]


# What was entered here to leave the inference mode of a student, or to go back to it.
_modes: list[torch.inference_mode] = []


def _gradients() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def _set_gradients(enabled: tuple[bool, bool]) -> None:
    if torch.is_inference_mode_enabled() != enabled[1]:
        if _modes:
            _modes.pop().__exit__(None, None, None)
        else:
            _modes.append(torch.inference_mode(enabled[1]))
            _modes[0].__enter__()
    torch.set_grad_enabled(enabled[0])


def _anomalies() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _set_anomalies(enabled: tuple[bool, bool]) -> None:
    torch.set_anomaly_enabled(*enabled)


def _is_autocast() -> bool:
    return torch.is_autocast_enabled("cpu")


def _set_autocast(enabled: bool) -> None:
    torch.set_autocast_enabled("cpu", enabled)


# A line that may give an attribute of a library another value.
MAY_REPLACE = re.compile(
    r"^[ \t]*+(?!self\.)[^#\n=]*\.\w+\s*=(?!=)|^[ \t]*+del\b.*\.|\b(?:set|del)attr\(", re.MULTILINE
)
LIBRARIES = (torch, nn, nn.functional, torch.Tensor, math)
OWNERS = (*LIBRARIES, *dict.fromkeys(one for one in vars(nn).values() if isinstance(one, type)))


class _Parts:
    """The functions of the libraries as they are now. They are compared by identity, which calls no student code."""

    # Tensor inherits most of its methods; others may be hidden by one of the same name.
    names = tuple(dir(one) if one is torch.Tensor else list(vars(one)) for one in OWNERS)

    def __init__(self) -> None:
        self.values = [list(map(vars(owner).get, names)) for owner, names in zip(OWNERS, self.names, strict=True)]
        self.ids = [id(value) for values in self.values for value in values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parts) and self.ids == other.ids

    __hash__ = None  # type: ignore[assignment]


def _set_parts(parts: _Parts) -> None:
    for owner, names, wanted, found in zip(OWNERS, parts.names, parts.values, _Parts().values, strict=True):
        for name, value, now in zip(names, wanted, found, strict=True):
            if value is None and now is not None:
                delattr(owner, name)
            elif value is not now:
                setattr(owner, name, value)


SETTINGS = {
    "default dtype": Setting("changes torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    "default device": Setting("changes torch's default device", _default_device, _set_default_device),
    "gradients": Setting("switches gradients off", _gradients, _set_gradients),
    "autocast": Setting("switches autocast on", _is_autocast, _set_autocast),
    "anomalies": Setting("switches the detection of anomalies on", _anomalies, _set_anomalies),
    "deterministic": Setting(
        "allows deterministic algorithms only",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    PARTS: Setting("replaces a part of a library", _Parts, _set_parts),
}


def current(names: Iterable[str]) -> dict[str, Any]:
    """Return the values of these settings."""
    return {name: SETTINGS[name].read() for name in names}


def apply(values: Mapping[str, Any]) -> None:
    """Give each setting its value."""
    for name, value in values.items():
        SETTINGS[name].set(value)
