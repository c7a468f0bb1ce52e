"""A folder on disk, and a zip or tar file, as read-only trees.

No link in a folder is followed. Archives are read in memory, and nothing is ever unpacked to disk. They may be hostile:
their sizes are limited before anything is unpacked, links in them are not followed, and names that lead out of them are
refused.
"""

from __future__ import annotations

import bz2
import contextlib
import dataclasses
import functools
import gzip
import io
import itertools
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from grader.submissions.tree import (
    MEGABYTE,
    Entry,
    Files,
    Ignored,
    Kind,
    PartsTree,
    TreePart,
    UnreadableError,
    joined,
    kind_of,
    read_bytes,
    refuse_beyond,
    size_text,
)


class ArchiveLimits(NamedTuple):
    """How large an archive may be: the bytes that it unpacks to, and its entries."""

    size: int
    entries: int


SUBMISSION = ArchiveLimits(20 * MEGABYTE, 1_000)
CLASS = ArchiveLimits(500 * MEGABYTE, 100_000)
"""Of a download that holds a class. Of the submissions in it, archives have the limits of one; a folder has none."""
RATIO = 100
"""The highest compression ratio of an archive that unpacks to more than a megabyte."""

LEVELS = 2
"""Of what a student hands in, an archive in an archive is read, but none inside that one."""
_MOST_DEPTH = 20
_MOST_LISTED = 100_000

_DRIVE = re.compile(r"[A-Za-z]:")
_OTHERS = {b"Rar!": "rar", b"7z\xbc\xaf": "7z"}
_DAMAGES = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, ArithmeticError,
    RuntimeError, NotImplementedError, LookupError,
)  # fmt: skip
_XZ_MEMORY = 128 * MEGABYTE
_LONGEST_HEADER = 64 * 1024


class Member(NamedTuple):
    """A file of an archive."""

    kind: Kind
    size: int
    packed: float
    read: Callable[[], bytes]
    is_double: bool = False


def _require_within(limits: ArchiveLimits, archive: Archive) -> None:
    """Raise UnreadableError if the files of an archive are too many, too large, or compressed too well."""
    members = archive.members.values()
    size = sum(member.size for member in members)
    _require_few(len(members), limits, archive.name)
    if size > limits.size:
        raise UnreadableError(
            f"{archive.name} unpacks to {size_text(size)}; at most {size_text(limits.size)} are read: "
            "hand in your answers alone."
        )
    _require_ratio(size, sum(member.packed for member in members), archive.name)


def _require_few(number: int, limits: ArchiveLimits, name: str) -> None:
    if number > limits.entries:
        raise UnreadableError(
            f"{name} holds more than {limits.entries:,} files, which is the most that is read: "
            "hand in your answers alone."
        )


def _require_ratio(size: int, packed: float, name: str) -> None:
    if size > max(MEGABYTE, RATIO * packed):
        raise UnreadableError(
            f"{name} unpacks to more than {RATIO} times its size, as only an attack does: hand in your answers alone."
        )


def _zip_members(content: bytes, name: str, limits: ArchiveLimits) -> Iterator[tuple[str, Member]]:
    # Counted first, because zipfile would keep a record of each. Archives in this one contain such marks as well.
    if (marks := content.count(b"PK\1\2")) > 2 * limits.entries:
        _require_few(marks, limits, name)
    archive = zipfile.ZipFile(io.BytesIO(content))
    for info in archive.infolist():
        path = _name(info)
        if not path.endswith(("/", "\\")):
            # Many programs write the permissions alone, without a type.
            mode = info.external_attr >> 16
            kind = kind_of(mode if stat.S_IFMT(mode) else stat.S_IFREG, path)
            yield path, Member(kind, info.file_size, info.compress_size, partial(_read_zip, archive, info))


def _read_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    # Deflated or not at all: the decoders of other methods take as much memory as the file asks for.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError
    return archive.read(info)


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name of an entry. Some programs write UTF-8 without the flag for it."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _tar_members(content: bytes, name: str, limits: ArchiveLimits) -> Iterator[tuple[str, Member]]:
    # What is beyond the ratio is refused below, and need not be unpacked.
    unpacked = _decompressed(content, min(limits.size, max(MEGABYTE, RATIO * len(content))))
    if len(unpacked) > limits.size:
        raise UnreadableError(
            f"{name} unpacks to more than {size_text(limits.size)}, which is the most that is read: "
            "hand in your answers alone."
        )
    _require_ratio(len(unpacked), len(content), name)
    archive = tarfile.TarFile(fileobj=io.BytesIO(unpacked), tarinfo=_TarInfo)
    for info in archive:
        if not info.isdir():
            is_file = info.isreg() and not info.issparse()
            mode = stat.S_IFREG if is_file else stat.S_IFLNK if info.issym() or info.islnk() else 0
            kind = kind_of(mode, info.name)
            yield info.name, Member(kind, info.size, info.size, partial(_read_tar, archive, info))


class _TarInfo(tarfile.TarInfo):
    """A tar file's header. It is refused if tarfile would take damage for the end, or would parse long text slowly."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarInfo:
        if not any(buf):  # the end
            return super().frombuf(buf, encoding, errors)
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
        if info.size > _LONGEST_HEADER and info.type in b"xgXLK":
            raise tarfile.ReadError("long header")
        return info


def _read_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    assert file
    return file.read()


def _decompressed(content: bytes, limit: int) -> bytes:
    """Return the content of a compressed file, or a little more than `limit` bytes of it."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(content)).read(limit + 1)
    if content.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(content)).read(limit + 1)
    if content.startswith(b"\xfd7zXZ\0"):
        unpacking = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        unpacked = unpacking.decompress(content, limit + 1)
        if not unpacking.eof and len(unpacked) <= limit:
            raise EOFError
        return unpacked
    return content


@dataclass(frozen=True)
class Folder(Files):
    """A folder on disk."""

    path: Path

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        return read_bytes(self.path, relative, limit)

    def kind(self, relative: str) -> Kind | None:
        """Return what is there; None if nothing is."""
        try:
            mode = (self.path / relative).lstat().st_mode
        except (OSError, ValueError):
            return None
        return kind_of(mode, relative)

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        folder = self.path / relative
        with contextlib.suppress(OSError):
            if not folder.is_symlink():
                with os.scandir(folder) as found:
                    return sorted(Entry(one.name, _kind_of(one)) for one in itertools.islice(found, _MOST_LISTED))
        return []

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        if self.kind(relative) == "folder":
            return Folder(self.path / relative)
        return open_archive(self.read_bytes(relative, SUBMISSION.size) or b"", relative)


def _kind_of(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    is_file = entry.is_file(follow_symlinks=False)
    mode = stat.S_IFREG if is_file else stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else 0
    return kind_of(mode, entry.name)


@dataclass(eq=False)
class Archive(Files):
    """A zip or tar file in memory, or the part of it below the folder `root`.

    Attributes:
        name: What messages call it.
        level: 1 for an archive that a student handed in, 2 for one in it; 0 for the download of a class.
        root: The folder in it that is the tree; "" for all of it.
        members: Its files by path.
        folders: What each of its folders holds.
        refused: The entries that are never read; empty for a part of an archive.
    """

    name: str
    level: int
    root: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    folders: dict[str, dict[str, Kind]] = field(default_factory=lambda: {"": {}})
    refused: list[Ignored] = field(default_factory=list)

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        path = joined(self.root, relative)
        member = self.members.get(path)
        if member is None:
            if path in self.folders:
                raise UnreadableError(f"{relative} is a folder where a file belongs: put the file there.")
            return None
        if member.kind in ("link", "other"):
            what = "a link" if member.kind == "link" else "not a plain file"
            raise UnreadableError(f"{relative} is {what} in an archive: put the file itself there.")
        if member.is_double:
            raise UnreadableError(f"{relative} is in its archive more than once: hand in an archive with one of them.")
        refuse_beyond(limit, member.size, relative)
        try:
            return member.read()
        except _DAMAGES as error:
            why = "is locked with a password" if "encrypted" in str(error) else "is damaged in its archive"
            raise UnreadableError(f"{relative} {why}: hand in an archive that opens without an error.") from None

    def kind(self, relative: str) -> Kind | None:
        """Return what is there; None if nothing is."""
        path = joined(self.root, relative)
        if path in self.members:
            return self.members[path].kind
        return "folder" if path in self.folders else None

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        return sorted(Entry(name, kind) for name, kind in self.folders.get(joined(self.root, relative), {}).items())

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        if self.kind(relative) == "folder":
            return dataclasses.replace(self, root=joined(self.root, relative), refused=[])
        if self.level == LEVELS:
            raise UnreadableError(
                f"{relative} is an archive in an archive in an archive, of which at most two levels are read: "
                "hand in the files themselves."
            )
        return open_archive(self.read_bytes(relative, SUBMISSION.size) or b"", relative, self.level + 1)

    def add(self, name: str, member: Member) -> None:
        """Add a file under its name in the archive, unless that name leads out of it."""
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        is_absolute = name.startswith(("/", "\\")) or _DRIVE.match(name)
        if is_absolute or ".." in parts or len(parts) > _MOST_DEPTH or "\0" in name:
            self.refused.append(Ignored(f"{name!r:.100} in {self.name}", reason="not a name that a file may have"))
            return
        if member.kind in ("link", "other"):
            self.refused.append(Ignored(f"{'/'.join(parts)!r:.100} in {self.name}", reason="not a plain file"))
        for depth, part in enumerate(parts):
            path = "/".join(parts[: depth + 1])
            kind = member.kind if depth + 1 == len(parts) else "folder"
            self.folders["/".join(parts[:depth])].setdefault(part, kind)
            if kind == "folder":
                self.folders.setdefault(path, {})
            else:
                self.members[path] = member._replace(is_double=path in self.members)


def open_archive(content: bytes, name: str, level: int = 1, limits: ArchiveLimits = SUBMISSION) -> Archive:
    """Open a zip or tar file.

    Args:
        content: The file.
        name: What messages call it.
        level: 2 for an archive in an archive, 0 for the download of a class.
        limits: How large it may be.

    Raises:
        UnreadableError: It is neither, it is damaged, or it is too large.
    """
    if what := next((what for start, what in _OTHERS.items() if content.startswith(start)), None):
        raise UnreadableError(f"{name} is a {what} archive, which is not read: hand in a zip, or the files themselves.")
    archive = Archive(name, level)
    try:
        members = _zip_members if content.startswith(b"PK") else _tar_members
        for number, (path, member) in enumerate(members(content, name, limits), start=1):
            _require_few(number, limits, name)
            archive.add(path, member)
    except _DAMAGES:
        raise UnreadableError(
            f"{name} is not a zip or tar file, or is damaged: hand in one that can be opened."
        ) from None
    if limits == SUBMISSION:
        _require_within(limits, archive)
    return archive


def handed_in(archive: Archive) -> Files:
    """Return an archive that was opened as a download and that one student handed in, with a student's limits."""
    try:
        _require_within(SUBMISSION, archive)
    except UnreadableError as error:
        return Unreadable(str(error))
    return dataclasses.replace(archive, level=1)


@dataclass(frozen=True)
class Unreadable(Files):
    """A submission that cannot be read at all, and the sentence that says why."""

    problem: str

    def read_bytes(self, relative: str, limit: int) -> bytes | None:  # noqa: ARG002
        """Raise UnreadableError."""
        raise UnreadableError(self.problem)


@dataclass(frozen=True)
class Unopened(PartsTree):
    """A submission in an archive. It is opened when it is read and then dropped: a class may have hundreds."""

    tree: Files
    relative: str

    def opened(self) -> Files:
        """Open it; if that fails, return a tree that says why."""
        return _opened(self.tree, self.relative)

    def mount(self, relative: str) -> TreePart:
        """Return where a path is."""
        return TreePart(self.opened(), relative, relative)


@functools.lru_cache(maxsize=2)
def _opened(tree: Files, relative: str) -> Files:
    try:
        return tree.below(relative)
    except UnreadableError as error:
        return Unreadable(str(error))
