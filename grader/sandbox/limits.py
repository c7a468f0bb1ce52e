"""The limits of a student process, as the course sets them, and the time that it takes and may still take.

Needs pydantic, which no student process loads.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from grader.documents import Model
from grader.sandbox.failures import TimedOut

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Limits(Model):
    """What the process that runs a submission may use."""

    call_seconds: Seconds
    unit_seconds: Seconds
    cpu_seconds: Count
    memory_mb: Annotated[int, Field(ge=1024)]  # torch's oneDNN breaks below about 750
    output_kb: Count

    @field_validator("unit_seconds")
    @classmethod
    def _holds_one_call(cls, unit_seconds: float, info: Any) -> float:
        if unit_seconds < info.data.get("call_seconds", 0):
            raise PydanticCustomError("too_short_for_a_call", "Input should be at least call_seconds")
        return unit_seconds


LEAST_COUNTED = 0.25
"""At least this fraction of real time counts, so that everything ends even on the busiest machine."""
QUICK_SECONDS = 0.002
"""All of a time that is shorter counts: it is not worth two system calls."""


class Clock:
    """Counts time, except while the process, or the thread that asks, is ready to run but has no processor.

    Other programs on the machine therefore cost a student almost no time. Linux reports the waiting time in
    /proc/PID/schedstat. On other systems, or without `pid`, all time counts.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._waited: dict[int, float] = {}  # seconds, by descriptor of a schedstat file
        for task in (pid, "thread-self") if pid and sys.platform == "linux" else ():
            with contextlib.suppress(OSError):
                self._waited[os.open(f"/proc/{task}/schedstat", os.O_RDONLY | os.O_CLOEXEC)] = 0.0
        self._total = 0.0  # at the last reading
        self.waited()

    def begin(self) -> Stopwatch:
        """Start a stopwatch. It also leaves out what was waited between the last measured time and its start."""
        return Stopwatch(self, time.monotonic(), self._total)

    def waited(self) -> float:
        """Return how many seconds were spent waiting for a processor so far."""
        for descriptor in self._waited:
            # If the process has ended, its last known value stays.
            with contextlib.suppress(OSError, ValueError, IndexError):
                _, nanoseconds, *_ = os.pread(descriptor, 100, 0).split()
                self._waited[descriptor] = int(nanoseconds) / 1e9
        self._total = sum(self._waited.values()) if self._waited else self._total
        return self._total

    def close(self) -> None:
        """Read the waiting time for the last time, and close the files."""
        self.waited()
        while self._waited:
            os.close(self._waited.popitem()[0])


@dataclass(frozen=True)
class Stopwatch:
    """Measures the time since it was started."""

    clock: Clock
    begun: float
    waited: float

    def counted(self) -> float:
        """Return the seconds that count."""
        passed = time.monotonic() - self.begun
        if passed < QUICK_SECONDS:
            return passed
        return max(passed - (self.clock.waited() - self.waited), passed * LEAST_COUNTED)

    def left(self, seconds: float) -> float:
        """Return what is left of `seconds`, at least. Reads the waiting time only if the result could be zero."""
        passed = time.monotonic() - self.begun
        return seconds - (passed if passed < seconds else self.counted())


class TimeBudget:
    """The time that calls may still take. Each exercise has its own share, so that none can use up another's.

    Attributes:
        name: The exercise whose time is used now; "" before the first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._shares = {"": seconds}
        self._left = dict(self._shares)
        self._stopped: dict[str, TimedOut] = {}  # the last call of an exercise that took too long
        self.name = ""

    def use(self, name: str, shared_by: int) -> None:
        """Use the time of this exercise from now on: one of `shared_by` equal shares of the unit's time."""
        self.name = name
        self._shares[name] = self._seconds / shared_by
        self._left.setdefault(name, self._shares[name])

    def left(self) -> float:
        """Return how many seconds are left. Raises TimedOut if none are."""
        left = self._left[self.name]
        if left > 0:
            return left
        if stopped := self._stopped.get(self.name):
            raise TimedOut(stopped.reason, line=stopped.line, file=stopped.file)
        raise TimedOut("No time was left for it: earlier calls of this exercise took all there was.")

    def spend(self, seconds: float) -> None:
        """Subtract the time of a call."""
        self._left[self.name] -= seconds

    def exceeded(self, call_seconds: float, is_loading: bool = False) -> TimedOut:
        """Return the failure of a call that took too long, or of loading a file.

        It is that of later calls too, if no time is left for them. The text does not say how much was left: that
        differs from run to run, and a report should not.
        """
        together = self._shares[self.name]
        one, all_of_them = "a call", "all calls of an exercise"
        if is_loading:
            one, all_of_them = "a statement outside of functions", "all statements outside of functions"
        most = f"{all_of_them} may take {together:.2g} s together"
        if call_seconds < together:
            most = f"{one} may take {call_seconds:g} s, and {most}"
        self._stopped[self.name] = TimedOut(f"Stopped: {most}. Is there a loop that never ends?")
        return self._stopped[self.name]
