"""Signatures: what each misconception gives on the visible tests. `grader check` names a student's mistake by them.

`grader release` makes them, and they are part of the students' grader. They hold no code and no hidden input. The name
and the sentence of a misconception can be read only with its signature, from which their key is made. That keeps them
from being read by chance. It is no secret: the signatures are in the same file.
"""

from __future__ import annotations

import base64
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.engine.failure_matrix import packed, unpacked
from grader.files import mixed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from grader.engine.outcomes import Outcome

FILENAME = "signatures.json"
Coded = tuple[str, str]
"""The outcomes of a signature, and its name and sentence."""


@dataclass(frozen=True)
class Signature:
    """The visible tests that a misconception fails, with its outcomes, by their names."""

    exercise: str
    name: str
    sentence: str
    row: Mapping[str, Outcome]


def to_json(signatures: Iterable[Signature]) -> bytes:
    """Return the file of these signatures."""
    entries = []
    for one in signatures:
        row = packed({"": dict(one.row)})
        text = mixed(json.dumps([one.name, one.sentence]).encode(), row)
        coded = [base64.b64encode(data).decode() for data in (row, text)]
        entries.append([one.exercise, *coded])
    return (json.dumps(entries, indent=0) + "\n").encode()


def read_signatures(path: Path) -> dict[str, list[Coded]]:
    """Return the signatures in a file, by exercise, still encoded. There are none if the file does not exist."""
    found: dict[str, list[Coded]] = {}
    for exercise, row, text in json.loads(path.read_bytes()) if path.is_file() else ():
        found.setdefault(exercise, []).append((row, text))
    return found


@functools.cache
def decoded(exercise: str, coded: Coded) -> Signature:
    """Return a signature of an exercise that `to_json` encoded."""
    row, text = map(base64.b64decode, coded)
    name, sentence = json.loads(mixed(text, row))
    return Signature(exercise, name, sentence, unpacked(row)[""])
