"""Imports what student code may import, before any student code is there, and stubs for some of the rest.

There are stubs for libraries that draw, tabulate or report progress, for parts of torch, and for marimo. No grade
depends on them.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import pickle
import pkgutil
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module, machinery, metadata, util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import torch

from grader.sandbox import protocol, replacements, values
from grader.text import in_words

INERT_LIBRARIES = ("matplotlib", "mpl_toolkits", "IPython", "pandas", "tqdm")
AVAILABLE = ("the standard library", "torch", "numpy")
# Parts of torch that compile, or distribute, and open files for it. Torch imports them for optimizers, checkpoint,
# torch.func and so on, but only to say what is not to be compiled, or to ask whether something is distributed.
# They take a second; `decompositions_for_jvp` has forward derivatives of a few backward operators.
# marimo marks functions outside its cells by a decorator.
UNUSED = (
    "marimo", "torch._dynamo", "torch._inductor", "torch._decomp.decompositions_for_jvp", "torch.distributed.tensor",
    "torch.utils.cpp_extension",
)  # fmt: skip


class Inert:
    """Accepts every call, attribute, item and operator, and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> Inert:
        """Accept any call."""
        return Inert()

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert()

    def __getitem__(self, _: Any) -> Inert:
        return Inert()

    def __setitem__(self, _: Any, __: Any) -> None: ...

    def __iter__(self) -> Iterator[Inert]:
        # Two, because the most frequent use is `figure, axes = plt.subplots()`.
        return iter((Inert(), Inert()))

    def __len__(self) -> int:
        return 2

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *_: Any) -> None: ...

    def __add__(self, _: Any) -> Inert:
        return Inert()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__


class ProgressBar(Inert):
    """Does what matters of tqdm: iterates over its argument."""

    def __init__(self, iterable: Iterable[Any] = (), *_: Any, **__: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Off(type):
    """The type of NotUsed, because torch asks whether something is an instance of what it finds there."""

    def __call__(cls, function: Any = None, *_: Any, **__: Any) -> Any:
        """Return the function; without one, a decorator."""
        return function if callable(function) else cls

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return cls

    def __enter__(cls) -> None: ...

    def __exit__(cls, *_: object) -> None: ...

    def __bool__(cls) -> bool:
        return False

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class NotUsed(metaclass=_Off):
    """Stands for every name in a module that is not used: false, and a decorator that changes nothing."""


class StubModule(ModuleType):
    """A module that defines every name."""

    __path__: Any = ()

    def __getattr__(self, name: str) -> Any:
        if _is_unused(self.__name__):
            return getattr(NotUsed, name)
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self.__name__.partition(".")[0] == "tqdm" and name in ("tqdm", "tqdm_notebook", "trange"):
            return (lambda *n, **_: ProgressBar(range(*n))) if name == "trange" else ProgressBar
        return Inert()


class UnusedFinder:
    """Finds the parts of torch that are not used."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> machinery.ModuleSpec | None:
        """Find a module in such a part."""
        return machinery.ModuleSpec(name, self, is_package=True) if _is_unused(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: machinery.ModuleSpec) -> ModuleType:
        """Return a stub."""
        return StubModule(spec.name)

    def exec_module(self, _: ModuleType) -> None:
        """Do nothing: a stub has no code."""


def _is_unused(name: str) -> bool:
    return any(f"{name}.".startswith(f"{part}.") for part in UNUSED)


class StubFinder(UnusedFinder):
    """Finds every stub, and refuses any other module with a sentence."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Set the modules that can be imported beside AVAILABLE."""
        imported = {name.partition(".")[0] for name in modules}
        self.inert = [name for name in INERT_LIBRARIES if name not in imported]
        self.imported = {"torch", "numpy", *sys.stdlib_module_names, *imported}
        stubs = [name for name in self.inert if name != "mpl_toolkits"]  # a part of matplotlib
        available = f"only your files, {in_words([*AVAILABLE, *modules])} can be imported"
        self.available = f"{available}, and stubs of {in_words(stubs)}" if stubs else available

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> machinery.ModuleSpec:
        """Find a stub. For any other name, raise an error that says what can be imported."""
        package = name.partition(".")[0]
        if _is_unused(name) or package in self.inert:
            return machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        why = self.available
        if package in self.imported and package in sys.modules:
            why = f"`{package}` has only what needs no files, processes or compilers"
        raise ModuleNotFoundError(f"No module named {name!r}. While grading, {why}", name=name)


def _find_spec(name: str, path: Any, target: Any = None, original: Any = util._find_spec) -> Any:  # type: ignore[attr-defined]
    """Replace what util.find_spec calls, by which code asks whether there is a module: None if not."""
    with contextlib.suppress(ModuleNotFoundError):
        return original(name, path, target)
    return None


def install_stubs(siblings: Any, modules: Sequence[str] = ()) -> None:
    """Let imports find modules that are loaded, units of the student, and stubs, but no files.

    Args:
        siblings: An import finder for the student's units.
        modules: What was imported for student code beside the standard library, torch and numpy.
    """
    versions = {name: str(getattr(sys.modules[name], "__version__", "0")) for name in ("torch", "numpy", *modules)}
    sys.meta_path[:] = list(filter(None, [machinery.BuiltinImporter, siblings, StubFinder(modules)]))
    sys.path[:] = []
    sys.path_importer_cache.clear()
    util._find_spec = _find_spec  # type: ignore[attr-defined]
    metadata.version = lambda distribution_name: versions.get(str(distribution_name), "0")
    metadata.distributions = lambda **_: iter(())
    vars(builtins).update(get_ipython=Inert(), display=Inert())


# Not libraries: they draw, print, open windows or browsers, or no longer exist in later versions.
NEVER_IMPORTED = {
    "antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "test", "lib2to3", "ensurepip", "venv",
    "distutils", "pydoc_data", "pip", "_pyrepl", "crypt", "nis", "msilib", "cgi", "cgitb", "imp", "asyncore",
    "asynchat", "smtpd", "telnetlib", "uu", "xdrlib", "nntplib", "pipes", "sndhdr", "imghdr", "aifc", "sunau",
    "chunk", "audioop", "ossaudiodev", "spwd", "mailcap",
}  # fmt: skip

# Modules that `import torch` and `import numpy` leave out. Not every version has each.
LEFT_OUT = (
    "numpy.ma", "numpy.polynomial", "numpy.testing",
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
    sys.meta_path.insert(0, UnusedFinder())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in LEFT_OUT:
            with contextlib.suppress(ImportError):
                import_module(name)
        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        sample = _use_torch()
        encoder = values.Encoder()
        text, data = protocol.halves(protocol.pack(encoder.encode(sample), encoder.data))
        values.Decoder(data).decode(protocol.unpack(text))
        numpy.linalg.inv(numpy.random.default_rng(0).normal(size=(3, 3)))
        for name in sorted(sys.stdlib_module_names - NEVER_IMPORTED):
            _import_all(name)
        for name in modules:
            _import_named(name)
    replacements.install()


def _use_torch() -> torch.Tensor:
    """Do what makes torch import a module or read a file, such as a description of the processor, when first done."""
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
        touch(import_module(name))
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
        module = import_module(name)
    except Exception:  # noqa: BLE001 - a module of another system, or built without its library
        return
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        _import_all(found.name)
