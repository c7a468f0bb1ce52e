"""Most of the time that a process waits for a processor is not charged; all other time is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from processes import until

from grader.sandbox.failures import TimedOut
from grader.sandbox.limits import LEAST_COUNTED, Clock
from grader.sandbox.processes import ForkServer
from grader.sandbox.sandbox_client import SandboxClient
from grader.testing.student import Student

WAITED_SECONDS = 0.2
CALL_SECONDS = 1.0
BUSY_FOR = """\
import time
def busy_for(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
    return seconds
"""


@contextlib.contextmanager
def busy(processor: int) -> Iterator[int]:
    """A process that does nothing but use this processor."""
    code = f"import os\nos.sched_setaffinity(0, [{processor}])\nprint(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def crowded() -> Iterator[int]:
    """A processor of this machine that three other programs use."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system cannot keep a process on one processor")
    processor = min(os.sched_getaffinity(0))
    with contextlib.ExitStack() as rivals:
        for _ in range(3):
            rivals.enter_context(busy(processor))
        yield processor


def test_only_a_share_of_waiting_for_a_processor_is_charged(crowded: int) -> None:
    with busy(crowded) as pid:
        clock = Clock(pid)
        watch = clock.begin()
        until(lambda: clock.waited() - watch.waited > WAITED_SECONDS)
        before = time.monotonic() - watch.begun
        counted = watch.counted()
        after = time.monotonic() - watch.begun
        clock.close()
    assert LEAST_COUNTED * before <= counted <= max(after - WAITED_SECONDS, LEAST_COUNTED * after)


def test_the_clock_of_an_ended_process_continues_with_its_last_waiting_time(crowded: int) -> None:
    with busy(crowded) as pid:
        clock = Clock(pid)
        known = until(clock.waited)
    assert clock.waited() >= known
    clock.close()
    at_last = clock.waited()
    watch = clock.begin()
    assert until(watch.counted) > 0
    assert clock.waited() == at_last


def test_without_a_process_id_all_time_is_charged(crowded: int) -> None:
    with busy(crowded):
        clock = Clock()
        watch = clock.begin()
        before = time.monotonic() - watch.begun
        assert before <= watch.counted() <= time.monotonic() - watch.begun
        assert clock.waited() == 0


@pytest.mark.proof(part="grading")
def test_a_busy_machine_takes_no_time_from_a_call(
    crowded: int, server: ForkServer, open_client: Callable[..., SandboxClient]
) -> None:
    everywhere = os.sched_getaffinity(server.pid)
    os.sched_setaffinity(server.pid, [crowded])
    try:
        student = Student(open_client(BUSY_FOR, call_seconds=CALL_SECONDS), "answers")
        assert student.busy_for(CALL_SECONDS / 2) == CALL_SECONDS / 2
        with pytest.raises(TimedOut):
            student.busy_for(60)
    finally:
        os.sched_setaffinity(server.pid, everywhere)
