"""Imports what student code may import, before any student code is there."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from grader.sandbox import protocol, replacements, values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# Not libraries: they draw, print, open windows or browsers, or no longer exist in later versions.
NEVER_IMPORTED = {
    "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test", "lib2to3", "ensurepip", "venv",
    "distutils", "pydoc_data", "pip", "_pyrepl", "crypt", "nis", "msilib", "cgi", "cgitb", "imp", "asyncore",
    "asynchat", "smtpd", "telnetlib", "uu", "xdrlib", "nntplib", "pipes", "sndhdr", "imghdr", "aifc", "sunau",
    "chunk", "audioop", "ossaudiodev", "spwd", "mailcap",
}  # fmt: skip


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numpy
        import numpy.ma
        import numpy.polynomial
        import numpy.testing
        import torch
        import torch.distributions
        import torch.nn.utils.parametrize
        import torch.utils.benchmark
        import torch.utils.data

        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        # The first operator reads a description of the processor from files, and the first print imports modules.
        sample = torch.nn.Linear(4, 4)(torch.ones(2, 4)).softmax(dim=-1)
        sample.sum().backward()
        str(sample)
        torch.einsum("ij,ij,ij", *[sample.detach()] * 3)  # imports a module before torch 2.5
        encoder = values.Encoder()
        text, data = protocol.halves(protocol.pack_reply(encoder.encode(sample), encoder.data))
        values.Decoder(data).decode(protocol.unpack_reply(text))
        numpy.linalg.inv(numpy.random.default_rng(0).normal(size=(3, 3)))
        for name in sorted(sys.stdlib_module_names - NEVER_IMPORTED):
            _import_all(name)
        for name in modules:
            _import_named(name)
    replacements.install()


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


def preload_late(parts: Sequence[str]) -> None:
    """Import parts that torch imports on first use. Each takes a second or two, so only the parts that are needed."""
    import torch

    if "optim" in parts:
        torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    if "checkpoint" in parts:
        from torch.utils.checkpoint import checkpoint

        checkpoint(torch.neg, torch.ones(1), use_reentrant=False)
    if "meta" in parts:
        with torch.device("meta"):
            torch.nn.TransformerEncoderLayer(4, 2)(torch.ones(1, 3, 4)).sum()
