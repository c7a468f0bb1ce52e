"""The student's side answers requests about the student's code, and tells errors in plain data with true lines."""

from __future__ import annotations

from typing import Any

import torch

from grader.sandbox import wire
from grader.sandbox.worker import Worker


def worker(source: str, **siblings: str) -> Worker:
    worker = Worker()
    sources = {
        unit: {"filename": f"{unit}.py", "cells": [text], "labels": [f"{unit}.py"], "is_notebook": False, "skip": []}
        for unit, text in {"answers": source, **siblings}.items()
    }
    worker.do_begin(sources)
    return worker


def answer(worker: Worker, operation: str, **details: Any) -> dict[str, Any]:
    tensors: list[torch.Tensor] = []
    request = wire.encode({"operation": operation, **details}, tensors)
    return worker.answer({"request": request}, tensors)[0]


def call(worker: Worker, name: str, *arguments: Any) -> dict[str, Any]:
    return answer(worker, "call", target=("answers", name), arguments=arguments, options={})


def test_a_call_gives_its_value() -> None:
    assert call(worker("def f(x): return x + 1"), "f", 1) == {"value": 2}


def test_an_error_tells_its_built_in_types_its_text_and_the_students_own_line() -> None:
    source = "class Odd(KeyError): ...\n\ndef g():\n    raise Odd('text')\ndef f():\n    g()\n"
    assert call(worker(source), "f")["error"] == {
        "types": ["KeyError", "LookupError", "Exception", "BaseException", "object"],
        "text": "'text'", "line": 4, "file": "answers.py",
    }  # fmt: skip


def test_an_error_inside_a_library_is_told_with_the_students_line_that_led_there() -> None:
    error = call(worker("import torch\ndef f():\n    return torch.ones(2) @ torch.ones(3)\n"), "f")["error"]
    assert (error["types"][0], error["line"]) == ("RuntimeError", 3)


def test_an_exit_and_an_interrupt_are_errors_like_any_other() -> None:
    answers = worker("import sys\ndef f(): sys.exit(0)\ndef g(): raise KeyboardInterrupt")
    assert call(answers, "f")["error"]["types"][0] == "SystemExit"
    assert call(answers, "g")["error"]["types"][0] == "KeyboardInterrupt"


def test_an_error_that_cannot_even_be_printed_is_still_told() -> None:
    answers = worker("class Bad(Exception):\n    def __str__(self): raise self\ndef f(): raise Bad")
    assert call(answers, "f")["error"]["text"] == "(the error's text could not be read)"


def test_the_text_of_an_error_is_cut() -> None:
    assert len(call(worker("def f(): raise ValueError('x' * 10**6)"), "f")["error"]["text"]) == 2000


def test_a_name_that_is_not_there_is_undefined_and_not_an_error_of_the_students() -> None:
    error = call(worker("a = 1"), "f")["error"]
    assert (error["types"], error["text"]) == (["Undefined"], "f is not defined")


def test_a_unit_is_run_once_and_its_failures_are_told_each_time() -> None:
    answers = worker("count = []\ncount.append(1)\nbad = 1 / 0\ndef f(): return len(count)")
    first = answer(answers, "load", unit="answers")
    assert answer(answers, "load", unit="answers") == first
    assert call(answers, "f") == {"value": 1}


def test_a_failure_tells_the_names_it_cost_and_its_place() -> None:
    answers = worker("a = 1\nb, c = 1 / 0, 2\n")
    [failure] = wire.decode(answer(answers, "load", unit="answers")["value"], [])
    assert (failure["names"], failure["line"], failure["file"]) == (("b", "c"), 2, "answers.py")


def test_before_each_piece_its_place_is_told() -> None:
    places: list[dict[str, Any]] = []
    told = Worker(places.append)
    told.do_begin(worker("a = 1\n\ndef b(): ...\n").sources)
    told.do_load("answers")
    assert [(place["line"], place["names"]) for place in places] == [(1, ("a",)), (3, ("b",))]


def test_a_value_that_cannot_be_sent_is_refused_with_the_reason() -> None:
    error = call(worker("import torch\ndef f(): return torch.eye(2).to_sparse()"), "f")["error"]
    assert error["types"] == ["Unsendable"]
    assert error["text"] == "it gave a tensor that is sparse, quantised, nested or without data"


def test_an_unknown_request_is_an_error_and_not_the_end() -> None:
    answers = worker("def f(): return 1")
    assert "error" in answer(answers, "nonsense")
    assert call(answers, "f") == {"value": 1}
