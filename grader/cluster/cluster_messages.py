"""The tasks that are sent to workers, and their answers: bytes, which are checked on arrival.

Each is a line of JSON, followed by a message of the engine: the request in a task, the reply in an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from grader.documents import Model
from grader.engine.engine_messages import REQUEST, RESULT, EngineRequest, read, to_line
from grader.reports.report_model import Described, Message, Result
from grader.sandbox.lockdown import LAYERS
from grader.sandbox.protocol import ProtocolError, check_values, read_json

# An honest answer stays below a tenth of each.
MAX_BYTES = 64 * 2**20
MAX_VALUES = 2_000_000
MAX_ITEMS = 20_000
MAX_NAME = 500
MAX_TEXT = 200_000

Name = Annotated[str, Field(max_length=MAX_NAME)]
Text = Annotated[str, Field(max_length=MAX_TEXT)]
Kind = Literal["graded", "failed", "refused", "unisolated"]


@dataclass(frozen=True)
class Task:
    """A submission to grade on a worker.

    Attributes:
        needed: The versions that the worker must have, by name.
        allow_unisolated: Run student code even if the worker cannot isolate it.
        request: The submission.
    """

    needed: dict[str, str]
    allow_unisolated: bool
    request: EngineRequest

    def to_bytes(self) -> bytes:
        """Encode the task."""
        header = {"needed": self.needed, "allow_unisolated": self.allow_unisolated}
        return json.dumps(header).encode() + b"\n" + to_line(self.request)


def read_task(content: bytes) -> Task:
    """Decode a task. Raises ValueError, LookupError or TypeError."""
    header, _, request = content.partition(b"\n")
    fields = json.loads(header)
    return Task(fields["needed"], fields["allow_unisolated"], read(REQUEST, request))


class WorkerAnswer(Model):
    """What a worker says about a task.

    Attributes:
        kind: `graded`: a reply of the engine follows. `failed`: this grading failed, and another may not. `refused`:
            this worker cannot grade. `unisolated`: it cannot isolate student code.
        worker: The worker's address and machine.
        reasons: Why it is not graded, or what is missing.
        missing: The layers of isolation that the worker's machine lacks, each with the reason.
        versions: The versions of Python, the libraries and the platform.
    """

    kind: Kind
    worker: Name
    reasons: Annotated[list[Text], Field(max_length=20)]
    missing: Annotated[dict[Name, Name], Field(max_length=20)]
    versions: Annotated[dict[Name, Name], Field(max_length=20)]

    def to_bytes(self, reply: bytes = b"") -> bytes:
        """Encode the answer, with the engine's reply if it is graded."""
        return json.dumps(self.model_dump()).encode() + b"\n" + reply


@dataclass(frozen=True)
class RemoteResult(Result):
    """A result with what the worker said about its machine."""

    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


class _Judged(Model):
    unit: Name
    exercise: Name
    name: Name
    passed: bool
    reason: Text
    waiting: bool
    substitutes: Annotated[list[Name], Field(max_length=MAX_ITEMS)]
    remarks: Annotated[list[Text], Field(max_length=MAX_ITEMS)]
    is_main: bool


class _Diagnosed(Model):
    unit: Name
    exercise: Name
    name: Name
    sentence: Text


class _Result(Model):
    """The fields of a result, with their bounds. `grader grade` asks for no pictures and questions."""

    outcomes: Annotated[list[_Judged], Field(max_length=MAX_ITEMS)]
    misconceptions: Annotated[list[_Diagnosed], Field(max_length=MAX_ITEMS)]
    messages: Annotated[list[Message], Field(max_length=MAX_ITEMS)]
    layers: dict[Literal[LAYERS], bool]  # type: ignore[valid-type]
    exceeded: Annotated[list[Name], Field(max_length=MAX_ITEMS)]
    drawings: Annotated[list[Any], Field(max_length=0)]
    questions: Annotated[list[Any], Field(max_length=0)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    pytest: dict[str, Any]


class _Reply(Model):
    number: int
    result: _Result | Text


def read_answer(
    content: Any, request: EngineRequest, criteria: Iterable[Described]
) -> tuple[WorkerAnswer, RemoteResult | str]:
    """Decode the answer to a request, and check each field.

    Args:
        content: What the worker returned.
        request: The request of the task.
        criteria: The criteria of the course. A result has each one of the units that were to be tested, once.

    Returns:
        The answer, and the result, or the reason why there is none.

    Raises:
        ProtocolError: It is malformed, too large, or the result of another request.
    """
    if type(content) is not bytes:
        raise ProtocolError(f"a {type(content).__name__} instead of bytes")
    if len(content) > MAX_BYTES:
        raise ProtocolError(f"more than {MAX_BYTES // 2**20} MB")
    check_values(content, MAX_VALUES)
    header, _, line = content.partition(b"\n")
    try:
        answer = WorkerAnswer.model_validate(read_json(header))
        if answer.kind != "graded":
            return answer, "; ".join(answer.reasons)
        fields = read_json(line)
        _Reply.model_validate(fields)
    except ValidationError as error:
        # Not the value itself: it may be long.
        [first, *_] = error.errors(include_url=False, include_context=False, include_input=False)
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise ProtocolError(f"{place}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"no JSON within the bounds ({type(error).__name__})") from None
    if isinstance(fields["result"], str):
        return answer, fields["result"]
    result = RESULT.validate_python(fields["result"])
    _check_meaning(result, request, criteria)
    own = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    return answer, RemoteResult(**own, missing=answer.missing, versions=answer.versions)


def _check_meaning(result: Result, request: EngineRequest, criteria: Iterable[Described]) -> None:
    """Check that the result is one of this request. Raises ProtocolError."""
    names = [(one.unit, one.exercise, one.name) for one in result.outcomes]
    expected = {
        (one.unit, one.exercise, one.name)
        for one in criteria
        if one.unit in request.units and one.exercise not in request.untested
    }
    if len(names) != len(expected) or set(names) != expected:
        raise ProtocolError(f"outcomes of {len(names)} criteria that are not the {len(expected)} of this submission")
    units = {one.unit for one in result.misconceptions} | set(result.exceeded)
    units |= {one.unit for one in result.messages} - request.siblings.keys()
    if not units <= request.units.keys():
        raise ProtocolError("results of units that were not sent")
