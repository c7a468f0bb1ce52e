"""Reads one plain file that others wrote.

The file may be hostile, and this process is trusted. So it opens only plain files, follows no link on the way to them,
never waits for one, and reads at most a limit. It raises UnreadableError for any other file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = 2**20

# Each of these is missing on some platform.
_PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = _PLAIN | getattr(os, "O_DIRECTORY", 0)
# Without O_NONBLOCK, opening a named pipe that replaced the file after the check would wait for ever.
_FILE = _PLAIN | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "named pipe", stat.S_IFSOCK: "socket"}

# False on Windows, where each step is checked by its path instead.
_BY_DESCRIPTOR = os.open in os.supports_dir_fd


class UnreadableError(Exception):
    """A file cannot be read; the text is a sentence that begins with its name and says why."""


class Tree(Protocol):
    """Files that are not in a folder on disk, such as those of an archive."""

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""


def read_text(folder: Path | Tree, relative: str, limit: int) -> str | None:
    """Read the text of a file. Lines end in a newline.

    Args:
        folder: The folder or tree that contains it.
        relative: Its path from there.
        limit: The most bytes that it may have.

    Returns:
        The text; None if there is no such file.

    Raises:
        UnreadableError: It is too large, not a plain file, not text, or not readable.
    """
    content = read_bytes(folder, relative, limit) if isinstance(folder, Path) else folder.read_bytes(relative, limit)
    return None if content is None else _decoded(content, relative)


def unix_lines(text: str) -> str:
    """Return a text with newlines as the only line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def size_text(size: int) -> str:
    """Return a number of bytes in the largest unit that fits."""
    if size < MEGABYTE:
        return f"{size // 1024} KB"
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / MEGABYTE:.1f} MB"


def _decoded(content: bytes, relative: str) -> str:
    if b"\0" in content:
        position = content.index(b"\0") + 1
        raise UnreadableError(f"{relative} is not a text file (byte {position} is zero): save it as UTF-8.")
    try:
        return unix_lines(content.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{relative} is not UTF-8 (byte {error.start + 1}): save it as UTF-8.") from None


def read_bytes(folder: Path, relative: str, limit: int) -> bytes | None:
    """Return the content of a plain file below `folder`; None if there is no such file. Raises UnreadableError."""
    try:
        with _opened(folder, relative) as descriptor:
            # Checked again, because the file can change between the first check and the opening.
            status = os.fstat(descriptor)
            _refuse_unless_file(status, relative)
            refuse_beyond(limit, status.st_size, relative)
            content = bytearray()
            while chunk := os.read(descriptor, MEGABYTE):
                content += chunk
                refuse_beyond(limit, len(content), relative)
            return bytes(content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(
            f"{relative} cannot be read ({os.strerror(error.errno or 0)}): make it a readable file."
        ) from None


@contextlib.contextmanager
def _opened(folder: Path, relative: str) -> Iterator[int]:
    """Yield a descriptor of the file, opened folder by folder so that no link on the way is followed."""
    *parents, name = relative.split("/")
    with contextlib.ExitStack() as stack:

        def enter(path: str | Path, flags: int, within: int | None) -> int:
            descriptor = os.open(path, flags, dir_fd=within)
            stack.callback(os.close, descriptor)
            return descriptor

        here: int | None = enter(folder, _FOLDER, None) if _BY_DESCRIPTOR else None
        reached = "" if _BY_DESCRIPTOR else f"{folder}/"
        for depth, parent in enumerate(parents, start=1):
            status = os.stat(f"{reached}{parent}", dir_fd=here, follow_symlinks=False)
            _refuse_unless_folder(status, "/".join(parents[:depth]))
            if _BY_DESCRIPTOR:
                here = enter(parent, _FOLDER, here)
            else:
                reached += f"{parent}/"
        _refuse_unless_file(os.stat(f"{reached}{name}", dir_fd=here, follow_symlinks=False), relative)
        yield enter(f"{reached}{name}", _FILE, here)


def _refuse_unless_folder(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnreadableError(f"{relative} is a symbolic link: put the folder itself there.")
    if not stat.S_ISDIR(status.st_mode):
        raise UnreadableError(f"{relative} is a file where a folder belongs: remove it.")


def _refuse_unless_file(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnreadableError(f"{relative} is a symbolic link: put the file itself there.")
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "device")
        raise UnreadableError(f"{relative} is a {kind} where a file belongs: put the file there.")
    if status.st_nlink > 1:
        raise UnreadableError(f"{relative} is a hard link to another file: put a copy of its own there.")


def refuse_beyond(limit: int, size: int, relative: str) -> None:
    """Raise UnreadableError if a file has more bytes than `limit`."""
    if size > limit:
        fixes = {"ipynb": "clear its outputs and save it.", "md": "hand in the sheet alone."}
        fix = fixes.get(relative.rpartition(".")[2], "hand in your code alone and save it.")
        most = f"{limit // MEGABYTE} MB" if limit >= MEGABYTE else f"{limit // 1024} KB"
        raise UnreadableError(f"{relative} is {size_text(size)}; at most {most} are read: {fix}")
