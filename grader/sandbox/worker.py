"""The student process: holds the student's modules and objects, and answers requests about them.

Nothing here decides anything. The process has no expected value, no suite and no solution in it, and whatever it
answers is checked on the other side. `Worker` is also what runs a misconception on the trusted side.
"""

from __future__ import annotations

import functools
import itertools
import random
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch.overrides import TorchFunctionMode

from grader.sandbox import protocol, toolbox
from grader.sandbox.bounds import ProtocolError
from grader.sandbox.messages import MAX_KINDS, MAX_TEXT, Error, Failed, Progress, Reply, Request, cut
from grader.sandbox.units import Units, describe
from grader.sandbox.values import Handle, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable

UNBOUND = object()


class Unsupported(Exception):
    """The student's object does not have what the request needs; the text says what, in plain words."""


class Undefined(Exception):
    """The student's module has no such name."""


def refusal(number: int, kind: str, text: str) -> Error:
    """Return an error of the worker's own, in the form of those that student code raises."""
    return Error(number, (kind,), text[:MAX_TEXT])


class Worker:
    """Answers one request at a time. Its calls name operations, and each operation is a method `do_…`."""

    def __init__(self, notify: Callable[[Progress], None] = lambda _: None) -> None:
        self.units = Units(notify)
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

    def answer(self, request: Request, tensors: list[torch.Tensor]) -> tuple[Reply | Error, list[torch.Tensor]]:
        """Return the value of the request's last call, or the first error, and the tensors that go with it."""
        number, sent = request.number, list[torch.Tensor]()
        try:
            value = None
            for operation, details in request.calls:
                decoded = {
                    name: decode(one, tensors, lambda handle: self.held[handle.number]) for name, one in details.items()
                }
                value = self.operations[operation](**decoded)
            return Reply(number, encode(value, sent, self.hold)), sent
        except ProtocolError as error:
            return refusal(number, "Unsendable", f"it gave {error}"), []
        except (Unsupported, Undefined) as error:
            return refusal(number, type(error).__name__, str(error)), []
        except BaseException as error:  # noqa: BLE001 - student code raises what it likes
            return describe(error, self.units.labels)._replace(number=number), []

    def hold(self, value: Any) -> Handle:
        """Keep `value` here and return the handle by which requests may name it."""
        number = next(self.numbers)
        self.held[number] = value
        kinds = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__)
        return Handle(number, cut(kinds, MAX_KINDS))

    # -- the student's modules ------------------------------------------------------------------------------

    def do_begin(self, sources: dict[str, dict[str, Any]]) -> None:
        """Take the units' sources."""
        self.units.sources = sources

    def do_load(self, unit: str) -> list[Failed]:
        """Run a unit's source, once. Return the statements that failed."""
        self.units.module(unit)
        return self.units.failures[unit]

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
            module = self.units.module(owner)
            if names[0] not in module.__dict__:
                raise Undefined(f"{names[0]} is not defined")
            return module.__dict__[names[0]]
        for name in names:
            owner = getattr(owner, name)
        return owner

    def do_take(
        self, target: Any, count: int, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[list[Any], bool]:
        """Call `target` and return the first values of what it gives, and whether there is at least one more."""
        result = self.resolve(target)(*arguments, **options)
        if not hasattr(type(result), "__iter__"):
            raise Unsupported(f"it gave a {type(result).__name__}, which has no values to take one by one")
        values = iter(result)
        taken = list(itertools.islice(values, count))
        return taken, len(taken) == count and next(values, UNBOUND) is not UNBOUND

    def do_get(self, target: Any) -> Any:
        """Return an attribute."""
        return self.resolve(target)

    def do_parameters(self, target: Any) -> dict[str, tuple[torch.Tensor, bool]]:
        """Every registered parameter by name: its value and whether it requires gradients."""
        return {name: (value, value.requires_grad) for name, value in self._module(target).named_parameters()}

    def do_buffers(self, target: Any) -> dict[str, torch.Tensor]:
        """Return every registered buffer by name."""
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
        """Set training or evaluation mode."""
        self._module(target).train(mode)

    def do_to(self, target: Any, dtype: torch.dtype) -> None:
        """Convert parameters to a dtype."""
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
            for names in [module.__dict__ for module in self.units.modules.values()] + self.elsewhere:
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
        """Make a substitute, or what the toolbox has under this name."""
        return self.substitutes.get(name, functools.partial(toolbox.make, name))(*arguments, **options)

    def do_generator(self, seed: int) -> torch.Generator:
        """Make a torch.Generator with this seed."""
        return torch.Generator().manual_seed(seed)

    def do_generator_state(self, target: Any) -> torch.Tensor:
        """Return a torch.Generator's state."""
        state: torch.Tensor = self.resolve(target).get_state()
        return state

    def do_seed(self, seed: int) -> None:
        """Every global source of randomness: forks share one state, so each test begins from its own."""
        # Not torch.manual_seed: for devices that are not there it takes down three stack traces at every call.
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
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
