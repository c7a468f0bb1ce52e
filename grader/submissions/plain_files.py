"""Reads one plain file that others wrote.

The file may be hostile, and this process is trusted. So it opens only plain files, follows no link on the way to them,
never waits for one, and reads at most a limit. It raises UnreadableError for any other file.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

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

# How files begin that are no text, whatever their name says, and what they are.
_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or another Office program"),
    (b"PK\x03\x04", "a zip archive"),
    ((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"), "an archive"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF"), "a picture"),
    (b"bplist00", "a web archive"),
)
# In the zip archives of Word and of LibreOffice.
_OFFICE = (b"[Content_Types].xml", b"word/document.xml", b"application/vnd.oasis.opendocument")
# Those of UTF-32 come first, because one of them begins like one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "UTF-8"),
    ((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "UTF-32"),
    ((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "UTF-16"),
)
# In the first two lines of a script; PEP 263.
_DECLARED = re.compile(rb"(?:[ \t\f]*+(?:#[^\r\n]*+)?\r?\n)??[ \t\f]*+#[^\r\n]*?coding[:=][ \t]*([-\w.]{1,40})")
# Python's other encodings are no encodings of text, or take time that grows faster than the text.
_KNOWN = re.compile(r"utf-8(?:-sig)?|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|shift_jis\w*|euc_\w+|gb\w+|big5\w*")


class UnreadableError(Exception):
    """A file cannot be read; the text is a sentence that begins with its name and says why."""


class Tree(Protocol):
    """Files that are not in a folder on disk, such as those of an archive."""

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""


class Text(NamedTuple):
    """The text of a file, whose lines end in a newline, and sentences for the student on its encoding."""

    text: str
    remarks: tuple[str, ...] = ()


def read_text(folder: Path | Tree, relative: str, limit: int) -> str | None:
    """Return what `read_remarked` reads, without the remarks."""
    read = read_remarked(folder, relative, limit)
    return None if read is None else read.text


def read_remarked(folder: Path | Tree, relative: str, limit: int) -> Text | None:
    """Read the text of a file.

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


def itself(relative: str) -> str:
    """Return what to hand in, where a file is something else."""
    return f"hand in the {'sheet' if relative.endswith('.md') else 'script or the notebook'} itself"


def _decoded(content: bytes, relative: str) -> Text:
    what = next((what for start, what in _SIGNATURES if content.startswith(start)), None)
    if what == "a zip archive" and any(mark in content for mark in _OFFICE):
        what = "a document of Word or another Office program"
    if what is None and content[4:8] == b"ftyp":
        what = "a picture or a video"
    if what is None and content[2:4] == b"\r\n" and b"\0" in content[:16]:
        what = "compiled Python"
    if what:
        raise UnreadableError(f"{relative} is {what}: {itself(relative)}.")
    if content and not content.strip(b"\0"):
        raise UnreadableError(f"{relative} has only zero bytes, as a crash leaves them: hand in your own copy again.")
    encoding, remarks = _encoding(content, relative)
    if encoding == "UTF-8" and b"\0" in content and _is_wide(content):
        raise UnreadableError(f"{relative} is in UTF-16 without a byte order mark: save it as UTF-8.")
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fix = "save it as UTF-8" if encoding.startswith("UTF") else "save it as UTF-8 and delete that declaration"
        declared = "" if encoding.startswith("UTF") else ", the encoding that it declares"
        raise UnreadableError(f"{relative} is not {encoding}{declared} (line {line}): {fix}.") from None
    text = unix_lines(text)
    if zeros := len(text) - len(text.rstrip("\0")):  # as a crash or a full disk leaves them
        text = text.rstrip("\0")
        what = f"{zeros} zero bytes" if zeros > 1 else "a zero byte"
        remarks = (*remarks, f"{relative} ends with {what}, which were not read: open it and save it again.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableError(f"{relative} has a zero byte in line {line}, which no text has: delete it there.")
    return Text(text, remarks)


def _encoding(content: bytes, relative: str) -> tuple[str, tuple[str, ...]]:
    """Return the encoding that a file says it has, otherwise UTF-8, and a remark if that should change."""
    for marks, name in _MARKS:
        if content.startswith(marks):
            remark = f"{relative} was read as {name}, which Python and other programs refuse: save it as UTF-8."
            return name, () if name == "UTF-8" else (remark,)
    declared = _DECLARED.match(content[:1000]) if relative.endswith(".py") else None
    if declared is None:
        return "UTF-8", ()
    name = declared[1].decode()
    with contextlib.suppress(LookupError):
        known = codecs.lookup(name).name
        if known == "ascii" and not content.isascii():
            remark = f"{relative} declares the encoding {name}, but has other characters; it was read as UTF-8"
            return "UTF-8", (f"{remark}: delete that declaration.",)
        if _KNOWN.fullmatch(known):
            return "UTF-8" if known.startswith(("utf-8", "ascii")) else name, ()
    return "UTF-8", (
        f"{relative} declares the encoding {name}, which is not read; it was read as UTF-8: delete that declaration.",
    )


def _is_wide(content: bytes) -> bool:
    """Return whether zeros are most of every second byte, as in UTF-16, and no other byte."""
    halves = sorted((content[::2].count(0), content[1::2].count(0)))
    return halves[0] == 0 and halves[1] > len(content) // 4


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
