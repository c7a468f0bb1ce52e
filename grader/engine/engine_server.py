"""The engine's process: it imports torch once, runs the suites, and forks one grading process per submission.

It can be started before it is known what to grade, because importing torch takes long. `grader.engine.engine_client`
sends settings and submissions as lines of JSON, and reads the results as lines of JSON. The fork server is forked as
soon as torch is imported, so that no student process ever holds a suite, a solution or a path. This module therefore
imports at the top only what the fork server needs.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

from grader.sandbox.processes import ForkServer, PracticeServer, start_module

_early: list[subprocess.Popen[bytes]] = []
"""The process that was started early, until it is needed."""
SETTINGS = Path(__file__).with_name("pytest.ini")
# Plugins of pytest that cost time in every test, for features that no suite uses.
IDLE_PLUGINS = (
    "logging", "warnings", "unraisableexception", "threadexception", "faulthandler", "skipping", "unittest",
    "subtests", "tmpdir", "setuponly", "setupplan",
)  # fmt: skip
PYTEST_OPTIONS = [
    *(f"-pno:{plugin}" for plugin in IDLE_PLUGINS),
    "-c", str(SETTINGS), "--noconftest", "-p", "grader.engine.plugin", "--capture=no", "--tb=native", "-qq",
    "-p", "pytest_metadata.plugin", "-p", "pytest_jsonreport.plugin", "--assert=plain",
    "--json-report", "--json-report-file=none", "--json-report-omit", "collectors", "keywords", "streams", "log",
]  # fmt: skip


def start_early() -> None:
    """Start a process for the engine that this program will need. If it needs none, the process ends with the program.

    Raises:
        OSError: It cannot be started.
    """
    _early.append(start())
    atexit.register(_end_early)


def start() -> subprocess.Popen[bytes]:
    """Return a process that waits for its settings on standard input: the one that was started early, or a new one.

    Raises:
        OSError: It cannot be started.
    """
    pipe = subprocess.PIPE
    return _early.pop() if _early else start_module("grader.engine.engine_server", stdin=pipe, stdout=pipe, stderr=pipe)


def _end_early() -> None:
    while _early:
        with _early.pop() as process:
            process.kill()


def main() -> int:
    """Serve requests on standard input until it ends, and return pytest's exit code.

    The first two lines have the settings. Torch is imported before they come.
    """
    # Imports leave little garbage, and looking for it would write to objects that the fork server shares.
    gc.disable()
    requests, replies = os.dup(0), os.dup(1)
    # Standard output carries only results, so what pytest prints goes to standard error.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    import torch  # noqa: F401 - nothing of the course is imported yet

    line = _read_line(requests)
    if not line:  # no engine is needed
        return 0
    server_settings = json.loads(line)
    start = PracticeServer if server_settings["is_practice"] else ForkServer.forked
    server = start(server_settings["modules"])
    settings = json.loads(_read_line(requests))
    # Other installed plugins could change which tests pass.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    import pytest

    from grader.course.model import load_course
    from grader.engine.plugin import EnginePlugin

    course = load_course(Path(settings["root"]))
    # The course's copy of the visible tests, because students can edit theirs.
    if settings["is_hidden"]:
        tests = [course.suites]
    else:
        visible = [course.checks / f"test_{unit}.py" for unit in settings["units"]]
        tests = [path for path in visible if path.is_file()] or [course.checks]
    engine = EnginePlugin(course, settings["is_hidden"], server, requests, replies)
    try:
        return int(pytest.main([*map(str, tests), "--course", str(course.root), *PYTEST_OPTIONS], plugins=[engine]))
    finally:
        engine.server.close()


def _read_line(requests: int) -> bytes:
    """Read a line and no more, because requests follow. It is empty if there is none."""
    return b"".join(iter(lambda: os.read(requests, 1).strip(b"\n"), b""))


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)  # saves the half second that Python takes to unload torch
