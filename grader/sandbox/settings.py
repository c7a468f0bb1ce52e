"""Settings of torch that a statement at the top of a file leaves changed for all code after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
}


def current() -> dict[str, Any]:
    """Return the value of each setting."""
    return {name: setting.read() for name, setting in SETTINGS.items()}


def apply(values: Mapping[str, Any]) -> None:
    """Give each setting its value."""
    for name, value in values.items():
        SETTINGS[name].set(value)
