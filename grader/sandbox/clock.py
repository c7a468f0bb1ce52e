"""The time that a student's code takes, whatever else the machine has to do meanwhile."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

LEAST_COUNTED = 0.25
"""Of each second that goes by so much counts at least, so that everything has an end on the busiest machine too."""


class Clock:
    """Time goes by on it, but for that in which a process, or the thread that asks, is ready and has no processor.

    So what else runs beside costs points at the worst of times only. Linux says how long that was (in
    /proc/PID/schedstat); elsewhere, or without `pid`, all time counts.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._waits = [_Waits(str(pid)), _Waits("thread-self")] if pid else []

    def begin(self) -> Stopwatch:
        """Start a stopwatch."""
        return Stopwatch(self, time.monotonic(), self.waited())

    def waited(self) -> float:
        """Seconds that were spent waiting for a processor, up to now."""
        return sum(waits.seconds() for waits in self._waits)

    def close(self) -> None:
        """From here on nothing more is known of the process."""
        for waits in self._waits:
            waits.close()


@dataclass(frozen=True)
class Stopwatch:
    """Measures from when it was begun."""

    clock: Clock
    begun: float
    waited: float

    def counted(self) -> float:
        """The seconds that count."""
        passed = time.monotonic() - self.begun
        return max(passed - (self.clock.waited() - self.waited), passed * LEAST_COUNTED)

    def left(self, seconds: float) -> float:
        """How much of so many seconds is left, at least. The processes are asked only where it could be nothing."""
        passed = time.monotonic() - self.begun
        return seconds - (passed if passed < seconds else self.counted())


class _Waits:
    """How long one process, or thread, has waited for a processor, as the system counts it."""

    def __init__(self, task: str) -> None:
        self._seconds = 0.0
        self._descriptor = -1
        with contextlib.suppress(OSError):
            self._descriptor = os.open(f"/proc/{task}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        if self._descriptor >= 0:
            # Of one that has ended, what was known last.
            with contextlib.suppress(OSError, ValueError, IndexError):
                _, nanoseconds, *_ = os.pread(self._descriptor, 100, 0).split()
                self._seconds = int(nanoseconds) / 1e9
        return self._seconds

    def close(self) -> None:
        self.seconds()
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
