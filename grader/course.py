"""autograder.yml as a typed model: units, exercises, weights, limits, feedback and dates."""

from __future__ import annotations

import ast
import datetime
import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

ROOT = Path(__file__).resolve().parent.parent
"""The course repository: the folder of autograder.yml, solutions/ and exercises/."""

FILENAME = "autograder.yml"

Level = Literal["points", "sentence", "misconception"]
"""How much a student reads about a criterion that was missed; each level adds to the one before."""

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CourseError(Exception):
    """autograder.yml is not a course. Its text is one line for each problem, in the order of the file."""


class _Model(BaseModel):
    # Strict: `weight: true` is no number and `version: 2026.1` is no text.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Limits(_Model):
    """What the process that runs a submission's code may use."""

    call_seconds: Seconds
    unit_seconds: Seconds
    cpu_seconds: Count
    memory_mb: Annotated[int, Field(ge=1024)]  # torch's oneDNN breaks below about 750
    output_kb: Count

    @field_validator("unit_seconds")
    @classmethod
    def _holds_one_call(cls, unit_seconds: float, info: Any) -> float:
        if unit_seconds < info.data.get("call_seconds", 0):
            raise PydanticCustomError("too_short_for_a_call", "Input should be at least call_seconds")
        return unit_seconds


class Feedback(_Model):
    """How much a student reads, up to the due date and after it."""

    before_due: Level
    after_due: Level


class Unit(_Model):
    """One unit: its title, when it is due, and its exercises in order, each with its weight."""

    title: Name
    due: AwareDatetime
    exercises: Annotated[dict[str, Count], Field(min_length=1)]


class Course(_Model):
    """The course: everything that autograder.yml says, with the units in order."""

    name: Annotated[str, Field(min_length=1, alias="course")]
    version: Name
    limits: Limits
    feedback: Feedback
    units: Annotated[dict[str, Unit], Field(min_length=1)]

    def feedback_level(self, unit_name: str, now: datetime.datetime) -> Level:
        """What a student may read about a unit at `now`, a time with a zone; the due time is not late yet."""
        return self.feedback.before_due if now <= self.units[unit_name].due else self.feedback.after_due


def load_course(root: Path = ROOT) -> Course:
    """Read `root`/autograder.yml and hold it against `root`/solutions.

    Raises CourseError with every problem found, each with its line and column and what to do about it.
    """
    document = _Document(_compose(_read(root)))
    course = None
    try:
        course = Course.model_validate(document.data)
    except ValidationError as error:
        for detail in error.errors():
            document.report_invalid(detail)
    document.check_solutions(root / "solutions")
    if document.problems or course is None:
        raise CourseError("\n".join(str(problem) for problem in sorted(document.problems)))
    return course


class _Problem(NamedTuple):
    line: int
    column: int
    sentence: str

    def __str__(self) -> str:
        return f"{FILENAME}:{self.line}:{self.column}: {self.sentence}"


def _error(line: int, column: int, sentence: str) -> CourseError:
    return CourseError(str(_Problem(line, column, sentence)))


def _read(root: Path) -> str:
    try:
        content = (root / FILENAME).read_bytes()
    except FileNotFoundError:
        raise CourseError(
            f"{FILENAME} is missing in {root}: run the grader from a checkout of the course's repository."
        ) from None
    except OSError as error:
        raise CourseError(f"{FILENAME} cannot be read ({error.strerror}): put a readable file there.") from None
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        raise _error(*_end_of(before), "the text is not UTF-8: save the file as UTF-8.") from None


def _compose(text: str) -> yaml.MappingNode:
    """The document as YAML nodes, which know their lines, where plain values would not."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        sentence = f"the character U+{error.character:04X} is not allowed in YAML: remove it."
        raise _error(*_end_of(text[: error.position]), sentence) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _error(
            line,
            column,
            f"this is not YAML: {error.problem or error.context}. "
            "Check the indentation, colons and quotes here and just above.",
        ) from None
    if node is None:
        raise _error(1, 1, f"the file is empty: {_needed(Course)} belong here.")
    if not isinstance(node, yaml.MappingNode):
        found = "list" if isinstance(node, yaml.SequenceNode) else "single value"
        sentence = f"the file should be a mapping ('key: value'), not a {found}: {_needed(Course)} belong here."
        raise _error(*_position(node), sentence)
    return node


class _Document:
    """The plain values of the file, the place of each, and the problems found so far."""

    def __init__(self, node: yaml.MappingNode) -> None:
        self.problems: list[_Problem] = []
        self._construct = yaml.constructor.SafeConstructor().construct_object
        self._keys: dict[tuple[Any, ...], yaml.Node] = {(): node}
        self._values: dict[tuple[Any, ...], yaml.Node] = {(): node}
        self._unreadable: set[tuple[Any, ...]] = set()
        self.data = self._plain(node, ())

    def report(self, node: yaml.Node, sentence: str) -> None:
        self.problems.append(_Problem(*_position(node), sentence))

    def _plain(self, node: yaml.Node, location: tuple[Any, ...]) -> Any:
        self._values[location] = node
        # A node inside itself (`a: &a [*a]`) would never end.
        if any(self._values[location[:depth]] is node for depth in range(len(location))):
            self.report(node, "this alias stands inside its own anchor: write the value out.")
            self._unreadable.add(location)
            return None
        if isinstance(node, yaml.MappingNode):
            return self._plain_mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*location, index)) for index, item in enumerate(node.value)]
        try:
            return self._construct(node)
        except (yaml.YAMLError, ValueError, LookupError, AttributeError):
            self.report(node, f"{node.value!r} cannot be read as a value: correct it.")
            self._unreadable.add(location)
            return None

    def _plain_mapping(self, node: yaml.MappingNode, location: tuple[Any, ...]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                text = repr(key.value) if isinstance(key, yaml.ScalarNode) else "this"
                self.report(key, f"{text} is no name: write a key made of letters, or put it in quotes.")
            elif key.value in data:
                first, _ = _position(self._keys[(*location, key.value)])
                self.report(key, f"{key.value!r} is already on line {first}: keep one of the two.")
            else:
                self._keys[(*location, key.value)] = key
                data[key.value] = self._plain(value, (*location, key.value))
        return data

    def report_invalid(self, detail: ErrorDetails) -> None:
        """Say in this file's terms what pydantic found wrong."""
        location, key, given = detail["loc"], detail["loc"][-1] if detail["loc"] else "", detail["input"]
        if any(location[: len(unreadable)] == unreadable for unreadable in self._unreadable):
            return  # said already, with its cause
        match detail["type"]:
            case "extra_forbidden":
                allowed = _model_at(location[:-1])
                names = _keys_of(allowed) if allowed else []
                self.report(
                    self._keys[location],
                    f"unknown key {key!r}. Allowed here: {', '.join(names)}.{_nearest(str(key), names)}",
                )
            case "missing":
                inside = f" in {location[-2]!r}" if len(location) > 1 else ""
                self.report(self._keys[location[:-1]], f"the key {key!r} is missing{inside}: add it.")
            case "literal_error":
                levels = get_args(Level)
                self.report(
                    self._values[location],
                    f"{key!r} cannot be {_shown(given)}. Allowed: {', '.join(levels)}.{_nearest(str(given), levels)}",
                )
            case _:
                sentence = f"{key!r} should be {_expected(detail)}, not {_shown(given)}."
                self.report(self._values[location], sentence)

    def check_solutions(self, solutions: Path) -> None:
        """Every unit has its file in `solutions`, and that file defines every exercise."""
        units = self.data.get("units")
        if not isinstance(units, dict):
            return
        for unit_name, unit in units.items():
            node = self._keys[("units", unit_name)]
            source = solutions / f"{unit_name}.py"
            if not unit_name.isidentifier() or not source.is_file():
                known = sorted(path.stem for path in solutions.glob("*.py"))
                self.report(
                    node,
                    f"there is no solutions/{unit_name}.py for the unit {unit_name!r}: "
                    f"write it or correct the name.{_nearest(unit_name, known)}",
                )
                continue
            try:
                defined = _definitions(source)
            except (SyntaxError, ValueError) as error:
                line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
                self.report(node, f"solutions/{unit_name}.py{line} is not valid Python: correct it first.")
                continue
            exercises = unit.get("exercises") if isinstance(unit, dict) else None
            for exercise in exercises if isinstance(exercises, dict) else ():
                if exercise not in defined:
                    self.report(
                        self._keys[("units", unit_name, "exercises", exercise)],
                        f"solutions/{unit_name}.py defines no {exercise!r} at top level: "
                        f"define it or correct the name.{_nearest(exercise, defined)}",
                    )


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _end_of(text: str) -> tuple[int, int]:
    """The line and column just after `text`, counted from one."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _definitions(source: Path) -> list[str]:
    definitions = (ast.FunctionDef, ast.ClassDef)
    return [item.name for item in ast.parse(source.read_bytes()).body if isinstance(item, definitions)]


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _needed(model: type[BaseModel]) -> str:
    *names, last = _keys_of(model)
    return f"{', '.join(names)} and {last}"


def _model_at(location: tuple[Any, ...]) -> type[BaseModel] | None:
    """The model that governs a place in the file."""
    match location:
        case ():
            return Course
        case ("limits",):
            return Limits
        case ("feedback",):
            return Feedback
        case ("units", _):
            return Unit
    return None


def _nearest(name: str, names: Iterable[str]) -> str:
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    return repr(value) if isinstance(value, str) else str(value)


def _expected(detail: ErrorDetails) -> str:
    """What belongs in place of the value, from the kind of pydantic's error."""
    match detail["type"]:
        case "string_type":
            return "text (put numbers and dates in quotes)"
        case "string_too_short":
            return "some text"
        case "int_type" | "int_from_float":
            return "a whole number"
        case "float_type" | "finite_number":
            return "a number"
        case "datetime_type" | "timezone_aware":
            return "a date, time and offset from UTC without quotes, such as 2027-02-01T23:59:00+01:00"
        case "model_type" | "dict_type":
            return "a mapping ('key: value' lines)"
        case "too_short":
            return "a mapping with at least one entry"
    return detail["msg"].removeprefix("Input should be ")
