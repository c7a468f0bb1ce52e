"""Records what layers of a module receive and return. Its source is sent to the student process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn


class LayerRecorder:
    """Records the first argument and the result of the last call of layers, by forward hooks."""

    def __init__(self, module: nn.Module, names: Sequence[str]) -> None:
        """Hook the layers of these names. Raises AttributeError if the module lacks one."""
        self.calls: dict[str, tuple[Any, Any]] = {}
        for name in names:
            module.get_submodule(name).register_forward_hook(functools.partial(self._record, name))

    def _record(self, name: str, _: nn.Module, received: tuple[Any, ...], returned: Any) -> None:
        self.calls[name] = received[0], returned

    def has_run(self, name: str) -> bool:
        """Return whether a layer was called."""
        return name in self.calls

    def received(self, name: str) -> Any:
        """Return the first argument of a layer's last call."""
        return self.calls[name][0]

    def returned(self, name: str) -> Any:
        """Return the result of a layer's last call."""
        return self.calls[name][1]
