"""What /proc tells of other processes: who they are, whether they run, and what their memory holds."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_SECONDS = 60


def until(look: Callable[[], Found]) -> Found:
    """What `look` gives as soon as it is neither false nor empty."""
    latest = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < latest:
        if found := look():
            return found
        threading.Event().wait(0.01)
    raise AssertionError(f"nothing happened within {PATIENCE_SECONDS} seconds")


def children(pid: int) -> list[int]:
    """Oldest first, as the kernel lists those of one thread; their numbers begin anew after the largest."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


def status(pid: int) -> dict[str, str]:
    """Empty where the process has ended, even if its parent has not taken notice."""
    try:
        fields = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
    except OSError:
        return {}
    return {} if fields["State"].startswith(("Z", "X")) else fields


def address_space(pid: int) -> int:
    """In bytes; 0 where the process has ended."""
    return int(status(pid).get("VmSize", "0 kB").split()[0]) * 1024


def running(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if status(pid)]


def until_ended(pids: Iterable[int]) -> None:
    until(lambda: not running(pids))


def mapped_files(pid: int) -> set[str]:
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in maps if line.count("/")}


def found_in_memory(pid: int, texts: Iterable[str]) -> set[str]:
    """Which of `texts`, all ASCII, the process holds; Python keeps such texts as they are."""
    spelled = {text: text.encode("ascii") for text in texts}
    found: set[str] = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(place, 16) for place in line.split()[0].split("-"))
            # What is mapped from a file and cannot be written is told of by `mapped_files`.
            if line.split()[1].startswith("rw"):
                with contextlib.suppress(OSError, OverflowError):
                    memory.seek(begin)
                    content = memory.read(end - begin)
                    found |= {text for text, form in spelled.items() if form in content}
    return found
