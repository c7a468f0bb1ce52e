"""The student's units in the student process: each runs once, piece by piece, and can be imported by the others.

What its statements leave changed in torch is noted, and each error is described: its types, its text, the student's
lines, and shapes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import linecache
import math
import re
import sys
from collections.abc import Callable, Collection, Iterable
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _device

from grader.sandbox import loader, protocol
from grader.sandbox.protocol import Error, Failed, Progress
from grader.sandbox.statements import Piece

PARTS = "parts"  # of libraries: to read them takes long


class Setting(NamedTuple):
    """What a statement does that changes it, and how to read and set it."""

    words: str
    read: Callable[[], Any]
    set: Callable[[Any], Any]


def _default_device() -> tuple[torch.device | None, tuple[_device.DeviceContext, ...]]:
    # torch.get_default_device makes a tensor, which fails if there is no such device. A `torch.device(…)` that was
    # entered is only among the modes.
    modes = _get_current_function_mode_stack()
    return _device.CURRENT_DEVICE, tuple(one for one in modes if isinstance(one, _device.DeviceContext))


def _set_default_device(default: tuple[torch.device | None, tuple[_device.DeviceContext, ...]]) -> None:
    modes = _get_current_function_mode_stack()
    for _ in modes:
        _pop_mode()
    for mode in (*default[1], *(one for one in modes if not isinstance(one, _device.DeviceContext))):
        _push_mode(mode)
    _device.CURRENT_DEVICE = default[0]


# What was entered here to leave the inference mode of a student, or to go back to it.
_modes: list[torch.inference_mode] = []


def _gradients() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def _set_gradients(enabled: tuple[bool, bool]) -> None:
    if torch.is_inference_mode_enabled() != enabled[1]:
        if _modes:
            _modes.pop().__exit__(None, None, None)
        else:
            _modes.append(torch.inference_mode(enabled[1]))
            _modes[0].__enter__()
    torch.set_grad_enabled(enabled[0])


def _anomalies() -> tuple[bool, bool]:
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


def _set_anomalies(enabled: tuple[bool, bool]) -> None:
    torch.set_anomaly_enabled(*enabled)


# A line that may give an attribute of a library another value.
MAY_REPLACE = re.compile(
    r"^[ \t]*+(?!self\.)[^#\n=]*\.\w+\s*=(?!=)|^[ \t]*+del\b.*\.|\b(?:set|del)attr\(", re.MULTILINE
)
LIBRARIES = (torch, nn, nn.functional, torch.Tensor, math)
OWNERS = (*LIBRARIES, *dict.fromkeys(one for one in vars(nn).values() if isinstance(one, type)))


class _Parts:
    """The functions of the libraries as they are now. They are compared by identity, which calls no student code."""

    # Tensor inherits most of its methods; others may be hidden by one of the same name.
    names = tuple(dir(one) if one is torch.Tensor else list(vars(one)) for one in OWNERS)

    def __init__(self) -> None:
        self.values = [list(map(vars(owner).get, names)) for owner, names in zip(OWNERS, self.names, strict=True)]
        self.ids = [id(value) for values in self.values for value in values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Parts) and self.ids == other.ids

    __hash__ = None  # type: ignore[assignment]


def _set_parts(parts: _Parts) -> None:
    for owner, names, wanted, found in zip(OWNERS, parts.names, parts.values, _Parts().values, strict=True):
        for name, value, now in zip(names, wanted, found, strict=True):
            if value is None and now is not None:
                delattr(owner, name)
            elif value is not now:
                setattr(owner, name, value)


SETTINGS = {
    "default dtype": Setting("changes torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
    "default device": Setting("changes torch's default device", _default_device, _set_default_device),
    "gradients": Setting("switches gradients off", _gradients, _set_gradients),
    "autocast": Setting(
        "switches autocast on",
        functools.partial(torch.is_autocast_enabled, "cpu"),
        functools.partial(torch.set_autocast_enabled, "cpu"),
    ),
    "anomalies": Setting("switches the detection of anomalies on", _anomalies, _set_anomalies),
    "deterministic": Setting(
        "allows deterministic algorithms only",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    PARTS: Setting("replaces a part of a library", _Parts, _set_parts),
}


def current_settings(names: Iterable[str]) -> dict[str, Any]:
    """Return the values of these settings."""
    return {name: SETTINGS[name].read() for name in names}


# A name in an expression, with attributes: `keys.T`, `self.W_query`.
DOTTED_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

# What Python's parser says of a character, whose place it says apart from that.
CHARACTER = re.compile(r"invalid (?:non-printable )?character .{0,10}U\+[0-9A-F]{4,6}\)?$")


def describe(error: BaseException, labels: Collection[str]) -> Error:
    """Return an error's built-in types, its text, and its lines in the sources with these labels."""
    kinds = protocol.cut(
        (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"), protocol.MAX_TYPES
    )
    places = students_places(error.__traceback__, labels)
    if not places:
        line, file, text = _place_in_error(error) if isinstance(error, SyntaxError) else (None, None, _text(error))
        return Error(0, kinds, text, line, file)
    trace = [(place.tb_frame.f_code.co_filename, place.tb_lineno) for place in places]
    trace = [place for place, _ in itertools.groupby(trace)]  # a function that calls itself has one line many times
    file, line = trace[-1]
    if len(trace) > protocol.MAX_TRACE:
        trace = [trace[0], *trace[1 - protocol.MAX_TRACE :]]
    return Error(0, kinds, _text(error), line, file, tuple(trace), _shapes(places[-1]))


def students_places(place: TracebackType | None, labels: Collection[str]) -> list[TracebackType]:
    """Return the entries of a traceback in the sources with these labels, the outermost first.

    Python gives some instructions no line. Entries on them are left out.
    """
    places = []
    while place is not None:
        if place.tb_frame.f_code.co_filename in labels and place.tb_lineno is not None:
            places.append(place)
        place = place.tb_next
    return places


def current_place(frame: FrameType | None, labels: Collection[str]) -> tuple[str, int] | None:
    """Return the label and the line of the innermost of the running frames that is the student's and has a line."""
    while frame is not None:
        if frame.f_code.co_filename in labels and frame.f_lineno is not None:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


def _place_in_error(error: SyntaxError) -> tuple[int | None, str | None, str]:
    # Student code may have made the error, with any values as attributes.
    line = error.lineno if type(error.lineno) is int and abs(error.lineno) < protocol.MAX_LINE else None
    file = error.filename[: protocol.MAX_TEXT] if type(error.filename) is str else None
    text = _text(error.msg)
    if line and CHARACTER.match(text) and type(error.offset) is int and 0 < error.offset < protocol.MAX_LINE:
        text = f"{text} in column {error.offset}"
    return line, file, text


def _text(value: Any) -> str:
    try:
        return str.__str__(str(value))[: protocol.MAX_TEXT]
    except BaseException:  # noqa: BLE001 - __str__ is the student's
        return "(the error's text could not be read)"


def _shapes(place: TracebackType) -> tuple[str, ...]:
    """Return the tensors in the expression that failed, each as its name and its shape."""
    try:
        names = dict.fromkeys(DOTTED_NAME.findall(_expression(place)))
        return protocol.cut(dict.fromkeys(_shape(name, place.tb_frame) for name in names), protocol.MAX_SHAPES)
    except BaseException:  # noqa: BLE001 - attributes can be code of the student
        return ()


def _expression(place: TracebackType) -> str:
    """Return the source of the expression that was running."""
    code = place.tb_frame.f_code
    first, last, begin, end = next(itertools.islice(code.co_positions(), place.tb_lasti // 2, None))
    first, last = first or place.tb_lineno, last or first or place.tb_lineno
    lines = [linecache.getline(code.co_filename, number) for number in range(first, last + 1)]
    # Columns are counted in bytes.
    return lines[0].encode()[begin:end].decode() if first == last else "".join(lines)


def _shape(dotted: str, frame: FrameType) -> str | None:
    """Return the longest part of a dotted name that is a tensor, or the weight of a layer, with its shape."""
    name, *attributes = dotted.split(".")
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    found = None
    for attribute in [*attributes, ""]:
        if isinstance(value, torch.Tensor):
            found = f"{name} {tuple(value.shape)}"
        if attribute:
            name, value = f"{name}.{attribute}", getattr(value, attribute, None)
    weight = None
    if isinstance(value, torch.nn.Module):
        with contextlib.suppress(AttributeError):
            weight = value.weight
    if isinstance(weight, torch.Tensor):
        found = f"{name}.weight {tuple(weight.shape)}"
    return found


# How many failures of a unit are described. A file that is not Python has one for each line.
MOST_FAILURES = protocol.MAX_FAILURES - len(SETTINGS) - 1


class Units:
    """The units of a submission. A unit runs when it is first used, or imported by another."""

    def __init__(self, notify: Callable[[Progress], None]) -> None:
        """Make an empty collection. `notify` is called before each piece of a unit runs."""
        self.notify = notify
        self.sources: dict[str, dict[str, Any]] = {}
        self.modules: dict[str, ModuleType] = {}
        self.failures: dict[str, list[Failed]] = {}
        self.original = self.known = current_settings(SETTINGS.keys() - {PARTS})
        self.labels: set[str] = set()  # what tracebacks call the student's own sources

    def module(self, unit: str) -> ModuleType:
        """Return a unit's module. It runs the first time."""
        if unit not in self.modules:
            module = self.modules[unit] = sys.modules[unit] = ModuleType(unit)
            module.__file__ = self.sources[unit]["filename"]
            self._run(unit, module)
        return self.modules[unit]

    def _run(self, unit: str, module: ModuleType) -> None:
        source = self.sources[unit]
        failures: list[Failed] = []
        self.failures[unit] = failures
        skipped = {tuple(place) for place in source["skip"]}
        self.labels.update(source["labels"])
        if PARTS not in self.original and any(map(MAY_REPLACE.search, source["cells"])):
            parts = current_settings([PARTS])
            self.original, self.known = self.original | parts, self.known | parts
        place = (0, 0)
        changes: dict[str, tuple[int, int]] = {}
        # By statement, the functions and classes whose names it takes; and the statement of each failure.
        earlier: dict[tuple[int, int], dict[str, Any]] = {}
        places: list[tuple[int, int]] = []
        more: list[tuple[int, Piece]] = []  # that failed too

        def note_settings() -> None:
            # An imported unit has noted its own.
            before, self.known = self.known, current_settings(self.original)
            changes.update({name: place for name, value in self.known.items() if value != before[name]})

        def before(cell: int, piece: Piece) -> bool:
            nonlocal place
            note_settings()
            place = cell, piece.line
            if (cell, piece.line) in skipped or (source["is_brief"] and piece.does_only):
                return False
            values = {name: module.__dict__.get(name) for name in piece.names}
            earlier[cell, piece.line] = {name: value for name, value in values.items() if callable(value)}
            self.notify(Progress(0, unit, cell, piece.line, protocol.cut(piece.names)))
            return True

        def failed(cell: int, piece: Piece, error: BaseException) -> None:
            remark = error if isinstance(error, loader.Remark) else None
            if len(failures) == MOST_FAILURES:
                more.extend([] if remark else [(cell, piece)])
                return
            described, label = describe((remark and remark.error) or error, self.labels), source["labels"][cell]
            # Its own line, and not one of a function that it calls.
            own = dict(described.trace[:1]).get(label)
            line = own or described.line or piece.line
            one = Failed(protocol.cut(piece.names), (), described.types, described.text, line, label)
            if remark:
                one = one._replace(types=(remark.kind,), text=one.text if remark.error else "", line=own or remark.line)
                if remark.error and (one.types, one.text) in [(other.types, other.text) for other in failures]:
                    return  # many functions have the same annotations
            failures.append(one._replace(trace=described.trace))
            places.append((cell, piece.line))

        loader.Run(source["cells"], source["labels"], module, source["is_notebook"], before, failed).run()
        note_settings()
        failures[:] = [
            one._replace(kept=_still_there(module, earlier[place])) for one, place in zip(failures, places, strict=True)
        ]
        labels = source["labels"]
        if more:
            names, (cell, first) = protocol.cut(name for _, piece in more for name in piece.names), more[0]
            failures.append(Failed(names, (), (protocol.MORE,), f"{len(more)}.", first.line, labels[cell]))
        # A remark for each setting of torch that is still changed, with the place that changed it.
        failures += [
            Failed((), (), (name,), "", line, labels[cell])
            for name, (cell, line) in changes.items()
            if self.known[name] != self.original[name]
        ]

    # -- an import finder and loader: a unit may import the others by name ----------------------------------

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        """Find a unit."""
        return ModuleSpec(name, self) if name in self.sources else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the unit's module, which has run."""
        return self.module(spec.name)

    def exec_module(self, _: ModuleType) -> None:
        """Do nothing: it has run."""


def _still_there(module: ModuleType, earlier: dict[str, Any]) -> tuple[str, ...]:
    """Return the names that still have their earlier values, as where a later definition of the same name failed."""
    return protocol.cut(name for name, value in earlier.items() if module.__dict__.get(name) is value)
