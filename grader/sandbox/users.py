"""Gives each student process a user id of its own, so that it shares nothing with processes of other batches."""

from __future__ import annotations

import functools
import os
import re
import socket
from pathlib import Path

VARIABLE = "GRADER_UIDS"
DEFAULT_RANGE = "60000-60999"


def id_range_text() -> str:
    """Return the range of ids as text: that of the environment variable, or the default."""
    return os.environ.get(VARIABLE) or DEFAULT_RANGE


def id_range() -> range:
    """Return the ids to choose from: those of the environment variable, or 60,000 to 60,999.

    Raises:
        ValueError: The variable is not two ascending numbers above 0, such as 60000-60999.
    """
    text = id_range_text()
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", text)
    first, last = map(int, found.groups()) if found else (0, 0)
    if not 0 < first <= last:
        raise ValueError(f"{VARIABLE} is {text!r}: write two numbers, such as {DEFAULT_RANGE}.")
    return range(first, last + 1)


def claim() -> tuple[int, socket.socket] | None:
    """Claim an id that no account and no other student process has at the moment.

    Returns:
        The id, and the socket that holds it until it is closed; None if no id is free.
    """
    for uid in id_range():
        if not is_mapped(uid) or _has_account(uid):
            continue
        # The kernel frees a name in the abstract namespace when its process ends, however that happens.
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0attention-grader/uid/{uid}")
        except OSError:
            holder.close()
        else:
            return uid, holder
    return None


def is_mapped(uid: int) -> bool:
    """Whether the user namespace of this process contains this id."""
    lines = [list(map(int, line.split())) for line in _map().splitlines()]
    return any(first <= uid < first + count for first, _, count in lines)


@functools.cache
def _map() -> str:
    return Path("/proc/self/uid_map").read_text(encoding="ascii")


@functools.cache
def _has_account(uid: int) -> bool:
    import pwd  # not on Windows, where nothing is claimed

    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
