"""The file of signatures: what it holds, and which mistakes it names."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import torch

from grader.engine.criteria import Criterion
from grader.engine.diagnosis import recognize
from grader.engine.failure_matrix import Signature, read_signatures, to_json
from grader.engine.outcomes import Outcome
from grader.testing.running_test import Observation

RIGHT = Outcome(True)
HALVED = Outcome(False, "wrong", "", observations=(Observation(torch.tensor([0.5, 1.0])),))
IN_PLACE = Outcome(False, "wrong", "", observations=(Observation("x was changed."),))
KNOWN = [
    Signature("double", "halved", "The number is halved.", {"values": HALVED}),
    Signature("double", "in_place", "The caller's x was changed.", {"arguments": IN_PLACE}),
]


def criterion(name: str) -> Criterion:
    return Criterion("sums", "double", name, "", (), lambda: None, "1")


def recognized(folder: Path, **outcomes: Outcome) -> list[str]:
    """The names of the mistakes of an answer with these outcomes of the visible tests."""
    path = folder / "signatures.json"
    path.write_bytes(to_json(KNOWN))
    results = [(criterion(name), outcome) for name, outcome in outcomes.items()]
    return [one.name for one in recognize("double", results, read_signatures(path)["double"])]


def test_an_answer_with_the_same_numbers_gets_the_name(tmp_path: Path) -> None:
    alike = Outcome(False, "wrong", "", observations=(Observation(torch.tensor([0.50001, 1.0])),))
    assert recognized(tmp_path, values=alike, arguments=RIGHT) == ["halved"]


def test_an_answer_with_two_mistakes_gets_both_names(tmp_path: Path) -> None:
    assert recognized(tmp_path, values=HALVED, arguments=IN_PLACE) == ["halved", "in_place"]


def test_other_numbers_and_right_answers_get_no_name(tmp_path: Path) -> None:
    other = Outcome(False, "wrong", "", observations=(Observation(torch.tensor([0.6, 1.0])),))
    assert recognized(tmp_path, values=other, arguments=RIGHT) == []
    assert recognized(tmp_path, values=RIGHT, arguments=RIGHT) == []


def test_names_and_sentences_cannot_be_read_without_the_signature() -> None:
    data = to_json(KNOWN)
    texts = [data, *(base64.b64decode(coded) for _, *both in json.loads(data) for coded in both)]
    assert not [text for text in texts if b"halved" in text or (b"was changed" in text and b"caller" in text)]


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    assert read_signatures(tmp_path / "signatures.json") == {}
