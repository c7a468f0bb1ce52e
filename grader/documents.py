"""The YAML files of the course: read with the line of each value, checked by a model, and reported line by line."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.errors import CourseError as CourseError
from grader.text import in_words

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Location = tuple[Any, ...]
"""The keys and indices that lead to a value, outermost first."""

Position = tuple[int, int]
"""A line and a column, counted from one."""

Count = Annotated[int, Field(ge=1)]

M = TypeVar("M", bound=BaseModel)

# The one in C, where PyYAML has it, is fifteen times as fast.
_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What is expected in place of a value, by the type of pydantic's error.
_EXPECTED = {
    "string_type": "text (put numbers and dates in quotes)",
    "string_too_short": "some text",
    "string_pattern_mismatch": "some text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "datetime_type": "a date, time and offset from UTC without quotes, such as 2027-02-01T23:59:00+01:00",
    "timezone_aware": "a date, time and offset from UTC without quotes, such as 2027-02-01T23:59:00+01:00",
    "model_type": "a mapping ('key: value' lines)",
    "dict_type": "a mapping ('key: value' lines)",
    "list_type": "a list ('- value' lines)",
}


class Model(BaseModel):
    """The base of every model of a file. Strict: `weight: true` is not a number and `version: 2026.1` is not text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Document:
    """The plain values of a file as `data`, with the position of each, and the problems found so far."""

    def __init__(self, path: Path, name: str, model: type[BaseModel]) -> None:
        """Read a file.

        Args:
            path: The file.
            name: What messages call it.
            model: The model of the whole file.

        Raises:
            CourseError: The file is not a YAML mapping, or cannot be read.
            FileNotFoundError: There is no such file.
        """
        self.name = name
        self._problems: list[tuple[Position, str]] = []
        self._construct = yaml.constructor.SafeConstructor().construct_object
        node = self._compose(self._read(path), model)
        self._keys: dict[Location, yaml.Node] = {(): node}
        self._values: dict[Location, yaml.Node] = {(): node}
        self._unreadable: set[Location] = set()
        self.data = self._plain(node, ())

    def validate(self, model: type[M], at: Location = ()) -> M | None:
        """Return the value at a location as `model`, or report what is wrong with it and return None."""
        data = self.data
        for part in at:
            data = data[part]
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for detail in error.errors():
                self._report_invalid(model, at, detail)
            return None

    def keys(self, *location: Any) -> list[str]:
        """Return the keys of the mapping at a location that are text; none if there is no mapping."""
        data = self.data
        for part in location:
            data = data.get(part) if isinstance(data, dict) else None
        return [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []

    def report_key(self, location: Location, sentence: str) -> None:
        """Report a problem with a key, or with an entry of a list."""
        self._report(self._keys.get(location, self._values[location]), sentence)

    def report(self, location: Location, sentence: str) -> None:
        """Report a problem with a value, or, if the file does not have it, with what should contain it."""
        while location not in self._values:
            location = location[:-1]
        self._report(self._values[location], sentence)

    def line_of(self, location: Location) -> int:
        """Return the line of a key, counted from one."""
        return _position(self._keys[location])[0]

    def require_sound(self) -> None:
        """Raise CourseError if a problem was reported."""
        if self._problems:
            raise self._error(*sorted(self._problems))

    def _report(self, node: yaml.Node, sentence: str) -> None:
        self._problems.append((_position(node), sentence))

    def _error(self, *problems: tuple[Position, str]) -> CourseError:
        lines = (f"{self.name}:{line}:{column}: {sentence}" for (line, column), sentence in problems)
        return CourseError("\n".join(lines))

    def _read(self, path: Path) -> str:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise CourseError(f"{self.name} cannot be read ({error.strerror}): put a readable file there.") from None
        try:
            return content.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            before = content[: error.start].decode("utf-8")
            raise self._error((_end_of(before), "the text is not UTF-8: save the file as UTF-8.")) from None

    def _compose(self, text: str, model: type[BaseModel]) -> yaml.MappingNode:
        """Return the document as YAML nodes, which know their lines."""
        try:
            node = _compose(text)
        except yaml.reader.ReaderError as error:
            sentence = f"the character U+{error.character:04X} is not allowed in YAML: remove it."
            raise self._error((_end_of(text[: error.position]), sentence)) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            position = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            sentence = (
                f"this is not YAML: {error.problem or error.context}. "
                "Check the indentation, colons and quotes here and just above."
            )
            raise self._error((position, sentence)) from None
        if isinstance(node, yaml.MappingNode):
            return node
        problem = "the file is empty"
        if node is not None:
            found = "list" if isinstance(node, yaml.SequenceNode) else "single value"
            problem = f"the file should be a mapping ('key: value'), not a {found}"
        required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
        raise self._error((_position(node) if node else (1, 1), f"{problem}: {in_words(required)} belong here."))

    def _plain(self, node: yaml.Node, location: Location) -> Any:
        self._values[location] = node
        # Reading a node inside itself (`a: &a [*a]`) would never end.
        if any(self._values[location[:depth]] is node for depth in range(len(location))):
            return self._report_unreadable(node, location, "this alias is inside its own anchor: write the value out.")
        if isinstance(node, yaml.MappingNode):
            return self._plain_mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*location, index)) for index, item in enumerate(node.value)]
        try:
            return self._construct(node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError):
            return self._report_unreadable(node, location, f"{node.value!r} cannot be read as a value: correct it.")

    def _report_unreadable(self, node: yaml.Node, location: Location, sentence: str) -> None:
        self._report(node, sentence)
        self._unreadable.add(location)

    def _plain_mapping(self, node: yaml.MappingNode, location: Location) -> dict[Any, Any]:
        data: dict[Any, Any] = {}
        for key_node, value in node.value:
            if key_node.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:int"):
                self._report_bad_key(key_node)
                continue
            key = self._construct(key_node)
            if key in data:
                first = self.line_of((*location, key))
                self._report(key_node, f"{key!r} is already on line {first}: keep one of the two.")
            else:
                self._keys[(*location, key)] = key_node
                data[key] = self._plain(value, (*location, key))
        return data

    def _report_bad_key(self, key: yaml.Node) -> None:
        text = repr(key.value) if isinstance(key, yaml.ScalarNode) else "this"
        self._report(key, f"{text} is not a name: write a key made of letters, or put it in quotes.")

    def _report_invalid(self, model: type[BaseModel], at: Location, detail: ErrorDetails) -> None:
        """Report what pydantic found wrong, in the terms of the file."""
        inner = detail["loc"]
        location, key, given = (*at, *inner), inner[-1] if inner else "", detail["input"]
        if any(location[: len(unreadable)] == unreadable for unreadable in self._unreadable):
            return  # already reported, with its cause
        match detail["type"]:
            case "extra_forbidden":
                names = _keys_at(model, inner[:-1])
                hint = nearest(str(key), names)
                self.report_key(location, f"unknown key {key!r}. Allowed here: {', '.join(names)}.{hint}")
            case "missing":
                inside = f" in {location[-2]!r}" if len(location) > 1 and isinstance(location[-2], str) else ""
                self.report_key(location[:-1], f"the key {key!r} is missing{inside}: add it.")
            case "literal_error":
                allowed = re.findall(r"'([^']*)'", detail["ctx"]["expected"])
                hint = nearest(str(given), allowed)
                self.report(location, f"{key!r} cannot be {_rendered(given)}. Allowed: {', '.join(allowed)}.{hint}")
            case "invalid_key":
                self._report_bad_key(self._keys[location])
            case _ if key == "[key]":
                self._unreadable.add(location[:-1])
                if detail["type"] == "string_type":
                    self._report_bad_key(self._keys[location[:-1]])
                else:
                    self.report_key(location[:-1], f"{location[-2]!r} should be {_expected(detail)}.")
            case _:
                few = isinstance(given, dict | list) and given and detail["type"] == "too_short"
                found = str(len(given)) if few else _rendered(given)
                self.report(location, f"{key!r} should be {_expected(detail)}, not {found}.")


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence on an unknown name: " Did you mean …?", or nothing."""
    by_text = {one.casefold(): one for one in names}
    matches = difflib.get_close_matches(name.casefold(), by_text, n=1)
    return f" Did you mean {by_text[matches[0]]!r}?" if matches else ""


def _position(node: yaml.Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _compose(text: str) -> yaml.Node | None:
    """Return the nodes of a text. Raises YAMLError, with the words and the place of the loader in Python."""
    with contextlib.suppress(yaml.YAMLError):
        return yaml.compose(text, Loader=_FAST)
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _end_of(text: str) -> Position:
    """Return the position just after `text`."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _keys_at(model: type[BaseModel], location: Location) -> list[str]:
    """Return the keys that the mapping at a location may have."""
    annotation: Any = model
    for part in location:
        if hasattr(annotation, "model_fields"):
            annotation = next(
                field.annotation for name, field in annotation.model_fields.items() if (field.alias or name) == part
            )
        else:
            annotation = get_args(annotation)[-1]  # the entries of a list or mapping
    return [field.alias or name for name, field in annotation.model_fields.items()]


def _rendered(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    return repr(value) if isinstance(value, str) else str(value)


def _expected(detail: ErrorDetails) -> str:
    """Return what is expected in place of a value."""
    if detail["type"] == "too_short":
        context = detail["ctx"]
        what, entries = ("list", "items") if context["field_type"] == "List" else ("mapping", "entries")
        few = "one entry" if context["min_length"] == 1 else f"{context['min_length']} {entries}"
        return f"a {what} with at least {few}"
    return _EXPECTED.get(detail["type"], detail["msg"].removeprefix("Input should be "))
