"""Atomic writes, folder locks, the digest of files, and texts that nobody reads by chance."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = Path(__file__).resolve().parent
"""The grader's own code."""

PARTIAL = ".partial"


class FolderInUse(GraderError):
    """Another program holds the folder; the text is its process id, or empty if it has just started."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file atomically: a reader sees the old content or the new, never a part of it.

    The temporary file has a unique name, so two programs can write the same file.

    Args:
        path: The file.
        content: The new content; text is encoded as UTF-8.

    Raises:
        OSError: The disk is full, or the folder is not writable. Nothing is left behind.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL)
    partial = Path(name)
    try:
        with open(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
        # mkstemp creates files that only their owner can read.
        partial.chmod(0o644)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def remove_partial(folder: Path, suffix: str) -> None:
    """Remove temporary files of files with this suffix, left by a killed program. Hold the folder first."""
    for partial in folder.glob(f".*{suffix}.*{PARTIAL}"):
        partial.unlink()


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold `folder`, so that no other program can hold it until this one ends.

    Raises:
        FolderInUse: Another program holds it.
        OSError: The lock cannot be created.
    """
    from filelock import FileLock, Timeout  # takes longer to import than all else that `grader check` needs at first

    # The process id is in a separate file: on Windows nobody else can read a locked one.
    lock, holder = FileLock(folder / ".lock", blocking=False), folder / ".lock.pid"
    try:
        lock.acquire()
    except Timeout:
        raise FolderInUse(holder.read_text(encoding="ascii") if holder.exists() else "") from None
    try:
        write_atomically(holder, str(os.getpid()))
        yield
    finally:
        holder.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # Windows does not remove an open file
            Path(lock.lock_file).unlink()
        lock.release()


def digest(paths: Iterable[Path], root: Path) -> bytes:
    """Return the SHA-256 of files, in this order: of their names relative to `root` and their contents."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.digest()


def mixed(text: bytes, key: bytes) -> bytes:
    """Encode a text so that nobody reads it by chance, or decode it. It is no secret: the key is beside it."""
    stream = hashlib.shake_256(key).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, stream, strict=True))
