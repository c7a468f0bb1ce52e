"""A course may name modules for student code to import, beside the standard library, torch and numpy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from courses import REPOSITORY

from grader.sandbox.failures import Raised
from grader.sandbox.limits import Limits
from grader.sandbox.processes import ForkServer
from grader.sandbox.sandbox_client import SandboxClient, Source
from grader.testing.student import Student

LIMITS = Limits(call_seconds=5, unit_seconds=20, cpu_seconds=30, memory_mb=2048, output_kb=64)


def opened(server: ForkServer, source: str) -> SandboxClient:
    return SandboxClient(server, {"answers": Source.of("answers.py", [source])}, LIMITS)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer.spawned(["yaml", "markdown_it.token", "rich"])
    yield server
    server.close()


def evaluated(server: ForkServer, source: str) -> object:
    client = opened(server, source)
    try:
        return Student(client, "answers").f()
    finally:
        client.close()


def test_a_named_module_can_be_imported_and_used(server: ForkServer) -> None:
    assert evaluated(server, "import yaml\ndef f(): return yaml.safe_load('a: [1, 2]')") == {"a": [1, 2]}
    source = "from markdown_it.token import Token\ndef f(): return Token('a', 'b', 0).type"
    assert evaluated(server, source) == "a"


def test_a_named_module_does_not_weaken_the_isolation(server: ForkServer) -> None:
    assert not {"limits", "no_new_privileges", "seccomp"} & server.missing.keys()
    with pytest.raises(Raised, match="PermissionError"):
        evaluated(server, "import yaml\ndef f(): open('/etc/passwd')")


def test_the_version_of_a_named_module_is_known(server: ForkServer) -> None:
    source = "import importlib.metadata, yaml\ndef f(): return importlib.metadata.version('yaml') == yaml.__version__"
    assert evaluated(server, source) is True


def test_the_refusal_of_another_module_lists_the_named_ones(server: ForkServer) -> None:
    with pytest.raises(Raised) as caught:
        evaluated(server, "def f(): import scipy")
    expected = "only your files, the standard library, torch, numpy, yaml, markdown_it.token and rich"
    stubs = "stubs of matplotlib, IPython, pandas and tqdm"
    assert caught.value.detail == f"No module named 'scipy'. While grading, {expected} can be imported, and {stubs}"


BROKEN = {
    "starts_a_thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "starts a thread when it is imported, so it cannot be used in an isolated process.",
    ),
    "raises_an_error": ("raise ValueError('no licence')", "cannot be imported: ValueError: no licence"),
    "reads_a_file": (
        "def __dir__(): return ['data']\ndef __getattr__(name): return open(__file__).read()",
        "does not work in an isolated process: it needs files, threads or more modules.",
    ),
    "not_installed": (None, "cannot be imported: ModuleNotFoundError: No module named 'not_installed'"),
}
FORKED = """\
import sys
from grader.sandbox.processes import ForkServer, ServerLost
for name in sys.argv[1:]:
    server = ForkServer.forked([name])
    try:
        server.missing
    except ServerLost as error:
        print(error)
    server.close()
"""


def test_the_error_for_an_unusable_module_has_its_name_and_the_reason(tmp_path: Path) -> None:
    for name, (source, _) in BROKEN.items():
        if source:
            (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}:{tmp_path}"}
    command = [sys.executable, "-c", FORKED, *BROKEN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"The module {name} {reason}" for name, (_, reason) in BROKEN.items()]
