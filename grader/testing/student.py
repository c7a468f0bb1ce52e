"""Proxies of a submission for the suites: names to call and objects to keep, which a backend runs.

The backend is the client of a student process or, for a trusted implementation, this process.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
import types
import warnings
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NoReturn, Protocol

import numpy
import torch

from grader.sandbox.failures import Failure as Failure  # imported by suites
from grader.sandbox.failures import Raised as Raised
from grader.sandbox.failures import Refused as Refused
from grader.sandbox.replies import values_of
from grader.sandbox.values import TENSORS, Calls, Handle
from grader.sandbox.worker import Worker
from grader.testing.running_test import current_recorder, note_call
from grader.testing.substitutes import MODULE, Substitutes

# Tracebacks end at the line of the test.
__tracebackhide__ = True

NO_SUBSTITUTES = Substitutes()


class RemoteCallable:
    """A callable in the student process. Every method may raise Failure."""

    def __init__(self, backend: Backend, target: tuple[Any, ...]) -> None:
        """Take the name, object or attribute."""
        self._backend = backend
        self._target = target

    def _call(self, operation: str, **details: Any) -> Any:
        note_call(details.get("arguments", ()))
        return self._wrap(self._backend.call(operation, target=self._target, **details))

    def _wrap(self, value: Any) -> Any:
        """Return a value with its handles as objects and its arrays as tensors."""
        if isinstance(value, Handle):
            return RemoteObject(self._backend, value)
        if type(value) in (list, tuple):
            return type(value)(self._wrap(item) for item in value)
        if type(value) is dict:
            return {key: self._wrap(item) for key, item in value.items()}
        if isinstance(value, numpy.ndarray | numpy.generic):
            value = torch.from_numpy(numpy.asarray(value))
            if value.dtype not in TENSORS.values():
                raise Refused(f"It gave a tensor of dtype {value.dtype}.")
        return value

    def _notify(self, operation: str, **details: Any) -> None:
        self._backend.notify(operation, target=self._target, **details)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call it and return the result: a tensor, number or container itself, anything else as a RemoteObject."""
        return self._call("call", arguments=arguments, options=options)

    def repeated(self, times: int, *arguments: Any, **options: Any) -> list[Any]:
        """Call it so many times with the same arguments, and return the results: independent draws, in one request.

        Not for results that are compared with those of other arguments: an answer that knows both could adapt one.
        """
        note_call(arguments)
        details = {"target": self._target, "arguments": arguments, "options": options}
        return [self._wrap(value) for value in self._backend.repeat(times, "call", **details)]

    def draws(self, times: int, *arguments: Hashable) -> list[Any]:
        """Return the results of so many calls with the same arguments, like `repeated`.

        Tests of one submission that ask for the same calls share their results: draws that are independent of each
        other are as good for a second test. They do not depend on the test that asks first.
        """
        note_call(arguments)
        draws, calls = self._backend.draws, (self._target, times, arguments)
        if calls not in draws:
            self._backend.notify("seed", seed=random.Random(repr(calls)).getrandbits(48))
            draws[calls] = self.repeated(times, *arguments)
        return draws[calls]

    def with_arguments(self, *arguments: Any) -> tuple[Any, tuple[Any, ...]]:
        """Call it and return the result, and the arguments after the call."""
        match self._call("call", arguments=arguments, options={}, arguments_after=True):
            case (result, tuple(after)) if len(after) == len(arguments):
                return result, after
        raise Refused(ODD_REPLY)

    def gradients(self, *arguments: Any) -> tuple[Any, dict[str, torch.Tensor | None]]:
        """Call it and return the result, and the gradients of its sum weighted by `values.cotangent`.

        The keys are the positions of tensor arguments ("0", "1", …) and the names of parameters. The gradient of a
        tensor on which the result does not depend is None.
        """
        match self._call("gradients", arguments=arguments, options={}):
            case (result, dict(found)):
                named_tensors({name: value for name, value in found.items() if value is not None})
                return result, NamedTensors(found)
        raise Refused(ODD_REPLY)

    def torch_functions(self, *arguments: Any) -> list[str]:
        """Return the names of torch's functions and methods that a call uses."""
        names = self._call("torch_functions", arguments=arguments)
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


class RemoteObject(RemoteCallable, Handle):
    """An object in the student process, made by the student's code or the worker.

    Special methods work too: `numbers.method("__next__")()` is the next value of a generator.
    """

    def __init__(self, backend: Backend, handle: Handle) -> None:
        """Take the object's handle."""
        Handle.__init__(self, handle.number, handle.kinds)
        RemoteCallable.__init__(self, backend, (handle,))

    def get(self, name: str) -> Any:
        """Return an attribute's value."""
        return self.attributes(name)[0]

    def attributes(self, *names: str) -> list[Any]:
        """Return the values of attributes."""
        match self._wrap(self._backend.call("attributes", target=self._target, names=list(names))):
            case list(values) if len(values) == len(names):
                return values
        raise Refused(ODD_REPLY)

    def method(self, name: str) -> RemoteCallable:
        """Return a method, to call."""
        return RemoteCallable(self._backend, (*self._target, name))

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return every registered parameter by its name, with its `requires_grad`."""
        found = self._call("parameters")
        pairs = found if isinstance(found, dict) else {"": found}
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs.values()):
            raise Refused(ODD_REPLY)
        flags = {name: flag is True for name, (_, flag) in pairs.items()}
        values = named_tensors({name: value for name, (value, _) in pairs.items()})
        return NamedTensors({name: value.requires_grad_(flags[name]) for name, value in values.items()})

    def set(self, values: dict[str, torch.Tensor], optional: Mapping[str, torch.Tensor | float] | None = None) -> None:
        """Copy values into parameters and buffers of these names and shapes.

        optional: values of parameters that may be missing. A number fills the parameter, whatever its shape is.
        """
        self._notify("set_tensors", values=values, optional=dict(optional or {}))

    def train(self) -> None:
        """Put the module into training mode."""
        self._set_mode(is_in_training=True)

    def eval(self) -> None:
        """Put the module into evaluation mode."""
        self._set_mode(is_in_training=False)

    def _set_mode(self, is_in_training: bool) -> None:
        current_recorder().is_in_training = is_in_training
        self._notify("train", mode=is_in_training)

    def to(self, dtype: torch.dtype) -> None:
        """Convert the module's parameters to a dtype."""
        self._notify("to", dtype=dtype)

    def state(self) -> torch.Tensor:
        """Return the state of a torch.Generator."""
        tensor: torch.Tensor = named_tensors({"state": self._call("generator_state")})["state"]
        return tensor


class Student:
    """A submission's unit: each of its names is an attribute to call.

    Arguments and results may be None, bools, numbers, text, bytes, tensors, numpy arrays and numbers, and lists,
    tuples, dicts, sets and frozensets of these. Any other result is a RemoteObject. No exercise of the course has the
    name of a method of this class.
    """

    def __init__(self, backend: Backend, unit: str, substitutes: Substitutes = NO_SUBSTITUTES) -> None:
        """Take the backend of the unit's code, and the substitutes for answers to other exercises."""
        self._backend = backend
        self._numbers = itertools.count(-1, -1)  # of the objects that the worker makes; other objects have others
        self._unit = unit
        self._substitutes = substitutes
        # The exercises that are patched; those whose substitutes were called; those used for an expected value.
        self.patched: set[str] = set()
        self.called: frozenset[str] = frozenset()
        self.expected: set[str] = set()

    def __getattr__(self, name: str) -> RemoteCallable:
        """Return one of the unit's names, to call."""
        if name.startswith("__"):
            raise AttributeError(name)
        return RemoteCallable(self._backend, (self._unit, name))

    def queue(self, name: str, *arguments: Any, **options: Any) -> RemoteObject:
        """Queue a call of one of the unit's names, and return the object that it will give.

        The call is made with the next request, which raises its error if it fails. So a test must not end with it.
        """
        note_call(arguments)
        return self._object("keep", target=(self._unit, name), arguments=arguments, options=options)

    def make(self, name: str, *arguments: Any, **options: Any) -> RemoteObject:
        """Make one of torch.nn's modules, of the toolbox or of the substitutes, to use as an argument."""
        if name in self._substitutes:
            self._upload(name)
        return self._object("make", name=name, arguments=arguments, options=options)

    def generator(self, seed: int) -> RemoteObject:
        """Make a torch.Generator, to use as an argument."""
        return self._object("generator", seed=seed)

    def _object(self, operation: str, **details: Any) -> RemoteObject:
        made = Handle(next(self._numbers))
        self._backend.notify(operation, number=made.number, **details)
        return RemoteObject(self._backend, made)

    @contextlib.contextmanager
    def substituted(self, *exercises: str) -> Iterator[None]:
        """Replace the student's answers to these exercises by substitutes inside the block.

        Afterwards `called` holds the exercises whose substitutes were called.
        """
        self._upload(*exercises)
        self._backend.notify("patch", exercises=list(exercises))
        self.patched.update(exercises)
        try:
            yield
        finally:
            self.patched.difference_update(exercises)
            # If the process has ended, nothing is patched any more, and what was called is unknown.
            with contextlib.suppress(Failure):
                called = self._backend.call("unpatch")
                names = called if isinstance(called, list) else []
                self.called = frozenset(name for name in names if isinstance(name, str))

    def _upload(self, *exercises: str) -> None:
        self._backend.notify("upload", name=MODULE, source=self._substitutes.source_up_to(exercises))

    def substitute(self, exercise: str, right: Any) -> Any:
        """Return what an expected value is made with: `right`, or the substitute if the exercise is patched."""
        if exercise not in self.patched or exercise not in self._substitutes:
            return right
        self.expected.add(exercise)
        return self._substitutes[exercise]

    def seed(self, seed: int) -> None:
        """Seed every global random state of the backend."""
        self._backend.notify("seed", seed=seed)


# -- checked replies ---------------------------------------------------------------------------------------------

ODD_REPLY = "The student process sent a malformed reply."


class NamedTensors(dict[str, Any]):
    """Tensors by name. Asking for one that is missing raises Refused."""

    def __missing__(self, name: str) -> NoReturn:
        raise Refused(f"There is no {name}.")


def named_tensors(found: Any) -> NamedTensors:
    """Check that these are tensors by name. Raises Refused."""
    if isinstance(found, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in found.items()
    ):
        return NamedTensors(found)
    raise Refused(ODD_REPLY)


# -- backends ----------------------------------------------------------------------------------------------------


class Backend(Protocol):
    """Runs operations: the client of a student process, or a trusted implementation in this process.

    Attributes:
        draws: The results of calls that tests share, by the call.
    """

    draws: dict[Any, list[Any]]

    def call(self, operation: str, **details: Any) -> Any:
        """Return the value of one operation. Raises Failure if there is none."""

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        """Return the values of an operation that is done so many times. Raises Failure if one has none."""

    def notify(self, operation: str, **details: Any) -> None:
        """Add an operation without a value to the next call."""

    def forget(self) -> None:
        """Drop the operations that wait for the next call."""

    def load(self, unit: str) -> None:
        """Run a unit's source, if that is not done yet."""


class InProcessBackend:
    """Runs a trusted implementation in this process: a misconception or a solution."""

    def __init__(self, unit: str, names: dict[str, Any], worker: Worker | None = None) -> None:
        """Take the names that the unit defines, and the worker if it is a special one."""
        self.worker = worker or Worker()
        module = self.worker.units.modules[unit] = types.ModuleType(unit)
        module.__dict__.update(names)
        self.draws: dict[Any, list[Any]] = {}
        self.forget()
        self.worker.elsewhere = [found for value in names.values() for found in _globals(value)]

    def load(self, unit: str) -> None:
        """Do nothing: the unit's names are given."""

    def notify(self, operation: str, **details: Any) -> None:
        """Add an operation without a value to the next call."""
        self.waiting.add(operation, **details)

    def forget(self) -> None:
        """Drop the operations that wait for the next call."""
        self.waiting = Calls()

    def call(self, operation: str, **details: Any) -> Any:
        """Return the value of one operation. Raises Failure if there is none."""
        [value] = self.repeat(1, operation, **details)
        return value

    def repeat(self, times: int, operation: str, **details: Any) -> list[Any]:
        """Encode and decode as the sandbox client does, so that both give the same values."""
        self.notify(operation, **details)
        calls = self.waiting
        self.forget()
        with warnings.catch_warnings(action="ignore"):  # as in a student process
            answers = list(self.worker.answers(calls.request(times=times), calls.data))
        return [value for answer in answers for value in values_of(answer.reply, answer.data)]


def _globals(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the global namespaces of a function, or of the methods and nested classes of a class."""
    for function in (value, *vars(value).values()) if isinstance(value, type) else (value,):
        if isinstance(function, types.FunctionType):
            yield function.__globals__
        elif isinstance(function, type) and function.__module__ in sys.modules:
            yield vars(sys.modules[function.__module__])
