"""The engine's process, which a program may start before it knows what to grade."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from courses import COURSE

from grader.engine import engine_server
from grader.engine.engine_client import Engine
from grader.engine.engine_messages import REQUEST, EngineRequest, read, to_line
from grader.sandbox.processes import start_module
from grader.submissions.submission import UnitSource


def test_the_process_that_was_started_early_is_the_engine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(arguments)
        return start_module(*arguments, **options)

    monkeypatch.setattr(engine_server, "start_module", noted)
    engine_server.start_early()
    with Engine(COURSE) as engine:
        assert engine.handshake().criteria
    assert started == [("grader.engine.engine_server",)]


def test_a_message_is_one_line_whatever_a_text_holds() -> None:
    request = EngineRequest(1, {"sums": UnitSource("sums.py", ("'half of a pair: \ud800'\n\u2028\0",))})
    line = to_line(request)
    assert line.count(b"\n") == 1
    assert read(REQUEST, line) == request


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_that_needs_no_engine_ends_the_early_process() -> None:
    program = "from grader.engine import engine_server; engine_server.start_early(); print(engine_server._early[0].pid)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not Path(f"/proc/{int(done.stdout)}").exists()
