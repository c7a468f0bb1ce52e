"""The messages between the engine and its client, each a line of JSON. Both sides are trusted.

The client's first two have the settings: the first for the fork server, the second once that is forked.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from grader.reports.model import Described, Diagnosed, Judged, Message, Result
from grader.submissions.submission import UnitSource
from grader.testing.drawings import Drawing, OwnQuestion, Panel


@dataclass(frozen=True)
class ServerSettings:
    """How student code is run: the modules that it may import, and whether it is run without a fork, for practice."""

    modules: list[str]
    is_practice: bool


@dataclass(frozen=True)
class Settings:
    """The course's folder, whether the tests are the hidden ones, and the units of visible ones; none for all."""

    root: str
    is_hidden: bool
    units: list[str]


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


def to_line(message: ServerSettings | Settings | EngineHandshake | EngineRequest | EngineReply) -> bytes:
    """Encode a message."""
    return json.dumps(message, default=vars).encode() + b"\n"


def read_handshake(line: bytes) -> EngineHandshake:
    """Decode a handshake."""
    fields = json.loads(line)
    criteria = [Described(**one) for one in fields["criteria"]]
    return EngineHandshake(fields["missing"], criteria, fields["versions"], fields["problems"])


def read_request(line: bytes | bytearray) -> EngineRequest:
    """Decode a request."""
    fields = json.loads(line)
    sources = _sources(fields["units"]), _sources(fields["siblings"])
    return EngineRequest(fields["number"], *sources, fields["untested"], fields["drawn"])


def read_reply(line: bytes) -> EngineReply:
    """Decode a reply."""
    fields = json.loads(line)
    found = fields["result"]
    return EngineReply(fields["number"], found if isinstance(found, str) else result_of(found))


def result_of(fields: dict[str, Any]) -> Result:
    """Return a result from its fields in plain JSON."""
    drawings = [Drawing(**one | {"panels": [Panel(**panel) for panel in one["panels"]]}) for one in fields["drawings"]]
    return Result(
        **fields
        | {
            "outcomes": [Judged(**one) for one in fields["outcomes"]],
            "misconceptions": [Diagnosed(**one) for one in fields["misconceptions"]],
            "messages": [Message(**one) for one in fields["messages"]],
            "drawings": drawings,
            "questions": [OwnQuestion(**one) for one in fields["questions"]],
        }
    )


def _sources(found: dict[str, Any]) -> dict[str, UnitSource]:
    return {unit: UnitSource(one["path"], tuple(one["cells"]), tuple(one["remarks"])) for unit, one in found.items()}
