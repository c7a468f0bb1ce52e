"""Import stubs for libraries that draw, tabulate or report progress, for parts of torch, and for marimo.

No grade depends on them.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

INERT_LIBRARIES = ("matplotlib", "mpl_toolkits", "IPython", "pandas", "tqdm")
AVAILABLE = ("the standard library", "torch", "numpy")
# Parts of torch that compile, or distribute, and open files for it. Torch imports them for optimizers, checkpoint,
# torch.func and so on, but only to say what is not to be compiled, or to ask whether something is distributed.
# They take a second; `decompositions_for_jvp` has forward derivatives of a few backward operators.
# marimo marks functions outside its cells by a decorator.
UNUSED = (
    "marimo",
    "torch._dynamo",
    "torch._inductor",
    "torch._decomp.decompositions_for_jvp",
    "torch.distributed.tensor",
    "torch.utils.cpp_extension",
)


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


class Progress(Inert):
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


class InertModule(types.ModuleType):
    """A module that defines every name."""

    __path__: Any = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self.__name__.partition(".")[0] == "tqdm" and name in ("tqdm", "tqdm_notebook", "trange"):
            return (lambda *n, **_: Progress(range(*n))) if name == "trange" else Progress
        return Inert()


class UnusedModule(types.ModuleType):
    """A module in such a part."""

    __path__: Any = ()

    def __getattr__(self, name: str) -> type:
        return getattr(NotUsed, name)  # type: ignore[no-any-return]


class UnusedFinder:
    """Finds the parts of torch that are not used."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find a module in such a part."""
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if _is_unused(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a stub."""
        return UnusedModule(spec.name) if _is_unused(spec.name) else InertModule(spec.name)

    def exec_module(self, _: types.ModuleType) -> None:
        """Do nothing: a stub has no code."""


def _is_unused(name: str) -> bool:
    return any(f"{name}.".startswith(f"{part}.") for part in UNUSED)


def _listed(*names: str) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class StubFinder(UnusedFinder):
    """Finds every stub, and refuses any other module with a sentence."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Set the modules that can be imported beside AVAILABLE."""
        imported = {name.partition(".")[0] for name in modules}
        self.inert = [name for name in INERT_LIBRARIES if name not in imported]
        self.imported = {"torch", "numpy", *sys.stdlib_module_names, *imported}
        stubs = [name for name in self.inert if name != "mpl_toolkits"]  # a part of matplotlib
        available = f"only your files, {_listed(*AVAILABLE, *modules)} can be imported"
        self.available = f"{available}, and stubs of {_listed(*stubs)}" if stubs else available

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec:
        """Find a stub. For any other name, raise an error that says what can be imported."""
        package = name.partition(".")[0]
        if _is_unused(name) or package in self.inert:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        why = self.available
        if package in self.imported and package in sys.modules:
            why = f"`{package}` has only what needs no files, processes or compilers"
        raise ModuleNotFoundError(f"No module named {name!r}. While grading, {why}", name=name)


def _find_spec(name: str, path: Any, target: Any = None, original: Any = importlib.util._find_spec) -> Any:  # type: ignore[attr-defined]
    """Replace what importlib.util.find_spec calls, by which code asks whether there is a module: None if not."""
    with contextlib.suppress(ModuleNotFoundError):
        return original(name, path, target)
    return None


def install(siblings: Any, modules: Sequence[str] = ()) -> None:
    """Let imports find modules that are loaded, units of the student, and stubs, but no files.

    Args:
        siblings: An import finder for the student's units.
        modules: What was imported for student code beside the standard library, torch and numpy.
    """
    versions = {name: str(getattr(sys.modules[name], "__version__", "0")) for name in ("torch", "numpy", *modules)}
    sys.meta_path[:] = list(filter(None, [importlib.machinery.BuiltinImporter, siblings, StubFinder(modules)]))
    sys.path[:] = []
    sys.path_importer_cache.clear()
    importlib.util._find_spec = _find_spec  # type: ignore[attr-defined]
    importlib.metadata.version = lambda distribution_name: versions.get(str(distribution_name), "0")
    importlib.metadata.distributions = lambda **_: iter(())
    vars(builtins).update(get_ipython=Inert(), display=Inert())
