"""The worker answers requests about the student's code, and reports errors as plain data with correct lines."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.sandbox import protocol, values
from grader.sandbox.protocol import Error, Failed, Progress, Reply
from grader.sandbox.values import Calls
from grader.sandbox.worker import Worker


def worker(source: str, **siblings: str) -> Worker:
    worker, settings = Worker(), {"is_notebook": False, "skip": [], "is_brief": False}
    units = {"answers": source, **siblings}.items()
    worker.do_begin(
        {u: {"filename": f"{u}.py", "cells": [text], "labels": [f"{u}.py"], **settings} for u, text in units}
    )
    return worker


def answer(worker: Worker, operation: str, **details: Any) -> Reply | Error:
    calls = Calls()
    calls.add(operation, **details)
    [found] = worker.answers(calls.request(7), calls.data)
    assert found.is_last
    assert found.reply.number == 7
    # As it arrives.
    text, _ = protocol.halves(protocol.pack_reply(found.reply, found.data))
    arrived: Reply | Error = protocol.parse(protocol.unpack_reply(text), Reply, Error)  # type: ignore[assignment]
    return arrived


def call(worker: Worker, name: str, *arguments: Any) -> Reply | Error:
    return answer(worker, "call", target=("answers", name), arguments=arguments, options={})


def value(reply: Reply | Error) -> Any:
    assert isinstance(reply, Reply), reply
    [encoded] = reply.values
    return values.Decoder(b"").decode(encoded)


def error(reply: Reply | Error) -> Error:
    assert isinstance(reply, Error), reply
    return reply


def test_a_call_returns_its_value() -> None:
    assert value(call(worker("def f(x): return x + 1"), "f", 1)) == 2


def test_an_error_has_its_built_in_types_its_text_and_the_students_lines() -> None:
    source = "class Odd(KeyError): ...\n\ndef g():\n    raise Odd('text')\ndef f():\n    g()\n"
    types = ["KeyError", "LookupError", "Exception", "BaseException", "object"]
    trace = [["answers.py", 6], ["answers.py", 4]]
    assert list(call(worker(source), "f")) == [7, types, "'text'", 4, "answers.py", trace, []]


def test_of_many_lines_the_first_and_the_last_are_kept() -> None:
    source = "".join(f"def f{n}():\n    f{n + 1}()\n" for n in range(9)) + "def f9():\n    1 / 0\n"
    found = error(call(worker(source), "f0"))
    assert [line for _, line in found.trace] == [2, 16, 18, 20]
    again = error(call(worker("def f():\n    f()\n"), "f"))
    assert [line for _, line in again.trace] == [2]


SHAPES = """\
import torch
class Strange:
    def __getattr__(self, name): raise SystemExit
x, strange = torch.ones(2, 3), Strange()
layer = torch.nn.Linear(2, 2)
def of_names(): y = x @ x
def of_an_expression(): return (x.T
    @ x.T)
def of_a_layer(): layer(x)
def of_the_part_that_fails(): return torch.ones(1) * layer.weight + (x @ x)
def of_strange_objects(): strange.x @ x
def of_many(): a = b = c = d = e = f = g = h = x; return torch.cat([a, b, c, d, e, f, g, h, x[0]])
"""


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("of_names", ["x (2, 3)"]),
        ("of_an_expression", ["x.T (3, 2)"]),
        ("of_a_layer", ["layer.weight (2, 2)", "x (2, 3)"]),
        ("of_the_part_that_fails", ["x (2, 3)"]),
        ("of_strange_objects", []),
        ("of_many", [f"{name} (2, 3)" for name in "abcdef"]),
    ],
)
def test_an_error_has_the_shapes_of_the_tensors_in_its_expression(name: str, shapes: list[str]) -> None:
    assert list(error(call(worker(SHAPES), name)).shapes) == shapes


def test_an_error_inside_a_library_has_the_students_line_that_called_it() -> None:
    found = error(call(worker("import torch\ndef f():\n    return torch.ones(2) @ torch.ones(3)\n"), "f"))
    assert (found.types[0], found.line) == ("RuntimeError", 3)


def test_exits_and_interrupts_are_errors_like_any_other() -> None:
    answers = worker("import sys\ndef f(): sys.exit(0)\ndef g(): raise KeyboardInterrupt")
    assert error(call(answers, "f")).types[0] == "SystemExit"
    assert error(call(answers, "g")).types[0] == "KeyboardInterrupt"


def test_the_text_of_an_error_is_cut_and_one_that_cannot_be_read_is_reported() -> None:
    source = "class Bad(Exception):\n    def __str__(self): raise self\ndef f(): raise Bad\n"
    answers = worker(f"{source}def g(): raise ValueError('x' * 10**6)")
    assert error(call(answers, "f")).text == "(the error's text could not be read)"
    assert len(error(call(answers, "g")).text) == 2000


def test_a_missing_name_is_undefined_and_not_an_error_of_student_code() -> None:
    found = error(call(worker("a = 1"), "f"))
    assert (list(found.types), found.text) == (["Undefined"], "f is not defined")


def test_a_unit_runs_once_and_its_failures_are_returned_each_time() -> None:
    answers = worker("count = []\ncount.append(1)\nbad = 1 / 0\ndef f(): return len(count)")
    first = answer(answers, "load", unit="answers")
    assert answer(answers, "load", unit="answers") == first
    assert value(call(answers, "f")) == 1


def failed(source: str) -> Failed:
    """The only statement of a source that fails."""
    [found] = value(answer(worker(source), "load", unit="answers"))
    return protocol.checked(Failed, found)


def test_a_failure_has_the_names_it_costs_and_its_place() -> None:
    found = failed("a = 1\nb, c = 1 / 0, 2\n")
    assert (found.names, found.line, found.file) == (("b", "c"), 2, "answers.py")


def test_a_failure_in_a_function_has_the_line_that_calls_it_and_those_that_led_there() -> None:
    found = failed("def f():\n    return 1 / 0\n\nf()\n")
    assert (found.line, found.trace) == (4, (("answers.py", 4), ("answers.py", 2)))


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("def f(): ...\ndef f(x=nothing): ...\n", ("f",)),
        ("def f(): ...\ndef f(x=nothing): ...\ndef f(): ...\n", ()),
        ("f = 1\ndef f(x=nothing): ...\n", ()),
        ("for f in [print]:\n    nothing\n", ()),
    ],
)
def test_a_name_is_kept_if_it_has_the_function_of_before(source: str, kept: tuple[str, ...]) -> None:
    assert failed(source).kept == kept


def test_progress_is_reported_before_each_piece() -> None:
    places: list[Progress] = []
    notified = Worker(places.append)
    notified.do_begin(worker("a = 1\n\ndef b(): ...\n").units.sources)
    notified.do_load("answers")
    assert [(place.line, place.names) for place in places] == [(1, ("a",)), (3, ("b",))]


def test_a_value_that_cannot_be_sent_is_refused_with_the_reason() -> None:
    found = error(call(worker("import torch\ndef f(): return torch.eye(2).to_sparse()"), "f"))
    assert list(found.types) == ["Unsendable"]
    assert found.text == "it gave a tensor that is sparse, quantised, nested or without data"


def test_an_unknown_operation_is_an_error_and_the_worker_continues() -> None:
    answers = worker("def f(): return 1")
    assert isinstance(answer(answers, "nonsense"), Error)
    assert value(call(answers, "f")) == 1


BUILDS = """\
def dot_product(a, b): return "the student's own"
def normalize_by_sum(scores): return "the student's own"
def f(): return dot_product([2], [3])
def g(): return attention_dropout(1, 0.5)
"""


def patch(answers: Worker, *exercises: str) -> None:
    """Upload substitutes for two exercises, and patch these."""
    source = "def dot_product(a, b): return 12\ndef normalize_by_sum(scores): return 0"
    answer(answers, "upload", name="substitutes", source=source)
    answer(answers, "patch", exercises=list(exercises))


def test_patched_names_are_substitutes_until_they_are_unpatched() -> None:
    answers = worker(BUILDS)
    call(answers, "f")
    patch(answers, "dot_product", "normalize_by_sum")
    assert value(call(answers, "f")) == 12
    assert value(answer(answers, "unpatch")) == ["dot_product"]
    assert value(call(answers, "f")) == "the student's own"


def test_a_missing_name_is_defined_while_it_is_patched() -> None:
    answers = worker("def f(): return dot_product([2], [3])")
    assert error(call(answers, "f")).types[0] == "NameError"
    patch(answers, "dot_product")
    assert value(call(answers, "f")) == 12
    answer(answers, "unpatch")
    assert error(call(answers, "f")).types[0] == "NameError"


def test_other_units_use_the_substitutes_too() -> None:
    answers = worker("", other=BUILDS)
    for unit in ("other", "answers"):
        answer(answers, "load", unit=unit)
    patch(answers, "dot_product")
    assert value(answer(answers, "call", target=("other", "f"), arguments=(), options={})) == 12


def test_calls_of_an_exercise_without_a_substitute_are_recorded() -> None:
    answers = worker(BUILDS)
    call(answers, "f")
    patch(answers, "attention_dropout")
    assert error(call(answers, "g")).types[0] == "NotImplementedError"
    assert value(answer(answers, "unpatch")) == ["attention_dropout"]


def test_the_next_test_begins_with_the_students_own_names() -> None:
    answers = worker(BUILDS)
    call(answers, "f")
    patch(answers, "dot_product")
    answer(answers, "prepare", seed=1)
    assert value(call(answers, "f")) == "the student's own"
    assert value(answer(answers, "unpatch")) == []


def test_the_torch_functions_of_a_call_are_returned_by_name() -> None:
    answers = worker("import torch\nfrom torch import nn\ndef f(x): return nn.Softmax(-1)(x).sum() + 1")
    found = answer(answers, "torch_functions", target=("answers", "f"), arguments=(torch.zeros(2),))
    assert {"softmax", "sum"} <= set(value(found))
    answers = worker("import torch\ndef f(x): return sum(x)")
    assert value(answer(answers, "torch_functions", target=("answers", "f"), arguments=([1, 2],))) == []
