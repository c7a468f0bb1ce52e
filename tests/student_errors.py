"""Errors of answers that run in the process of the tests, explained by their source."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from grader.engine.explanations import explained
from grader.engine.outcomes import Outcome, judge
from grader.engine.source_lines import SourceLines
from grader.sandbox.failures import Failure
from grader.sandbox.replies import values_of
from grader.sandbox.sandbox_client import Source
from grader.sandbox.worker import Worker
from grader.testing.running_test import Recorder

FILE = "answers.py"


def worker_of(source: Source) -> Worker:
    """A worker with this source as its only unit, `answers`."""
    worker = Worker()
    worker.do_begin({"answers": vars(source) | {"skip": [], "is_brief": False}})
    return worker


def lines_of(source: str, exercises: Collection[str] = ()) -> SourceLines:
    return SourceLines({"answers": Source.of(FILE, [source])}, {"answers": exercises})


def error_of(source: str, exercises: Collection[str], name: str, *arguments: Any) -> tuple[Outcome, SourceLines]:
    """Call one of the exercises of this source: the outcome of its error, and the lines of the source."""
    worker, lines = worker_of(Source.of(FILE, [source])), lines_of(source, exercises)
    with pytest.raises(Failure) as caught:  # noqa: PT012 - the error of the student's code becomes a failure
        try:
            worker.resolve(("answers", name))(*arguments)
        except Exception as error:
            values_of(worker.describe(error), b"")
    return explained(judge(caught.value, Recorder()), "answers", name, {*exercises} - {name}, lines), lines
