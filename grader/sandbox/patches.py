"""The substitutes for exercises in a student process: bound to the exercises' names, and undone after a test."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

UNBOUND = object()


class Patches:
    """The names that are bound to substitutes.

    Attributes:
        substitutes: The substitutes by exercise, after they were defined.
        elsewhere: Other namespaces than the units' modules, in which trusted code looks for exercises.
    """

    def __init__(self) -> None:
        self.substitutes: dict[str, Any] = {}
        self.elsewhere: list[dict[str, Any]] = []
        # What substitutes replaced, a list for each `patch`: the namespace, the name, and its earlier value.
        self._replaced: list[list[tuple[dict[str, Any], str, Any]]] = []
        self._called: set[str] = set()

    def define(self, name: str, source: str) -> None:
        """Define substitutes: the names of a module with this name and source."""
        self.substitutes = _defined(name, source)

    def patch(self, exercises: Iterable[str], modules: Iterable[ModuleType]) -> None:
        """Bind the names of these exercises to their substitutes in these modules, even where a module lacks them."""
        replaced: list[tuple[dict[str, Any], str, Any]] = []
        self._replaced.append(replaced)
        self._called.clear()
        namespaces = [module.__dict__ for module in modules] + self.elsewhere
        for exercise in exercises:
            substitute = self._recorded(exercise)
            for names in namespaces:
                replaced.append((names, exercise, names.get(exercise, UNBOUND)))
                names[exercise] = substitute

    def unpatch(self) -> list[str]:
        """Undo the last `patch`. Return the exercises whose substitutes were called since then."""
        for names, exercise, before in reversed(self._replaced.pop() if self._replaced else []):
            if before is UNBOUND:
                names.pop(exercise, None)
            else:
                names[exercise] = before
        return sorted(self._called)

    def undo(self) -> None:
        """Undo every `patch`."""
        while self._replaced:
            self.unpatch()

    def _recorded(self, exercise: str) -> Any:
        """Return an exercise's substitute, which records calls. If there is none, a call raises an error."""
        substitute = self.substitutes.get(exercise)

        def function(*arguments: Any, **options: Any) -> Any:
            self._called.add(exercise)
            if substitute is None:
                raise NotImplementedError  # without a message: the student is not missing anything
            return substitute(*arguments, **options)

        return function


@functools.cache
def _defined(name: str, source: str) -> dict[str, Any]:
    """Return the names that a module with this name and source defines."""
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), names)
    return names
