"""What answers the suites: a student's process by way of its client, or what is trusted in this process."""

from __future__ import annotations

import sys
import types
import warnings
from typing import TYPE_CHECKING, Any, Protocol

from grader.sandbox import protocol
from grader.sandbox.replies import value_of
from grader.sandbox.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator


class Backend(Protocol):
    """What answers requests: the client of a student process, or a trusted implementation in this process."""

    def call(self, operation: str, **details: Any) -> Any:
        """Return the value of one operation. Raises Failure where there is none."""

    def notify(self, operation: str, **details: Any) -> None:
        """Ask for an operation without a value, together with the next one that has one."""

    def forget(self) -> None:
        """Drop the operations that wait for the next one with a value."""

    def load(self, unit: str) -> None:
        """Run a unit's source, where that is not done yet."""


class InProcessBackend:
    """Answers for an implementation that is trusted and needs no process of its own: a misconception, a solution."""

    def __init__(self, unit: str, names: dict[str, Any]) -> None:
        """Take the names that the unit defines."""
        self.worker = Worker()
        module = self.worker.units.modules[unit] = types.ModuleType(unit)
        module.__dict__.update(names)
        self.forget()
        self.worker.elsewhere = [found for value in names.values() for found in _globals(value)]

    def load(self, unit: str) -> None:
        """Do nothing: what the unit defines is given."""

    def notify(self, operation: str, **details: Any) -> None:
        """Ask for an operation without a value, together with the next one that has one."""
        self.waiting.add(operation, **details)

    def forget(self) -> None:
        """Drop the operations that wait for the next one with a value."""
        self.waiting = protocol.Calls()

    def call(self, operation: str, **details: Any) -> Any:
        """Encode as the sandbox client does, so that both see the same values."""
        self.notify(operation, **details)
        calls = self.waiting
        self.forget()
        with warnings.catch_warnings(action="ignore"):  # as in a student process, where they are no errors
            reply, received = self.worker.answer(calls.request(), calls.tensors)
        return value_of(reply, received)


def _globals(value: Any) -> Iterator[dict[str, Any]]:
    """Where a function, or the methods of a class, look for what is not their own."""
    for function in (value, *vars(value).values()) if isinstance(value, type) else (value,):
        if isinstance(function, types.FunctionType):
            yield function.__globals__
        elif isinstance(function, type) and function.__module__ in sys.modules:
            yield vars(sys.modules[function.__module__])
