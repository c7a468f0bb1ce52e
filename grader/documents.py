"""The YAML files of the course: read with the place of each value, validated by a model, with problems by line."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pydantic_core import ErrorDetails

Location = tuple[Any, ...]
"""The keys and indices that lead to a value, from the outermost on."""

Count = Annotated[int, Field(ge=1)]

M = TypeVar("M", bound=BaseModel)


class CourseError(GraderError):
    """A file of the course is wrong: one line for each problem, in the order of the file."""


class Model(BaseModel):
    """The base of every model of a file. Strict: `weight: true` is not a number and `version: 2026.1` is not text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Document:
    """The plain values of a file as `data`, the place of each, and the problems found so far."""

    def __init__(self, path: Path, name: str, model: type[BaseModel]) -> None:
        """Read a file.

        Args:
            path: The file.
            name: What messages call it.
            model: The model of the file as a whole.

        Raises:
            CourseError: The file is not a YAML mapping, or cannot be read.
            FileNotFoundError: There is no such file.
        """
        self.name = name
        self._model = model
        self._problems: list[_Problem] = []
        self._construct = yaml.constructor.SafeConstructor().construct_object
        node = self._compose(self._read(path))
        self._keys: dict[Location, yaml.Node] = {(): node}
        self._values: dict[Location, yaml.Node] = {(): node}
        self._unreadable: set[Location] = set()
        self.data = self._plain(node, ())

    def validate(self, model: type[M], at: Location = ()) -> M | None:
        """Return the value at a place as `model`; None where it is invalid, which is then reported."""
        data = self.data
        for part in at:
            data = data[part]
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for detail in error.errors():
                self._report_invalid(model, at, detail)
            return None

    def report_key(self, location: Location, sentence: str) -> None:
        """Report a problem with the key of a place; in a list, with the entry."""
        self._report(self._keys.get(location, self._values[location]), sentence)

    def report(self, location: Location, sentence: str) -> None:
        """Report a problem with the value at a place."""
        self._report(self._values[location], sentence)

    def line_of(self, location: Location) -> int:
        """Return the line of the key of a place, counted from one."""
        return _position(self._keys[location])[0]

    def require_sound(self) -> None:
        """Raise CourseError where a problem was reported."""
        if self._problems:
            raise CourseError("\n".join(str(problem) for problem in sorted(self._problems)))

    def _report(self, node: yaml.Node, sentence: str) -> None:
        self._problems.append(_Problem(*_position(node), self.name, sentence))

    def _error(self, line: int, column: int, sentence: str) -> CourseError:
        return CourseError(str(_Problem(line, column, self.name, sentence)))

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
            raise self._error(*_end_of(before), "the text is not UTF-8: save the file as UTF-8.") from None

    def _compose(self, text: str) -> yaml.MappingNode:
        """Return the document as YAML nodes, which know their lines."""
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.reader.ReaderError as error:
            sentence = f"the character U+{error.character:04X} is not allowed in YAML: remove it."
            raise self._error(*_end_of(text[: error.position]), sentence) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            raise self._error(
                line,
                column,
                f"this is not YAML: {error.problem or error.context}. "
                "Check the indentation, colons and quotes here and just above.",
            ) from None
        if node is None:
            raise self._error(1, 1, f"the file is empty: {_needed(self._model)} belong here.")
        if not isinstance(node, yaml.MappingNode):
            found = "list" if isinstance(node, yaml.SequenceNode) else "single value"
            needed = _needed(self._model)
            sentence = f"the file should be a mapping ('key: value'), not a {found}: {needed} belong here."
            raise self._error(*_position(node), sentence)
        return node

    def _plain(self, node: yaml.Node, location: Location) -> Any:
        self._values[location] = node
        # A node inside itself (`a: &a [*a]`) would never end.
        if any(self._values[location[:depth]] is node for depth in range(len(location))):
            self._report(node, "this alias is inside its own anchor: write the value out.")
            self._unreadable.add(location)
            return None
        if isinstance(node, yaml.MappingNode):
            return self._plain_mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*location, index)) for index, item in enumerate(node.value)]
        try:
            return self._construct(node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError):
            self._report(node, f"{node.value!r} cannot be read as a value: correct it.")
            self._unreadable.add(location)
            return None

    def _plain_mapping(self, node: yaml.MappingNode, location: Location) -> dict[Any, Any]:
        data: dict[Any, Any] = {}
        for key_node, value in node.value:
            if key_node.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:int"):
                self._report_bad_key(key_node)
                continue
            key = self._construct(key_node)
            if key in data:
                first, _ = _position(self._keys[(*location, key)])
                self._report(key_node, f"{key!r} is already on line {first}: keep one of the two.")
            else:
                self._keys[(*location, key)] = key_node
                data[key] = self._plain(value, (*location, key))
        return data

    def _report_bad_key(self, key: yaml.Node) -> None:
        text = repr(key.value) if isinstance(key, yaml.ScalarNode) else "this"
        self._report(key, f"{text} is not a name: write a key made of letters, or put it in quotes.")

    def _report_invalid(self, model: type[BaseModel], at: Location, detail: ErrorDetails) -> None:
        """Say in the file's terms what pydantic found wrong."""
        inner = detail["loc"]
        location, key, given = (*at, *inner), inner[-1] if inner else "", detail["input"]
        if any(location[: len(unreadable)] == unreadable for unreadable in self._unreadable):
            return  # reported already, with its cause
        match detail["type"]:
            case "extra_forbidden":
                names = _keys_of(_model_at(model, inner[:-1]))
                self.report_key(
                    location, f"unknown key {key!r}. Allowed here: {', '.join(names)}.{nearest(str(key), names)}"
                )
            case "missing":
                inside = f" in {location[-2]!r}" if len(location) > 1 and isinstance(location[-2], str) else ""
                self.report_key(location[:-1], f"the key {key!r} is missing{inside}: add it.")
            case "literal_error":
                allowed = [str(value) for value in get_args(_annotation_at(model, inner))]
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
                self.report(location, f"{key!r} should be {_expected(detail)}, not {_rendered(given)}.")


class _Problem(NamedTuple):
    line: int
    column: int
    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}: {self.sentence}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence on an unknown name: " Did you mean …?", or nothing."""
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _end_of(text: str) -> tuple[int, int]:
    """Return the line and column just after `text`, counted from one."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _needed(model: type[BaseModel]) -> str:
    *names, last = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return f"{', '.join(names)} and {last}"


def _annotation_at(model: type[BaseModel], location: Location) -> Any:
    """Return the type at a place: of a model its field's, of a list or a mapping its entries'."""
    annotation: Any = model
    for part in location:
        while hasattr(annotation, "__metadata__"):  # Annotated
            annotation = get_args(annotation)[0]
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = annotation.model_fields
            annotation = next(field.annotation for name, field in fields.items() if (field.alias or name) == part)
        else:
            annotation = get_args(annotation)[-1]
    while get_origin(annotation) is not Literal and hasattr(annotation, "__metadata__"):
        annotation = get_args(annotation)[0]
    return annotation


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel]:
    found: type[BaseModel] = _annotation_at(model, location)
    return found


def _rendered(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    return repr(value) if isinstance(value, str) else str(value)


def _expected(detail: ErrorDetails) -> str:
    """Return what belongs in place of the value, from the kind of pydantic's error."""
    match detail["type"]:
        case "string_type":
            return "text (put numbers and dates in quotes)"
        case "string_too_short" | "string_pattern_mismatch":
            return "some text"
        case "int_type" | "int_from_float":
            return "a whole number"
        case "float_type" | "finite_number":
            return "a number"
        case "bool_type":
            return "true or false"
        case "datetime_type" | "timezone_aware":
            return "a date, time and offset from UTC without quotes, such as 2027-02-01T23:59:00+01:00"
        case "model_type" | "dict_type":
            return "a mapping ('key: value' lines)"
        case "list_type":
            return "a list ('- value' lines)"
        case "too_short":
            context = detail["ctx"]
            what, entries = ("list", "items") if context["field_type"] == "List" else ("mapping", "entries")
            few = "one entry" if context["min_length"] == 1 else f"{context['min_length']} {entries}"
            return f"a {what} with at least {few}"
    return detail["msg"].removeprefix("Input should be ")
