"""Gives each student's process a user id of its own, so that it shares nothing with those of other batches."""

from __future__ import annotations

import functools
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "GRADER_UIDS"
DEFAULT_RANGE = "60000-60999"


def id_range_text() -> str:
    """Give the ids to choose from, as the environment variable has them or by default."""
    return os.environ.get(VARIABLE) or DEFAULT_RANGE


def id_range() -> range:
    """Read the ids to choose from: those of the environment variable, or 60,000 to 60,999.

    Raises:
        ValueError: The variable is not two numbers above 0 and in order, such as 60000-60999.
    """
    text = id_range_text()
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", text)
    first, last = map(int, found.groups()) if found else (0, 0)
    if not 0 < first <= last:
        raise ValueError(f"{VARIABLE} is {text!r}: write two numbers, such as {DEFAULT_RANGE}.")
    return range(first, last + 1)


def claim() -> tuple[int, socket.socket] | None:
    """Claim an id that no account, and no other process that was given one, has at the moment.

    Returns:
        The id, and the socket that holds it until it is closed; None where there is no such id.
    """
    for uid in _possible():
        # A name in the system's abstract space goes with the process that holds it, however that ends.
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0attention-grader/uid/{uid}")
        except OSError:
            holder.close()
        else:
            return uid, holder
    return None


def _possible() -> Iterator[int]:
    return (uid for uid in id_range() if is_mapped(uid) and not _has_account(uid))


def is_mapped(uid: int) -> bool:
    """Say whether the user namespace of this process has this id."""
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
