"""Backends: run what the suites call, in a student process or, if it is trusted, in this process."""

from __future__ import annotations

import sys
import types
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from grader.sandbox import protocol
from grader.sandbox.replies import values_of
from grader.sandbox.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        self.worker.patches.elsewhere = [found for value in names.values() for found in _globals(value)]

    def load(self, unit: str) -> None:
        """Do nothing: the unit's names are given."""

    def notify(self, operation: str, **details: Any) -> None:
        """Add an operation without a value to the next call."""
        self.waiting.add(operation, **details)

    def forget(self) -> None:
        """Drop the operations that wait for the next call."""
        self.waiting = protocol.Calls()

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
