"""The student's units in the student process: each runs once, piece by piece, and can be imported by the others."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import TYPE_CHECKING, Any

from grader.sandbox import loader, settings
from grader.sandbox.errors import describe
from grader.sandbox.messages import MAX_FAILURES, MORE, Failed, Progress, cut
from grader.sandbox.statements import does_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.sandbox.statements import Piece


class Units:
    """The units of a submission. A unit runs when it is first used, or imported by another."""

    def __init__(self, notify: Callable[[Progress], None]) -> None:
        """Make an empty collection. `notify` is called before each piece of a unit runs."""
        self.notify = notify
        self.sources: dict[str, dict[str, Any]] = {}
        self.modules: dict[str, types.ModuleType] = {}
        self.failures: dict[str, list[Failed]] = {}
        self.original = self.known = settings.current(settings.SETTINGS.keys() - {settings.PARTS})
        self.labels: set[str] = set()  # what tracebacks call the student's own sources

    def module(self, unit: str) -> types.ModuleType:
        """Return a unit's module. It runs the first time."""
        if unit in self.modules:
            return self.modules[unit]
        source = self.sources[unit]
        module = self.modules[unit] = types.ModuleType(unit)
        module.__file__ = source["filename"]
        sys.modules[unit] = module
        failures = self.failures[unit] = []
        skipped = {tuple(place) for place in source["skip"]}
        self.labels.update(source["labels"])
        if settings.PARTS not in self.original and any(map(settings.MAY_REPLACE.search, source["cells"])):
            parts = settings.current([settings.PARTS])
            self.original, self.known = self.original | parts, self.known | parts
        place = (0, 0)
        changes: dict[str, tuple[int, int]] = {}
        # By statement, the functions and classes whose names it takes; and the statement of each failure.
        earlier: dict[tuple[int, int], dict[str, Any]] = {}
        places: list[tuple[int, int]] = []
        most = MAX_FAILURES - len(settings.SETTINGS) - 1
        more: list[tuple[int, Piece, bool]] = []

        def note_settings() -> None:
            # An imported unit has noted its own.
            before, self.known = self.known, settings.current(self.original)
            changes.update({name: place for name, value in self.known.items() if value != before[name]})

        def before(cell: int, piece: Piece) -> bool:
            nonlocal place
            note_settings()
            place = cell, piece.line
            if (cell, piece.line) in skipped or (source["is_brief"] and does_only(piece)):
                return False
            values = {name: module.__dict__.get(name) for name in piece.names}
            earlier[cell, piece.line] = {name: value for name, value in values.items() if callable(value)}
            self.notify(Progress(0, unit, cell, piece.line, cut(piece.names)))
            return True

        def failed(cell: int, piece: Piece, error: BaseException) -> None:
            if len(failures) == most:  # a file that is not Python has one for each line
                more.append((cell, piece, isinstance(error, loader.Remark)))
                return
            remark = error if isinstance(error, loader.Remark) else None
            described, label = describe((remark and remark.error) or error, self.labels), source["labels"][cell]
            # Its own line, and not one of a function that it calls.
            own = dict(described.trace[:1]).get(label)
            line = own or described.line or piece.line
            one = Failed(cut(piece.names), (), described.types, described.text, line, label)
            if remark:
                one = one._replace(types=(remark.kind,), text=one.text if remark.error else "", line=own or remark.line)
                if remark.error and (one.types, one.text) in [(other.types, other.text) for other in failures]:
                    return  # many functions have the same annotations
            failures.append(one._replace(trace=described.trace))
            places.append((cell, piece.line))

        loader.run(source["cells"], source["labels"], module, source["is_notebook"], before, failed)
        note_settings()
        failures[:] = [
            one._replace(kept=_still_there(module, earlier[cell, line]))
            for one, (cell, line) in zip(failures, places, strict=True)
        ]
        failures += [*_more(more, source["labels"]), *self._remarks(changes, source["labels"])]
        return module

    def _remarks(self, changes: dict[str, tuple[int, int]], labels: list[str]) -> list[Failed]:
        """Return a remark for each setting of torch that is still changed, by the place that changed it."""
        still = {name: place for name, place in changes.items() if self.known[name] != self.original[name]}
        return [Failed((), (), (name,), "", line, labels[cell]) for name, (cell, line) in still.items()]

    # -- an import finder and loader: a unit may import the others by name ----------------------------------

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find a unit."""
        return importlib.machinery.ModuleSpec(name, self) if name in self.sources else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the unit's module, which has run."""
        return self.module(spec.name)

    def exec_module(self, _: types.ModuleType) -> None:
        """Do nothing: it has run."""


def _more(more: list[tuple[int, Piece, bool]], labels: list[str]) -> list[Failed]:
    """Return one failure for those of too many pieces, each with its cell, and whether it is only a remark."""
    pieces = [(cell, piece) for cell, piece, is_remark in more if not is_remark]
    if not pieces:
        return []
    names, (cell, first) = cut(name for _, piece in pieces for name in piece.names), pieces[0]
    return [Failed(names, (), (MORE,), f"{len(pieces)}.", first.line, labels[cell])]


def _still_there(module: types.ModuleType, earlier: dict[str, Any]) -> tuple[str, ...]:
    """Return the names that still have their earlier values, as where a later definition of the same name failed."""
    return tuple(cut(name for name, value in earlier.items() if module.__dict__.get(name) is value))
