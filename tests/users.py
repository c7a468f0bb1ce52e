"""Runs a program as another user, also if the program is in a folder that only root may enter."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

# A user without files and processes.
ORDINARY_USER = 54321


def as_ordinary_user(command: Sequence[object], needed: Sequence[Path]) -> list[str]:
    """Return a command for root that runs `command` as an ordinary user, who can read the interpreter and `needed`.

    Python may be below a folder of mode 0700, such as root's home. So the command gets its own mount namespace. There
    an empty folder covers each closed one and holds, in the old place, only what is needed. Nothing changes for other
    processes. If no folder is closed, no namespace is needed.
    """
    places = [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), *(path.resolve() for path in needed)]
    hidden = [place for place in places if _closed_folder(place)]
    # A descriptor that was opened before still leads to what the empty folder covers.
    lines = [f"exec {number}< {shlex.quote(str(place))}" for number, place in enumerate(hidden, start=10)]
    closed = {folder for place in hidden if (folder := _closed_folder(place))}
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(folder))}" for folder in sorted(closed)]
    for number, place in enumerate(hidden, start=10):
        quoted = shlex.quote(str(place))
        lines += [f"mkdir -p {quoted}", f"mount -c --bind /proc/self/fd/{number} {quoted}", f"exec {number}<&-"]
    user = f"--reuid={ORDINARY_USER} --regid={ORDINARY_USER} --clear-groups --no-new-privs"
    if not hidden:
        return ["setpriv", *user.split(), *map(str, command)]
    lines.append(f"exec setpriv {user} {shlex.join(map(str, command))}")
    return ["unshare", "--mount", "bash", "-c", "set -e\n" + "\n".join(lines)]


def _closed_folder(place: Path) -> Path | None:
    """The outermost folder around `place` that only its owner may enter."""
    return next((folder for folder in [*reversed(place.parents)] if not folder.stat().st_mode & 0o001), None)
