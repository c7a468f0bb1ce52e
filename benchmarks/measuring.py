"""Measures commands: the time, the processor time and the memory of a command and of all processes that it starts.

It needs Linux, because it reads /proc.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import resource
import subprocess
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.25


@dataclass
class Took:
    """Seconds of wall-clock time and of processor time, and the most memory, in MB, in all processes together."""

    wall: float
    processor: float
    memory: float = 0.0


def run(
    command: list[str],
    cwd: Path,
    allowed: tuple[int, ...] = (0,),
    cores: Collection[int] | None = None,
    **environment: str,
) -> tuple[Took, str]:
    """Run a command.

    Args:
        command: The program and its arguments.
        cwd: The folder in which it runs.
        allowed: The exit codes that are no error.
        cores: The cores that it may use; by default those of this process.
        environment: Variables that are added to those of this process.

    Returns:
        What its process and all that it starts took, and its output.
    """
    settings = {**os.environ, **environment}
    pinned = None if cores is None else functools.partial(os.sched_setaffinity, 0, cores)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    program = subprocess.Popen(
        command, cwd=cwd, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=pinned
    )
    with program, sampled(program.pid) as most:
        output, errors = program.communicate()
        wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if program.returncode not in allowed:
        raise SystemExit(f"{' '.join(command)} ended with code {program.returncode}:\n{output}{errors}")
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, max(most)), output


@contextlib.contextmanager
def sampled(pid: int) -> Iterator[list[float]]:
    """Add up the memory of a process and all that it starts, several times a second. Yields the list of the sums."""
    sums, done = [0.0], threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_SECONDS):
            sums.append(sum(map(memory, [pid, *descendants(pid)])))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield sums
    finally:
        done.set()
        sampler.join()


def memory(pid: int) -> float:
    """Return the memory of a process in MB, with its share of what several have in common."""
    return _kilobytes(pid, "Pss") / 1024


def own_memory(pid: int) -> float:
    """Return the memory of a process in MB that it shares with no other."""
    return _kilobytes(pid, "Private_(?:Clean|Dirty)") / 1024


def _kilobytes(pid: int, field: str) -> int:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return sum(map(int, re.findall(rf"^{field}: +(\d+) kB", text, re.MULTILINE)))
    return 0


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    return [one for child in children(pid) for one in (child, *descendants(child))]


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process, oldest first: workers start engines in threads."""
    with contextlib.suppress(OSError):
        tasks = [task.name for task in Path(f"/proc/{pid}/task").iterdir()]
        texts = [Path(f"/proc/{pid}/task/{task}/children").read_text() for task in tasks]
        return sorted(int(child) for text in texts for child in text.split())
    return []


def processor_time(pid: int) -> tuple[float, float]:
    """Return the seconds of processor time of a process, and of its children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own, system, childrens, childrens_system = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
        return own + system, childrens + childrens_system
    return 0.0, 0.0
