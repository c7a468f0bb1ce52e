"""The worker of a student process: holds the student's modules and objects, and answers requests about them.

It decides nothing: the process contains no expected value, no suite and no solution. On the trusted side, a `Worker`
also runs misconceptions and solutions.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from time import monotonic  # by name, because student code may replace what the module contains
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from grader.sandbox.protocol import MAX_KINDS, MAX_TEXT, Error, Failed, Progress, ProtocolError, Reply, Request, cut
from grader.sandbox.units import SETTINGS, Units, describe
from grader.sandbox.values import Decoder, Encoder, Handle, cotangent

# Modules and factories that the student process makes, as arguments for exercises that take a module. With these, the
# tests of such an exercise do not depend on the answer to another exercise. Student code can read them, so none may
# contain anything that an exercise asks for.


class Holder(nn.Module):
    """Holds tensors (as parameters) and modules under the names of the arguments; its forward mixes them.

    Its members come from outside, so it is not an answer to any exercise. Maps x (…, d_in) to the sum of n·y + y² over
    its members, where y is x @ tensor or module(x) and n counts from 1, so that each member has a different effect.
    """

    def __init__(self, **members: torch.Tensor | nn.Module) -> None:
        super().__init__()
        self.names = tuple(members)
        for name, member in members.items():
            setattr(self, name, nn.Parameter(member) if isinstance(member, torch.Tensor) else member)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of n·y + y² over the members."""
        members = (getattr(self, name) for name in self.names)
        parts = [x @ member if isinstance(member, torch.Tensor) else member(x) for member in members]
        return torch.stack([number * part + part * part for number, part in enumerate(parts, start=1)]).sum(dim=0)


class TokenMixer(nn.Module):
    """Maps (B, T, C) to the same shape: adds to each token the mean over all tokens of its sequence."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return each token plus the mean over all tokens."""
        return x + x.mean(dim=-2, keepdim=True)


class PositionWise(nn.Module):
    """Maps (…, C) to the same shape, each position independently: a square and a shift."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x² + 1."""
        return x * x + 1


class CountingFactory:
    """A callable without arguments that returns another module each time and counts its calls.

    First it returns its arguments in order, then a new PositionWise each time.
    """

    __module__, __qualname__ = "builtins", "function"  # what torch's errors call it: learners are given a function

    def __init__(self, *modules: nn.Module) -> None:
        self.modules = modules
        self.calls = 0

    def __call__(self) -> nn.Module:
        """Return the next module."""
        self.calls += 1
        return self.modules[self.calls - 1] if self.calls <= len(self.modules) else PositionWise()


MODULES: dict[str, type] = {kind.__name__: kind for kind in (Holder, TokenMixer, PositionWise, CountingFactory)}
UNBOUND = object()


# Values of repeated calls are sent together until there are so many, with those inside them, or so many bytes of
# tensors, or until so much time has passed. Far less than a reply may have, because the next value may be large.
TOGETHER, TOGETHER_BYTES, TOGETHER_SECONDS = 500, 2**20, 0.05


class Answer(NamedTuple):
    """A reply, the bytes of its tensors, and whether it is the last one to its request."""

    reply: Reply | Error
    data: bytes | bytearray = b""
    is_last: bool = True


class Unsupported(Exception):
    """The student's object lacks what the request needs: a text that says what, and the object's class if it helps."""


class Undefined(Exception):
    """The student's module does not define the name."""


def refusal(number: int, kind: str, text: str, *about: str) -> Error:
    """Return an error of the worker itself, about an object of a class, in the form of those of student code."""
    return Error(number, cut((kind, *about)), text[:MAX_TEXT])


class Worker:
    """Answers one request at a time. Each call names an operation, which is a method `do_…`."""

    def __init__(self, notify: Callable[[Progress], None] = lambda _: None) -> None:
        self.units = Units(notify)
        self.held: dict[int, Any] = {}
        self.numbers = itertools.count()
        self.substitutes: dict[str, Any] = {}  # by exercise
        # Other namespaces than the units' modules, in which trusted code looks for exercises.
        self.elsewhere: list[dict[str, Any]] = []
        # What substitutes replaced, a list for each `patch`: the namespace, the name, and its earlier value.
        self._replaced: list[list[tuple[dict[str, Any], str, Any]]] = []
        self._called: set[str] = set()
        self.operations = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def answers(self, request: Request, data: bytes | bytearray) -> Iterator[Answer]:
        """Make the request's calls, and yield what to reply: the values of the last call, or the first error.

        Each repetition gets arguments of its own. The values of quick ones are sent together.
        """
        decoder = Decoder(data, lambda handle: self.held[handle.number])
        calls, begin = request.calls, 0
        encoder, values, due = Encoder(self.hold), list[Any](), monotonic() + TOGETHER_SECONDS
        for left in range(request.times - 1, -1, -1):
            decoder.place = begin
            try:
                value = None
                for operation, details in calls:
                    begin = decoder.place
                    arguments = {name: decoder.decode(one) for name, one in details.items()}
                    value = self.operations[operation](**arguments)
                values.append(encoder.encode(value))
            except BaseException as error:  # noqa: BLE001 - student code raises what it likes
                if values:
                    yield Answer(Reply(request.number, values), encoder.data, False)
                yield Answer(self._failure(error)._replace(number=request.number))
                return
            if not left or encoder.count > TOGETHER or len(encoder.data) > TOGETHER_BYTES or monotonic() > due:
                yield Answer(Reply(request.number, values), encoder.data, not left)
                encoder, values, due = Encoder(self.hold), [], monotonic() + TOGETHER_SECONDS
            calls = calls[-1:]

    def _failure(self, error: BaseException) -> Error:
        match error:
            case ProtocolError():
                return refusal(0, "Unsendable", f"it gave {error}")
            case Unsupported() | Undefined():
                return refusal(0, type(error).__name__, *error.args)
        return self.describe(error)

    def describe(self, error: BaseException) -> Error:
        """Describe an error of student code."""
        return describe(error, self.units.labels)

    def hold(self, value: Any) -> Handle:
        """Keep `value` here and return a handle by which requests can refer to it."""
        number = next(self.numbers)
        self.held[number] = value
        kinds = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__)
        return Handle(number, cut(kinds, MAX_KINDS))

    # -- the student's modules ------------------------------------------------------------------------------

    def do_begin(self, sources: dict[str, dict[str, Any]]) -> None:
        """Set the units' sources."""
        self.units.sources = sources

    def do_load(self, unit: str) -> list[Failed]:
        """Run a unit's source, once. Return the statements that failed."""
        self.units.module(unit)
        return self.units.failures[unit]

    def do_use_settings(self, undone: list[str]) -> None:
        """Use torch's settings as the units have left them, but these as they were before."""
        for name, value in {**self.units.known, **{name: self.units.original[name] for name in undone}}.items():
            SETTINGS[name].set(value)

    # -- operations on the student's names and objects ------------------------------------------------------

    def do_call(
        self, target: Any, arguments: tuple[Any, ...], options: dict[str, Any], arguments_after: bool = False
    ) -> Any:
        """Call `target`. With `arguments_after`, return the result and the arguments as they are after the call."""
        result = self.resolve(target)(*arguments, **options)
        return (result, arguments) if arguments_after else result

    def do_keep(self, number: int, target: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Call `target`, and hold the result by this number."""
        self.held[number] = self.do_call(target, arguments, options)

    def resolve(self, target: Any) -> Any:
        """Return a name of a unit for ("unit", "name"), an attribute for (object, "name"), the object for (object,)."""
        owner, *names = target
        if isinstance(owner, str):
            module = self.units.module(owner)
            if names[0] not in module.__dict__:
                raise Undefined(f"{names[0]} is not defined")
            return module.__dict__[names[0]]
        for name in names:
            owner = getattr(owner, name)
        return owner

    def do_attributes(self, target: Any, names: list[str]) -> list[Any]:
        """Return attributes by their names."""
        value = self.resolve(target)
        return [getattr(value, name) for name in names]

    def do_parameters(self, target: Any) -> dict[str, tuple[torch.Tensor, bool]]:
        """Return every registered parameter by name: its value and whether it requires gradients."""
        return {name: (value, value.requires_grad) for name, value in self._module(target).named_parameters()}

    def _module(self, target: Any) -> nn.Module:
        value = self.resolve(target)
        if not isinstance(value, nn.Module):
            kind = "class that is not called" if isinstance(value, type) else type(value).__name__
            raise Unsupported(f"it is a {kind}, not an nn.Module")
        return value

    def do_set_tensors(
        self, target: Any, values: dict[str, torch.Tensor], optional: dict[str, torch.Tensor | float]
    ) -> None:
        """Copy values into parameters and buffers, by name. An optional number fills a parameter."""
        module = self._module(target)
        # A parameter may have two names, as in `self.query = self.W_query`, but not two values.
        parameters = dict(module.named_parameters(remove_duplicate=False))
        named, names, kind = {**dict(module.named_buffers()), **parameters}, dict[int, str](), type(module).__name__
        for name, given in optional.items():
            if name in parameters and name not in values:
                values[name] = torch.full_like(parameters[name], given) if isinstance(given, float) else given
        for name, value in values.items():
            if name not in named:
                raise Unsupported(f"there is no registered parameter {name}", kind)
            if (other := names.setdefault(id(named[name]), name)) != name:
                raise Unsupported(f"the names {other} and {name} belong to one parameter, but each needs its own", kind)
            if named[name].shape != value.shape:
                found, wanted = tuple(named[name].shape), tuple(value.shape)
                raise Unsupported(f"the shape of {name} should be {wanted}, yours is {found}", kind)
            with torch.no_grad():
                named[name].copy_(value)

    def do_train(self, target: Any, mode: bool) -> None:
        """Set training or evaluation mode."""
        self._module(target).train(mode)

    def do_to(self, target: Any, dtype: torch.dtype) -> None:
        """Convert parameters to a dtype."""
        self._module(target).to(dtype)

    def do_gradients(self, target: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Return the result, and the gradients of its weighted sum with respect to tensor arguments and parameters.

        The gradient of a tensor that does not affect the result is None.
        """
        function = self.resolve(target)
        leaves = [
            one.detach().requires_grad_() if isinstance(one, torch.Tensor) and one.is_floating_point() else one
            for one in arguments
        ]
        parameters = function.named_parameters(remove_duplicate=False) if isinstance(function, nn.Module) else ()
        result = function(*leaves, **options)
        outputs = result if isinstance(result, tuple | list) else (result,)
        total = sum(
            (output * cotangent(output.shape, output.dtype)).sum()
            for output in outputs
            if isinstance(output, torch.Tensor) and output.is_floating_point()
        )
        named = {str(n): leaf for n, leaf in enumerate(leaves)} | dict(parameters)
        wanted = {name: one for name, one in named.items() if isinstance(one, torch.Tensor) and one.requires_grad}
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            raise Unsupported("no gradient flows through it")
        found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        return result, dict(zip(wanted, found, strict=True))

    def do_torch_functions(self, target: Any, arguments: tuple[Any, ...]) -> list[str]:
        """Return the names of the torch functions and methods that a call uses."""
        with _Listening() as listening:
            self.resolve(target)(*arguments)
        return sorted(listening.names)

    # -- substitutes for the exercises that an answer calls -------------------------------------------------

    def do_prepare(self, seed: int) -> None:
        """Begin a test: with the student's own names, random states from this seed, and no held objects."""
        self.held.clear()
        while self._replaced:
            self.do_unpatch()
        self.do_seed(seed)

    def do_upload(self, name: str, source: str) -> None:
        """Define substitutes: the names of a module with this name and source.

        Before they are sent, there is nothing that student code could copy.
        """
        self.substitutes = _defined(name, source)

    def do_patch(self, exercises: list[str]) -> None:
        """Bind the names of exercises to their substitutes, in every unit that is loaded, even where one lacks them."""
        self._replaced.append([])
        self._called.clear()
        namespaces = [module.__dict__ for module in self.units.modules.values()] + self.elsewhere
        for exercise in exercises:
            substitute = self._recorded(exercise)
            for names in namespaces:
                self._replaced[-1].append((names, exercise, names.get(exercise, UNBOUND)))
                names[exercise] = substitute

    def do_unpatch(self) -> list[str]:
        """Undo the last `patch`. Return the exercises whose substitutes were called since then."""
        for names, exercise, before in reversed(self._replaced.pop() if self._replaced else []):
            if before is UNBOUND:
                names.pop(exercise, None)
            else:
                names[exercise] = before
        return sorted(self._called)

    def _recorded(self, exercise: str) -> Any:
        """Return an exercise's substitute, which records calls. If there is none, a call raises an error."""
        substitute = self.substitutes.get(exercise)

        def function(*arguments: Any, **options: Any) -> Any:
            self._called.add(exercise)
            if substitute is None:
                raise NotImplementedError  # without a message: the student is not missing anything
            return substitute(*arguments, **options)

        return function

    def do_make(self, number: int, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Make an object and hold it by this number: by a substitute, or as one of MODULES or of torch's modules."""
        make = self.substitutes.get(name) or MODULES.get(name) or getattr(nn, name)
        self.held[number] = make(*arguments, **options)

    def do_generator(self, number: int, seed: int) -> None:
        """Make a torch.Generator with this seed, and hold it by this number."""
        self.held[number] = torch.Generator().manual_seed(seed)

    def do_generator_state(self, target: Any) -> torch.Tensor:
        """Return a torch.Generator's state."""
        state: torch.Tensor = self.resolve(target).get_state()
        return state

    def do_seed(self, seed: int) -> None:
        """Seed every global random generator: forks share one state, so each test sets its own."""
        # Not torch.manual_seed: it collects three stack traces at each call, for devices that do not exist.
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        numpy.random.seed(seed % 2**32)


@functools.cache
def _defined(name: str, source: str) -> dict[str, Any]:
    """Return the names that a module with this name and source defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), names)
    return names


class _Listening(TorchFunctionMode):
    """Records the names of the torch functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(
        self, function: Any, _types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        self.names.add(str(getattr(function, "__name__", function)))
        return function(*arguments, **options or {})
