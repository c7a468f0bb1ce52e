"""No reply within the bounds makes a criterion use much time or memory of the grader."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from courses import COURSE, REPOSITORY, environment, grader_command, hand_in, read_reports
from units import SUITES, defined_in

from grader.engine import grading_processes
from grader.sandbox import protocol
from grader.testing.student import InProcessBackend

pytestmark = pytest.mark.proof(part="attacks")

MOST_CALLS = 6
LARGE = torch.zeros(protocol.MAX_TENSOR_BYTES // 2, dtype=torch.uint8)
COSTLY: dict[str, Any] = {
    "bytes": LARGE,
    "floats": LARGE.view(torch.float32),
    "arguments left as bytes": (LARGE[:1], LARGE),
    "a large square": LARGE.view(torch.float32).view(2048, 1024),
    "empty rows": torch.zeros(protocol.MAX_EMPTY_ROWS, 0),
    "a list of large tensors": [LARGE] * protocol.MAX_TENSORS,
    "a tuple of two": (LARGE, LARGE),
    "a large parameter": {"W_query": (LARGE.view(torch.float32), True)},
    "a large gradient": (LARGE[:100], {"0": LARGE.view(torch.float32)}),
    "text": "x" * (protocol.MAX_JSON_BYTES - 100),
    "a list": [0] * (protocol.MAX_VALUES - 100),
    "a dict": {str(number): number for number in range(protocol.MAX_VALUES // 3)},
}


class CostlyAt(InProcessBackend):
    """The solution, with a costly reply to one request."""

    def __init__(self, unit: str, names: dict[str, Any], number: int, reply: Any) -> None:
        super().__init__(unit, names)
        self.left = number
        self.reply = reply

    def call(self, operation: str, **details: Any) -> Any:
        answer = super().call(operation, **details)
        self.left -= 1
        return self.reply if self.left == -1 else answer


@pytest.mark.parametrize("unit", COURSE.units)
def test_a_costly_reply_stays_within_the_budget_of_a_grading_process(unit: str) -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with open(writing, "w", encoding="utf-8") as file:
            try:
                file.write("\n".join(beyond_the_budget(unit)))
            except BaseException:
                file.write(traceback.format_exc())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as file:
        found = file.read()
    os.waitpid(pid, 0)
    assert found == ""


def beyond_the_budget(unit: str) -> list[str]:
    """The criteria that exceed the budget because of a costly reply, each with the reply's name and place."""
    found = []
    names = defined_in(REPOSITORY / "solutions" / f"{unit}.py", unit)
    criteria = SUITES[unit].criteria
    runs = len(criteria) * len(COSTLY) * MOST_CALLS
    limits = grading_processes.Budget(runs, SECONDS)
    for criterion, (kind, reply) in itertools.product(criteria, COSTLY.items()):
        for number in range(MOST_CALLS):
            backend = CostlyAt(unit, names, number, reply)
            try:
                with limits.of_a_unit():
                    criterion.run(backend)
            except grading_processes.LimitExceeded as error:
                found.append(f"{criterion.name}, {kind} for request {number}: {error}")
            if backend.left >= 0:
                break
    return found


# Everything that this submission gives is as large as a reply may be.
LARGEST = f"""\
import torch

LARGE = torch.ones({protocol.MAX_TENSOR_BYTES}, dtype=torch.uint8)


class CausalAttention(torch.nn.Module):
    def __init__(self, *_):
        super().__init__()

    def named_parameters(self):
        return [("W_query.weight", LARGE)]

    def forward(self, *_):
        return LARGE


def causal_mask(*_, **__):
    return LARGE


mask_then_renormalize = mask_then_softmax = attention_dropout = causal_mask
"""
# Than for an honest submission: that takes 270 MB, most of it shared with the engine, and 640 MB if torch's build has
# CUDA.
MOST_MORE = 300 * 2**20


# Prints the peak in KiB of the largest process of a command. A small process starts it, because the peak of a process
# that a large one starts is at first that of the large one.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_submission_of_only_the_largest_replies_leaves_the_grader_small(tmp_path: Path) -> None:
    honest = (REPOSITORY / "solutions" / "causal_attention.py").read_text(encoding="utf-8")
    peaks = {student: peak(tmp_path / student, text) for student, text in (("ada", honest), ("eve", LARGEST))}
    assert read_reports(tmp_path / "eve" / "reports")["eve"]["points"] == 0
    assert peaks["eve"] < peaks["ada"] + MOST_MORE


def peak(folder: Path, text: str) -> int:
    """The bytes of the largest process of the grading of a student, who is called like the folder."""
    hand_in(folder / "class" / folder.name, text, "causal_attention")
    command = grader_command("grade", folder / "class", "--unit", "causal_attention", "--out", folder / "reports")
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, command)],
        cwd=REPOSITORY, env=environment(REPOSITORY), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout) * 1024


# Far less than a unit's budget, because a submission may do this in each of its criteria.
SECONDS = 6
