"""Describes an error of student code, in the student process: its types, its text, the student's lines, and shapes."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import re
from typing import TYPE_CHECKING, Any

import torch

from grader.sandbox.messages import MAX_LINE, MAX_SHAPES, MAX_TEXT, MAX_TRACE, MAX_TYPES, Error, cut

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import FrameType, TracebackType

# A name in an expression, with attributes: `keys.T`, `self.W_query`.
DOTTED_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")

# What Python's parser says of a character, whose place it says apart from that.
CHARACTER = re.compile(r"invalid (?:non-printable )?character .{0,10}U\+[0-9A-F]{4,6}\)?$")


def describe(error: BaseException, labels: Collection[str]) -> Error:
    """Return an error's built-in types, its text, and its lines in the sources with these labels."""
    kinds = cut((kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"), MAX_TYPES)
    places = students_places(error.__traceback__, labels)
    if not places:
        line, file, text = _place_in_error(error) if isinstance(error, SyntaxError) else (None, None, _text(error))
        return Error(0, kinds, text, line, file)
    trace = [(place.tb_frame.f_code.co_filename, place.tb_lineno) for place in places]
    trace = [place for place, _ in itertools.groupby(trace)]  # a function that calls itself has one line many times
    file, line = trace[-1]
    if len(trace) > MAX_TRACE:
        trace = [trace[0], *trace[1 - MAX_TRACE :]]
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
    line = error.lineno if type(error.lineno) is int and abs(error.lineno) < MAX_LINE else None
    file = error.filename[:MAX_TEXT] if type(error.filename) is str else None
    text = _text(error.msg)
    if line and CHARACTER.match(text) and type(error.offset) is int and 0 < error.offset < MAX_LINE:
        text = f"{text} in column {error.offset}"
    return line, file, text


def _text(value: Any) -> str:
    try:
        return str.__str__(str(value))[:MAX_TEXT]
    except BaseException:  # noqa: BLE001 - __str__ is the student's
        return "(the error's text could not be read)"


def _shapes(place: TracebackType) -> tuple[str, ...]:
    """Return the tensors in the expression that failed, each as its name and its shape."""
    try:
        names = dict.fromkeys(DOTTED_NAME.findall(_expression(place)))
        return cut(dict.fromkeys(shape for name in names for shape in _shape(name, place.tb_frame)), MAX_SHAPES)
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


def _shape(dotted: str, frame: FrameType) -> Iterator[str]:
    """Yield the longest part of a dotted name that is a tensor, or the weight of a layer, with its shape."""
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
    if found:
        yield found
