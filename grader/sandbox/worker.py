"""The student process: holds the student's modules and objects, and answers requests about them.

Nothing here decides anything. The process has no expected value, no suite and no solution in it, and whatever it
answers is checked on the other side. `Worker` is also what runs a misconception on the trusted side.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import itertools
import json
import os
import random
import sys
import threading
import traceback
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.sandbox import audit_hook, import_stubs, loader, protocol, toolbox

MAX_MESSAGE = 2000
MAX_FAILURES = 200
READ_BYTES = 2**16
SIGNIFICANT_KINDS = 20


UNBOUND = object()


class Unsupported(Exception):
    """The student's object does not have what the request needs; the text says what, in plain words."""


class Undefined(Exception):
    """The student's module has no such name."""


def refusal(kind: str, text: str) -> dict[str, Any]:
    """An error of the worker's own, in the form of those that student code raises."""
    return {"types": [kind], "text": text, "line": None, "file": None}


class Worker:
    """Answers one request at a time. Requests name an operation, and each operation is a method `do_…`."""

    def __init__(self, notify: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
        self.notify = notify
        self.sources: dict[str, dict[str, Any]] = {}
        self.modules: dict[str, types.ModuleType] = {}
        self.failures: dict[str, list[dict[str, Any]]] = {}
        self.labels: set[str] = set()
        self.held: dict[int, Any] = {}
        self.numbers = itertools.count()
        # The substitutes for exercises, once they have been uploaded.
        self.substitutes: dict[str, Any] = {}
        # What substitutes hide, a list for each `patch`: the names that hold it, which of them, and what it meant.
        self.patched: list[list[tuple[dict[str, Any], str, Any]]] = []
        self.called: set[str] = set()
        # Names outside the units' own modules, in which a trusted answer looks for others.
        self.elsewhere: list[dict[str, Any]] = []
        self.operations = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def answer(self, message: dict[str, Any], tensors: list[torch.Tensor]) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """The reply to the last request: a value, or the first error, and where the student's code raised it."""
        sent: list[torch.Tensor] = []
        try:
            value = None
            for encoded in message["requests"]:
                request = protocol.decode(encoded, tensors, lambda handle: self.held[handle.number])
                value = self.operations[request.pop("operation")](**request)
            return {"value": protocol.encode(value, sent, self.hold)}, sent
        except protocol.WireError as error:
            return {"error": refusal("Unsendable", f"it gave {error}")}, []
        except (Unsupported, Undefined) as error:
            return {"error": refusal(type(error).__name__, str(error))}, []
        except BaseException as error:
            return {"error": self.describe(error)}, []

    def hold(self, value: Any) -> protocol.Handle:
        """Keeps `value` here and gives the handle by which requests may name it."""
        number = next(self.numbers)
        self.held[number] = value
        kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__[:SIGNIFICANT_KINDS]]
        return protocol.Handle(number, tuple(kinds))

    def describe(self, error: BaseException) -> dict[str, Any]:
        """An error as plain data: its built-in types, its text, and the last of the student's lines it passed."""
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"]
        try:
            text = str.__str__(str(error))[:MAX_MESSAGE]
        except BaseException:
            text = "(the error's text could not be read)"
        line, file = None, None
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename in self.labels:
                line, file = number, frame.f_code.co_filename
        if isinstance(error, SyntaxError) and file is None:
            line, file, text = error.lineno, error.filename, str(error.msg)
        return {"types": kinds, "text": text, "line": line, "file": file}

    # -- the student's modules ------------------------------------------------------------------------------

    def do_begin(self, sources: dict[str, dict[str, Any]]) -> None:
        """Takes the units' sources; none runs before it is asked for, or imported by another."""
        self.sources = sources

    def do_load(self, unit: str) -> list[dict[str, Any]]:
        """Runs a unit's source, once. What failed: each piece's cell, line, names and error."""
        self.module(unit)
        return self.failures[unit]

    def module(self, unit: str) -> types.ModuleType:
        if unit in self.modules:
            return self.modules[unit]
        source = self.sources[unit]
        module = self.modules[unit] = types.ModuleType(unit)
        module.__file__ = source["filename"]
        sys.modules[unit] = module
        failures = self.failures[unit] = []
        skipped = {tuple(place) for place in source["skip"]}
        self.labels.update(source["labels"])

        def before(cell: int, piece: loader.Piece) -> bool:
            if (cell, piece.line) in skipped:
                return False
            self.notify({"unit": unit, "cell": cell, "line": piece.line, "names": piece.names})
            return True

        def failed(cell: int, piece: loader.Piece, error: BaseException) -> None:
            if len(failures) == MAX_FAILURES:  # a text that is no Python at all has one for each of its lines
                return
            description = self.describe(error)
            description["file"] = source["labels"][cell]
            description["line"] = description["line"] or piece.line
            if isinstance(error, loader.AlwaysTrue):
                description |= {"types": [loader.AlwaysTrue.__name__], "line": error.args[0]}
            # A definition that fails leaves an earlier one of the same name in force.
            kept = [name for name in piece.names if name in module.__dict__]
            failures.append({"names": piece.names, "kept": kept, **description})

        loader.run(source["cells"], source["labels"], module, source["is_notebook"], before, failed)
        return module

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """An import finder: a unit may import its siblings by plain name."""
        return importlib.machinery.ModuleSpec(name, self) if name in self.sources else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self.module(spec.name)

    def exec_module(self, _: types.ModuleType) -> None: ...

    # -- operations on the student's names and objects ------------------------------------------------------

    def do_call(
        self, target: Any, arguments: tuple[Any, ...], options: dict[str, Any], arguments_after: bool = False
    ) -> Any:
        """Calls `target`; with `arguments_after`, the result and the arguments as the call left them."""
        result = self.resolve(target)(*arguments, **options)
        return (result, arguments) if arguments_after else result

    def resolve(self, target: Any) -> Any:
        """("unit", "name") is a name of the student's; (object, "name") its attribute; (object,) the object itself."""
        owner, *names = target
        if isinstance(owner, str):
            module = self.module(owner)
            if names[0] not in module.__dict__:
                raise Undefined(f"{names[0]} is not defined")
            return module.__dict__[names[0]]
        for name in names:
            owner = getattr(owner, name)
        return owner

    def do_get(self, target: Any) -> Any:
        return self.resolve(target)

    def do_parameters(self, target: Any) -> dict[str, tuple[torch.Tensor, bool]]:
        """Every registered parameter by name: its value and whether it requires gradients."""
        return {name: (value, value.requires_grad) for name, value in self._module(target).named_parameters()}

    def do_buffers(self, target: Any) -> dict[str, torch.Tensor]:
        return dict(self._module(target).named_buffers())

    def _module(self, target: Any) -> torch.nn.Module:
        value = self.resolve(target)
        if not isinstance(value, torch.nn.Module):
            raise Unsupported(f"it is a {type(value).__name__}, not an nn.Module")
        return value

    def do_set_tensors(self, target: Any, values: dict[str, torch.Tensor]) -> None:
        """Copies values into parameters and buffers, by name."""
        module = self._module(target)
        named = {**dict(module.named_buffers()), **dict(module.named_parameters())}
        for name, value in values.items():
            if name not in named:
                raise Unsupported(f"there is no registered parameter {name}")
            if named[name].shape != value.shape:
                found, wanted = tuple(named[name].shape), tuple(value.shape)
                raise Unsupported(f"{name} has shape {found}, not {wanted}")
            with torch.no_grad():
                named[name].copy_(value)

    def do_train(self, target: Any, mode: bool) -> None:
        self._module(target).train(mode)

    def do_to(self, target: Any, dtype: torch.dtype) -> None:
        self._module(target).to(dtype)

    def do_gradients(self, target: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result, and the gradients of its weighted sum with respect to tensor arguments and parameters.

        None stands where a tensor has no part in the result.
        """
        function = self.resolve(target)
        leaves = [self._leaf(argument) for argument in arguments]
        parameters = dict(function.named_parameters()) if isinstance(function, torch.nn.Module) else {}
        result = function(*leaves, **options)
        outputs = result if isinstance(result, tuple | list) else (result,)
        total = sum(
            (output * protocol.cotangent(output.shape, output.dtype)).sum()
            for output in outputs
            if isinstance(output, torch.Tensor) and output.is_floating_point()
        )
        wanted = {
            str(n): leaf for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.requires_grad
        }
        wanted.update({name: value for name, value in parameters.items() if value.requires_grad})
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            raise Unsupported("no gradient flows through it")
        found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        return result, dict(zip(wanted, found, strict=True))

    @staticmethod
    def _leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.detach().requires_grad_()
        return value

    def do_torch_functions(self, target: Any, arguments: tuple[Any, ...]) -> list[str]:
        """The names of torch's functions and methods that a call makes use of."""
        with _Listening() as listening:
            self.resolve(target)(*arguments)
        return sorted(listening.names)

    # -- substitutes for the answers that an exercise builds on ---------------------------------------------

    def do_prepare(self, seed: int) -> None:
        """The beginning of a test: the student's own names, random states of the test's own, and nothing held."""
        self.held.clear()
        while self.patched:
            self.do_unpatch()
        self.do_seed(seed)

    def do_upload(self, name: str, source: str) -> None:
        """Take substitutes, as source, when they are needed: until then there is none to copy."""
        self.substitutes = _defined(name, source)

    def do_patch(self, exercises: list[str]) -> None:
        """Bind the names of these exercises to their substitutes, in every unit that is loaded.

        A sibling that was not handed in, or a name that its file lacks, is then there all the same.
        """
        patched: list[tuple[dict[str, Any], str, Any]] = []
        self.patched.append(patched)
        self.called.clear()
        for exercise in exercises:
            substitute = self._recorded(exercise)
            for names in [module.__dict__ for module in self.modules.values()] + self.elsewhere:
                patched.append((names, exercise, names.get(exercise, UNBOUND)))
                names[exercise] = substitute

    def do_unpatch(self) -> list[str]:
        """Undo the last `patch`. Return the exercises whose substitutes were called since."""
        for names, exercise, before in reversed(self.patched.pop() if self.patched else []):
            if before is UNBOUND:
                names.pop(exercise, None)
            else:
                names[exercise] = before
        return sorted(self.called)

    def _recorded(self, exercise: str) -> Any:
        """Return an exercise's substitute, whose calls are recorded; where there is none, a call raises."""
        substitute = self.substitutes.get(exercise)

        def function(*arguments: Any, **options: Any) -> Any:
            self.called.add(exercise)
            if substitute is None:
                raise NotImplementedError  # without a word: what is missing is not the student's
            return substitute(*arguments, **options)

        return function

    def do_make(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return self.substitutes.get(name, functools.partial(toolbox.make, name))(*arguments, **options)

    def do_generator(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    def do_generator_state(self, target: Any) -> torch.Tensor:
        return self.resolve(target).get_state()

    def do_seed(self, seed: int) -> None:
        """Every global source of randomness: forks share one state, so each test begins from its own."""
        # Not torch.manual_seed: for devices that are not there it takes down three stack traces at every call.
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        import numpy

        numpy.random.seed(seed % 2**32)


@functools.cache
def _defined(name: str, source: str) -> dict[str, Any]:
    """What a module of this name and source defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), names)
    return names


class _Listening(TorchFunctionMode):
    """Notes by name whatever torch is asked to do, and lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        self.names.add(str(getattr(function, "__name__", function)))
        return function(*arguments, **options or {})


def _read_frame(descriptor: int) -> tuple[bytes, bytes]:
    """The two parts of a frame. Requests come one at a time, so nothing of the next one is read with it."""
    frame, needed = bytearray(), protocol.HEADER.size
    while len(frame) < needed:
        part = os.read(descriptor, READ_BYTES)
        if not part:
            os._exit(0)
        frame += part
        if len(frame) >= protocol.HEADER.size:
            needed = protocol.HEADER.size + sum(protocol.HEADER.unpack_from(frame))
    return protocol.halves(bytes(frame))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Outlet:
    """Where frames leave: one at a time, whichever threads they come from.

    A notice leaves only while a request waits for its reply; until then it is kept.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.number = 0
        self.is_asked = False
        self.kept: deque[list[str]] = deque()
        self.lock = threading.Lock()
        # Held on to, since student code may replace json.dumps and len: that is just what is to be told.
        self.encode, self.length = json.JSONEncoder().encode, len

    def ask(self, number: int) -> None:
        """A request is there. What was kept since the last one is told now."""
        with self.lock:
            self.number, self.is_asked = number, True
            self._tell_kept()

    def send(self, frame: bytes) -> None:
        with self.lock:
            _write(self.descriptor, frame)

    def answer(self, frame: bytes) -> None:
        with self.lock:
            self._tell_kept()
            _write(self.descriptor, frame)
            self.is_asked = False

    def tell(self, attempt: list[str]) -> None:
        """Never waits: it may be called while this very thread sends a frame."""
        self.kept.append(attempt)
        if self.lock.acquire(blocking=False):
            try:
                self._tell_kept()
            finally:
                self.lock.release()

    def _tell_kept(self) -> None:
        while self.is_asked and self.kept:
            text = self.encode({"number": self.number, "attempted": self.kept.popleft()}).encode()
            _write(self.descriptor, protocol.HEADER.pack(self.length(text), 0) + text)


def serve(requests: int, replies: int, layers: dict[str, bool]) -> None:
    """Answers requests until the other side closes. requests, replies: descriptors (they may be the same).

    layers: what holds this process in, said once, before any of the student's code is here.
    """
    # Kept from the student's reach by name only; patching them changes this process, never the verdict.
    pack, unpack, read = protocol.pack_reply, protocol.unpack, _read_frame
    number = 0
    outlet = Outlet(replies)
    worker = Worker(lambda place: outlet.send(pack({"number": number, "at": place}, [])))
    import_stubs.install(worker)
    seen = audit_hook.Attempts(worker.labels, outlet.tell)
    seen.listen()
    outlet.send(pack({"number": 0, "layers": layers, "pid": os.getpid()}, []))
    out, err = sys.stdout, sys.stderr
    while True:
        message, tensors = unpack(*read(requests))
        number = message["number"]
        outlet.ask(number)
        try:
            reply, sent = worker.answer(message, tensors)
        finally:  # also where student code has broken what answers
            with contextlib.suppress(BaseException):
                seen.look()
        for stream in (out, err):
            with contextlib.suppress(BaseException):
                stream.flush()
        try:
            frame = pack({"number": number, **reply}, sent)
        except BaseException as error:  # too large a value, or no memory left to pack it in
            text = (
                f"it gave {error}"
                if isinstance(error, protocol.WireError)
                else f"it gave a result that could not be sent ({type(error).__name__})"
            )
            frame = pack({"number": number, "error": refusal("Unsendable", text)}, [])
        outlet.answer(frame)


def practise() -> None:
    """Serves over standard input and output, in a process started for one submission and not locked in at all."""
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    torch.set_num_threads(1)
    serve(requests, replies, {})
