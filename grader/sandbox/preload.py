"""Imports what student code may import, before any student code is there."""

from __future__ import annotations

import contextlib
import copy
import importlib
import pickle
import pkgutil
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from grader.sandbox import import_stubs, protocol, replacements, values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import torch

# Not libraries: they draw, print, open windows or browsers, or no longer exist in later versions.
NEVER_IMPORTED = {
    "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test", "lib2to3", "ensurepip", "venv",
    "distutils", "pydoc_data", "pip", "_pyrepl", "crypt", "nis", "msilib", "cgi", "cgitb", "imp", "asyncore",
    "asynchat", "smtpd", "telnetlib", "uu", "xdrlib", "nntplib", "pipes", "sndhdr", "imghdr", "aifc", "sunau",
    "chunk", "audioop", "ossaudiodev", "spwd", "mailcap",
}  # fmt: skip

# Modules that `import torch` leaves out. Not every version has each.
TORCH = (
    "functorch.dim._getsetitem", "torch._functorch.config", "torch._higher_order_ops.triton_kernel_wrap",
    "torch.autograd._functions", "torch.distributions", "torch.masked.maskedtensor._ops_refs",
    "torch.nn.attention.bias", "torch.nn.attention.flex_attention", "torch.nn.utils.parametrize",
    "torch.nn.utils.prune", "torch.optim.swa_utils", "torch.utils.benchmark", "torch.utils.checkpoint",
    "torch.utils.data", "torch.utils.flop_counter",
)  # fmt: skip


class ModuleUnavailable(Exception):
    """A module for student code cannot be used in an isolated process; the text says which, and why."""


def preload(modules: Sequence[str] = ()) -> None:
    """Import what student code may import, because an isolated process cannot open files.

    Args:
        modules: What it may import beside the standard library, torch and numpy. Each is imported with the submodules
            that it offers as attributes; others must be named too.

    Raises:
        ModuleUnavailable: One of the modules cannot be imported, or has started a thread, which a fork lacks.
    """
    # Before anything of torch is used, because that would import them.
    sys.meta_path.insert(0, import_stubs.UnusedFinder())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numpy
        import numpy.ma
        import numpy.polynomial
        import numpy.testing
        import torch

        for name in TORCH:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        sample = _use_torch()
        encoder = values.Encoder()
        text, data = protocol.halves(protocol.pack_reply(encoder.encode(sample), encoder.data))
        values.Decoder(data).decode(protocol.unpack_reply(text))
        numpy.linalg.inv(numpy.random.default_rng(0).normal(size=(3, 3)))
        for name in sorted(sys.stdlib_module_names - NEVER_IMPORTED):
            _import_all(name)
        for name in modules:
            _import_named(name)
    replacements.install()


def _use_torch() -> torch.Tensor:
    """Do what makes torch import a module or read a file, such as a description of the processor, when first done."""
    import torch

    layer = torch.nn.Linear(4, 4)
    sample: torch.Tensor = layer(torch.ones(2, 4)).softmax(dim=-1)
    sample.backward(torch.ones_like(sample))
    str(sample)
    torch.optim.SGD(layer.parameters()).step()
    torch.utils.checkpoint.checkpoint(layer, torch.ones(2, 4), use_reentrant=False)
    with torch.device("cpu"):
        copy.deepcopy(pickle.loads(pickle.dumps(layer)))
    with contextlib.suppress(Exception):  # a prototype, which not every version has like this
        str(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged) * 2)
    return sample


def _import_named(name: str) -> None:
    threads = _count_threads()
    try:
        touch(importlib.import_module(name))
    except BaseException as error:
        raise ModuleUnavailable(f"The module {name} cannot be imported: {type(error).__name__}: {error}") from error
    if _count_threads() > threads:
        raise ModuleUnavailable(
            f"The module {name} starts a thread when it is imported, so it cannot be used in an isolated process."
        )


def touch(module: ModuleType) -> list[str]:
    """Read each public name of a module, some of which it may import only now. Return the names that it has."""
    found = []
    for name in dir(module):
        if not name.startswith("_"):
            with contextlib.suppress(Exception):
                getattr(module, name)
                found.append(name)
    return found


def _count_threads() -> int:
    with contextlib.suppress(OSError):
        return len(list(Path("/proc/self/task").iterdir()))
    return threading.active_count()


def _import_all(name: str) -> None:
    """Import a module and, for a package, everything in it except tests and programs."""
    if name.rpartition(".")[2] in NEVER_IMPORTED | {"__main__", "tests", "idle_test"} or name.startswith("__"):
        return
    try:
        module = importlib.import_module(name)
    except Exception:  # noqa: BLE001 - a module of another system, or built without its library
        return
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        _import_all(found.name)
