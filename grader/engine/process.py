"""The engine's process. It can be started before it is known what to grade, because importing torch takes long."""

from __future__ import annotations

import atexit
import subprocess

from grader.sandbox.processes import start_module

_early: list[subprocess.Popen[bytes]] = []
"""The process that was started early, until it is needed."""


def start_early() -> None:
    """Start a process for the engine that this program will need. If it needs none, the process ends with the program.

    Raises:
        OSError: It cannot be started.
    """
    _early.append(_started())
    atexit.register(_end_early)


def start() -> subprocess.Popen[bytes]:
    """Return a process that waits for its settings on standard input: the one that was started early, or a new one.

    Raises:
        OSError: It cannot be started.
    """
    return _early.pop() if _early else _started()


def _started() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return start_module("grader.engine.server", stdin=pipe, stdout=pipe, stderr=pipe)


def _end_early() -> None:
    while _early:
        with _early.pop() as process:
            process.kill()
