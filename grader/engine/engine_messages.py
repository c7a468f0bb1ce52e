"""The messages between the engine and its client, each a line of JSON. Both sides are trusted.

The client's first two have the settings. The first is for the fork server: the `modules` that student code may import,
and whether it is run without a fork, for practice (`is_practice`). The second is read once that is forked, so that no
student process knows it: the course's folder (`root`), whether the tests are the hidden ones (`is_hidden`), and the
`units` of visible ones, none for all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter

from grader.reports.report_model import Described, Result
from grader.submissions.submission import UnitSource

T = TypeVar("T")


@dataclass(frozen=True)
class EngineHandshake:
    """The engine's message before the first submission.

    Attributes:
        missing: The layers of isolation that this machine lacks, each with the reason.
        criteria: Every criterion, in the course's order.
        versions: The versions of Python, the libraries and the platform.
        problems: What is wrong with the suites, one sentence for each problem; nothing is graded if there is one.
    """

    missing: dict[str, str]
    criteria: list[Described]
    versions: dict[str, str]
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EngineRequest:
    """A submission to grade.

    Attributes:
        number: Identifies the reply.
        units: The sources of the units to grade.
        siblings: The sources of other units, which the graded ones may import.
        untested: The exercises that are not tested: they are known to be right, or no tested one uses them.
        drawn: The exercises whose pictures are drawn and whose questions are answered, after the tests.
    """

    number: int
    units: dict[str, UnitSource]
    siblings: dict[str, UnitSource] = field(default_factory=dict)
    untested: list[str] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EngineReply:
    """The reply to a request: a result, or the reason why there is none."""

    number: int
    result: Result | str


def to_line(message: dict[str, Any] | EngineHandshake | EngineRequest | EngineReply) -> bytes:
    """Encode a message."""
    return json.dumps(message, default=vars).encode() + b"\n"


def read(adapter: TypeAdapter[T], line: bytes | bytearray) -> T:
    """Decode a message. Raises ValueError."""
    return adapter.validate_python(json.loads(line))


HANDSHAKE = TypeAdapter(EngineHandshake)
REQUEST = TypeAdapter(EngineRequest)
REPLY = TypeAdapter(EngineReply)
RESULT = TypeAdapter(Result)
