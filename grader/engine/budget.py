"""The limits of a grading process. It is trusted, but it processes what a student process sends."""

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

# An honest submission takes less than a tenth of this.
MEMORY_BYTES = 3 * 2**29
# Time for the work before and after the units.
GRACE_SECONDS = 60
OUT_OF_MEMORY = f"Checking its results took more than {MEMORY_BYTES / 2**30:g} GB of memory in the grader."
# Torch's errors if the system gives it no memory.
REFUSED_BY_SYSTEM = ("can't allocate memory", "not enough memory")


class LimitExceeded(InternalError):
    """A unit exceeded a limit of the grading process. The text is the reason in its report."""


def longest_grading(limits: Limits, units: int) -> float:
    """Return the seconds after which a process that grades this number of units counts as hung."""
    return units * (limits.unit_seconds + limits.call_seconds) / LEAST_COUNTED + GRACE_SECONDS


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error means that this process had no memory left."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(text in str(error) for text in REFUSED_BY_SYSTEM)
    )


class Budget:
    """Limits the further memory of this process, and its processor time for each unit.

    Args:
        units: How many units it will grade.
        seconds: The processor time for each.
    """

    def __init__(self, units: int, seconds: int) -> None:
        """Set the limits for everything outside of the units."""
        import resource  # not on Windows, where nothing is forked

        self._resource = resource
        self._seconds = seconds
        self._last = units * seconds + GRACE_SECONDS
        self._exceeded: LimitExceeded | None = None
        memory = lockdown.address_space() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        self._allow(self._last)
        signal.signal(signal.SIGXCPU, self._stop)

    @contextlib.contextmanager
    def of_a_unit(self) -> Iterator[None]:
        """Limit the code in the block. Raises LimitExceeded."""
        used = self._resource.getrusage(self._resource.RUSAGE_SELF)
        self._exceeded = None
        self._allow(int(used.ru_utime + used.ru_stime) + self._seconds)
        try:
            yield
        except MemoryError as error:
            raise LimitExceeded(OUT_OF_MEMORY) from error
        finally:
            self._allow(self._last)
            if self._exceeded:  # a solution or misconception that ran in this process may have handled the error
                raise self._exceeded

    def _allow(self, seconds: int) -> None:
        self._resource.setrlimit(self._resource.RLIMIT_CPU, (min(seconds, self._last), self._last))

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._allow(self._last)  # otherwise the signal is sent again every second
        self._exceeded = LimitExceeded(
            f"Checking its results took more than {self._seconds} s of processor time in the grader."
        )
        raise self._exceeded
