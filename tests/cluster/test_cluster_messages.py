"""Answers of workers: what has another form than an honest one is refused, and never becomes a grade."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from grader.cluster import cluster_messages
from grader.cluster.cluster_messages import RemoteResult, Task, WorkerAnswer, read_answer, read_task
from grader.engine.engine_messages import EngineReply, EngineRequest, to_line
from grader.reports.report_model import Described, Judged, Message, Result
from grader.sandbox.protocol import ProtocolError
from grader.submissions.submission import UnitSource

REQUEST = EngineRequest(
    3, {"sums": UnitSource("sums.py", ("a = 1\n",))}, {"means": UnitSource("means.py", ("b = 2\n",))}
)
CRITERIA = [Described("sums", "add", "adds", "It adds."), Described("sums", "add", "adds a number", "It adds one.")]
CRITERIA += [Described("means", "mean", "is a mean", "It is a mean.")]
RESULT = Result(
    outcomes=[
        Judged("sums", "add", "adds", True),
        Judged("sums", "add", "adds a number", False, "why", False, ["x"], is_main=True),
    ],
    misconceptions=[Described("sums", "add", "subtracts", "Adding is not taking away.")],
    messages=[Message(unit="means", exercise=None, kind="printed", text="hi", file=None, line=None)],
    layers={"seccomp": True, "landlock": False},
    seconds=0.5,
    pytest={"tests": [{"nodeid": "x", "duration": 0.25}]},
)


def answer(kind: Any = "graded", **changed: Any) -> WorkerAnswer:
    fields = {"worker": "tcp://x", "reasons": [], "missing": {"landlock": "No."}, "versions": {"torch": "2"}}
    return WorkerAnswer(kind=kind, **fields | changed)


def graded(change: Callable[[dict[str, Any]], Any] = dict) -> bytes:
    """An answer with the result, changed."""
    fields = json.loads(to_line(EngineReply(3, RESULT)))
    change(fields["result"])
    return answer().to_bytes(json.dumps(fields).encode())


def test_an_honest_result_arrives_as_it_was_with_what_is_known_of_the_machine() -> None:
    found, result = read_answer(graded(), REQUEST, CRITERIA)
    assert found == answer()
    assert isinstance(result, RemoteResult)
    own = {name: getattr(result, name) for name in Result.__dataclass_fields__}
    assert to_line(EngineReply(3, Result(**own))) == to_line(EngineReply(3, RESULT))
    assert (result.missing, result.versions) == ({"landlock": "No."}, {"torch": "2"})


def test_a_task_arrives_as_it_was() -> None:
    task = Task({"torch": "2"}, False, REQUEST)
    assert read_task(task.to_bytes()) == task


@pytest.mark.parametrize("kind", ["failed", "refused", "unisolated"])
def test_an_answer_without_a_result_has_its_reasons(kind: str) -> None:
    found, reason = read_answer(answer(kind, reasons=["one", "two"]).to_bytes(), REQUEST, CRITERIA)
    assert (found.kind, reason) == (kind, "one; two")


def test_each_field_of_a_result_is_checked() -> None:
    for model, checked in (
        (Result, cluster_messages._Result),
        (Judged, cluster_messages._Judged),
        (Described, cluster_messages._Diagnosed),
    ):
        assert checked.model_fields.keys() == {field.name for field in dataclasses.fields(model)}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda result: result.pop("seconds"), "seconds: Field required"),
        (lambda result: result.update(more=1), "more: Extra inputs"),
        (lambda result: result.update(seconds=-1), "seconds: Input should be greater"),
        (lambda result: result.update(seconds=float("nan")), "no JSON within the bounds"),
        (lambda result: result.update(seconds=10**30), "no JSON within the bounds"),
        (lambda result: result.update(outcomes={}), "outcomes: Input should be a valid list"),
        (lambda result: result.update(drawings=[1]), "drawings: List should have at most 0 items"),
        (lambda result: result.update(layers={"steel": True}), "layers.*Input should be 'limits'"),
        (lambda result: result["outcomes"][0].update(passed=1), "passed: Input should be a valid boolean"),
        (lambda result: result["outcomes"][0].update(name="x" * 501), "name: String should have at most"),
        (lambda result: result["outcomes"][0].update(name="other"), "outcomes of 2 criteria that are not the 2"),
        (lambda result: result["outcomes"].pop(), "outcomes of 1 criteria that are not the 2"),
        (lambda result: result["outcomes"].append(result["outcomes"][0]), "outcomes of 3 criteria"),
        (lambda result: result["messages"][0].update(kind="shouted"), "kind: Input should be 'printed'"),
        (lambda result: result["messages"][0].update(unit="other"), "results of units that were not sent"),
        (lambda result: result["misconceptions"][0].update(unit="means"), "results of units that were not sent"),
        (lambda result: result.update(exceeded=["means"]), "results of units that were not sent"),
    ],
)
def test_a_result_of_another_form_is_refused(change: Callable[[dict[str, Any]], Any], problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        read_answer(graded(change), REQUEST, CRITERIA)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("text", "a str instead of bytes"),
        (None, "a NoneType instead of bytes"),
        (b"", "no JSON"),
        (b"\xff\n", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "the whole: Input should be a valid dictionary"),
        (answer().to_bytes(), "no JSON"),
        (answer().to_bytes(b"[]"), "the whole: Input should be a valid dictionary"),
        (answer().to_bytes(b'{"number": 3, "result": 4}'), "result"),
        (answer().to_bytes(b'{"number": true, "result": "x"}'), "number: Input should be a valid integer"),
        (b"[" + b"1," * cluster_messages.MAX_VALUES + b"1]", "more than 2,000,000 values"),
        (b"x" * (cluster_messages.MAX_BYTES + 1), "more than 64 MB"),
        (answer().to_bytes().replace(b"graded", b"praised"), "kind: Input should be 'graded'"),
        (answer().to_bytes().replace(b"tcp://x", b"x" * 501), "worker: String should have at most 500"),
    ],
    ids=range(14),
)
def test_bytes_of_another_form_are_refused(content: Any, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        read_answer(content, REQUEST, CRITERIA)
