"""What torch does by itself outside of the sandbox, it does inside: what it imports late is imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch_walk

from grader.sandbox.limits import Limits
from grader.sandbox.processes import ForkServer
from grader.sandbox.sandbox_client import SandboxClient, Source
from grader.testing.student import Student

WALK = Path(torch_walk.__file__)
LIMITS = Limits(call_seconds=300, unit_seconds=600, cpu_seconds=300, memory_mb=4096, output_kb=1024)
TOGETHER = 1000

# What works outside and not inside, and why: the beginning of the name of a use. Not every version of torch has each.
MISSING = {
    "torch.export.export(": "it compiles with torch._dynamo, which starts compilers and writes files",
    "from torch.nn.attention.flex_attention import flex_attention;": "it compiles with torch._dynamo",
    "torch.func.hessian(lambda x: (x.softmax(": "TorchScript compiles derivatives of softmax's, from source files",
    "@torch.library.custom_op(": "it reads the file of its caller",
    "with torch.profiler.profile()": "it starts a thread",
    "torch.seed ": "it reads /dev/urandom",
    "torch.random.seed ": "it reads /dev/urandom",
    "torch.Tensor.share_memory_ ": "it makes a file that processes share",
}


@pytest.mark.proof(part="grading")
def test_what_works_outside_the_sandbox_works_inside(server: ForkServer, tmp_path: Path) -> None:
    command = [sys.executable, str(WALK)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, errors="replace")
    works = done.stdout.split("\0")[:-1]
    assert len(works) > TOGETHER
    client = SandboxClient(server, {"answers": Source.of("answers.py", [WALK.read_text(encoding="utf-8")])}, LIMITS)
    failures: dict[str, str] = {}
    for begin in range(0, len(works), TOGETHER):
        failures |= Student(client, "answers").failures(works[begin : begin + TOGETHER])
    client.close()
    assert {name: error for name, error in failures.items() if not name.startswith(tuple(MISSING))} == {}
