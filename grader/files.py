"""Files written whole or not at all, in folders that one program at a time writes to; and what many files hold."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from grader.errors import GraderError

PARTIAL = ".partial"


class FolderInUse(GraderError):
    """Another program holds the folder; the text is its process id, or empty where it has only just begun."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the file at once: a reader sees the old content or the new, and never a part of either.

    The temporary file has a name of its own, so two programs that write the same file do not mix. Raises OSError,
    with nothing left behind, where the disk is full or the folder cannot be written to.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL)
    partial = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
        # mkstemp makes files that only their owner can read; these are for others to read.
        partial.chmod(0o644)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def remove_partial(folder: Path, suffix: str) -> None:
    """Removes what a program that was killed had half written of files so called. Only where no one else writes."""
    for partial in folder.glob(f".*{suffix}.*{PARTIAL}"):
        partial.unlink()


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps other programs from holding `folder` as well. Raises FolderInUse at once, or OSError.

    The lock is the system's, so it goes with its holder, however that ends; a file that stayed behind is none.
    """
    path = folder / ".lock"
    # Not through a link, for somebody else may have laid one there.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o644), "r+", encoding="ascii", errors="replace") as file:
        # The file may also be gone by now, with the program that had it.
        if not _lock(file) or not path.exists() or not os.path.samestat(path.stat(), os.fstat(file.fileno())):
            raise FolderInUse(file.read())
        try:
            file.truncate()
            file.write(str(os.getpid()))
            file.flush()
            yield
        finally:
            with contextlib.suppress(OSError):  # Windows removes no file that is open
                path.unlink()


def digest(paths: Iterable[Path], root: Path) -> bytes:
    """SHA-256 of these files, in this order: of their names below `root` and of all they hold."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.digest()


def _lock(file: TextIO) -> bool:
    """Locks the file until it is closed; False where another program has."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # There what is locked cannot be read, so it is a byte far behind the text.
            file.seek(2**20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
