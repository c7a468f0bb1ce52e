"""Other processes: which there are, whether they run, what is in their memory, and how much of it they may have."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

Found = TypeVar("Found")

PATIENCE_SECONDS = 60


def until(look: Callable[[], Found]) -> Found:
    """Call `look` until its result is true, and return this result."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < latest:
        if found := look():
            return found
        threading.Event().wait(0.01)
    raise AssertionError(f"nothing happened within {PATIENCE_SECONDS} seconds")


def children(pid: int) -> list[int]:
    """Return the child processes, oldest first: in the kernel's order, because ids start again after the largest."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


def status(pid: int) -> dict[str, str]:
    """Return the fields of /proc/PID/status, or nothing if the process has ended (also as a zombie)."""
    try:
        fields = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
    except OSError:
        return {}
    return {} if fields["State"].startswith(("Z", "X")) else fields


def address_space(pid: int) -> int:
    """Return the size of the address space in bytes, or 0 if the process has ended."""
    return int(status(pid).get("VmSize", "0 kB").split()[0]) * 1024


def running(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if status(pid)]


def until_ended(pids: Iterable[int]) -> None:
    until(lambda: not running(pids))


def mapped_files(pid: int) -> set[str]:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in maps if line.count("/")}


def found_in_memory(pid: int, texts: Iterable[str]) -> set[str]:
    """Return those of `texts` that are in the memory of the process. They are ASCII, which Python stores unchanged."""
    spelled = {text: text.encode("ascii") for text in texts}
    found: set[str] = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(place, 16) for place in line.split()[0].split("-"))
            # Only memory that can be written: `mapped_files` lists the rest.
            if line.split()[1].startswith("rw"):
                with contextlib.suppress(OSError, OverflowError):
                    memory.seek(begin)
                    content = memory.read(end - begin)
                    found |= {text for text, form in spelled.items() if form in content}
    return found


@contextlib.contextmanager
def little_memory(pid: int, megabytes: int) -> Iterator[None]:
    """Give a process and its later children this memory in all. Skips the test where no such group can be made."""
    root = Path("/sys/fs/cgroup")
    old = root / "memory" / "memory.limit_in_bytes"
    group = (old.parent if old.exists() else root) / f"grader-test-{pid}"
    try:
        group.mkdir()
        (group / ("memory.limit_in_bytes" if old.exists() else "memory.max")).write_text(str(megabytes * 2**20))
        with contextlib.suppress(OSError):  # without swap, there is none to forbid
            (group / "memory.swap.max").write_text("0")
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no group of processes with little memory can be made here: {error}")
    try:
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(pid))
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
