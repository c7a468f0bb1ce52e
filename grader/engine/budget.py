"""The limits of a grading process, which is trusted, but works on what a student's process sends."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from grader.errors import InternalError
from grader.sandbox import lockdown
from grader.sandbox.clock import LEAST_COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from grader.sandbox.limits import Limits

# An honest submission takes less than a tenth of it.
MEMORY_BYTES = 3 * 2**29
# Time beyond that of the units, for what comes before and after them.
GRACE_SECONDS = 60
OUT_OF_MEMORY = f"Checking its results took more than {MEMORY_BYTES / 2**30:g} GB of memory in the grader."
# What torch says where the system gives it no memory.
REFUSED_BY_SYSTEM = ("can't allocate memory", "not enough memory")


class LimitExceeded(InternalError):
    """A unit took more than the grading process may use; the text is the reason that its report gives."""


def longest_grading(limits: Limits, units: int) -> float:
    """Return the seconds after which a process that grades so many units counts as hung."""
    return units * (limits.unit_seconds + limits.call_seconds) / LEAST_COUNTED + GRACE_SECONDS


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Say whether this process had no memory left, by the error that came of it."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in REFUSED_BY_SYSTEM)
    )


class Budget:
    """Limits this process: its memory from here on, and its processor time unit by unit.

    Args:
        units: How many units it will grade.
        seconds: The processor time for each.
    """

    def __init__(self, units: int, seconds: int) -> None:
        """Set the limits of what this process does besides grading units."""
        import resource  # not on Windows, where nothing is forked

        self._resource = resource
        self._seconds = seconds
        self._last = units * seconds + GRACE_SECONDS
        memory = lockdown.address_space() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        self._allow(self._last)
        signal.signal(signal.SIGXCPU, self._stop)

    @contextlib.contextmanager
    def of_a_unit(self) -> Iterator[None]:
        """Limit what runs in the block. Raises LimitExceeded."""
        used = self._resource.getrusage(self._resource.RUSAGE_SELF)
        self._allow(int(used.ru_utime + used.ru_stime) + self._seconds)
        try:
            yield
        except MemoryError as error:
            raise LimitExceeded(OUT_OF_MEMORY) from error
        finally:
            self._allow(self._last)

    def _allow(self, seconds: int) -> None:
        self._resource.setrlimit(self._resource.RLIMIT_CPU, (min(seconds, self._last), self._last))

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._allow(self._last)  # or the signal comes again every second
        raise LimitExceeded(f"Checking its results took more than {self._seconds} s of processor time in the grader.")
