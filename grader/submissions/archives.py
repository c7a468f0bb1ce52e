"""Read-only trees of files: a folder, a zip or tar file, and a view that puts parts of others together.

Archives are read in memory, and nothing is ever unpacked to disk. They may be hostile: their sizes are limited before
anything is unpacked, links in them are not followed, and names that lead out of them are refused.
"""

from __future__ import annotations

import bz2
import contextlib
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
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from grader.submissions import plain_files
from grader.submissions.plain_files import MEGABYTE, UnreadableError, size_text

Kind = Literal["folder", "file", "archive", "link", "other"]


class Limits(NamedTuple):
    """How large an archive may be: the bytes that it unpacks to, and its entries."""

    size: int
    entries: int


SUBMISSION = Limits(20 * MEGABYTE, 1_000)
CLASS = Limits(500 * MEGABYTE, 100_000)
"""Of a download that holds a class; each submission in it has the limits of a submission."""
RATIO = 100
"""No more may an archive shrink what it holds. Below a megabyte it does no harm."""
LEVELS = 2
"""An archive in an archive is read, and none in that one."""
_XZ_MEMORY = 128 * MEGABYTE
_TAR_TEXT = 64 * 1024
_MOST_LISTED = 100_000
_MOST_NAMES = 1_000
_MOST_ARCHIVES = 10
_MOST_DEPTH = 8

ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz|tar\.bz2|tbz2?|tar\.xz|txz|rar|7z)$", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
# Made by programs and never by students; hidden names are left out as well.
JUNK = {"__pycache__", "__MACOSX", "node_modules", "site-packages", "venv", "env", "desktop.ini", "Thumbs.db"}
_DAMAGES = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, ArithmeticError,
    RuntimeError, NotImplementedError, LookupError,
)  # fmt: skip


class Entry(NamedTuple):
    """A name in a folder, and what it is."""

    name: str
    kind: Kind

    @property
    def is_junk(self) -> bool:
        return self.name.startswith(".") or self.name in JUNK


class Files(plain_files.Tree, Protocol):
    """A read-only tree of files. Paths are relative, with slashes; "" is the tree itself."""

    def kind(self, relative: str) -> Kind | None:
        """Return what lies there; None where nothing does."""

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""


@dataclass(frozen=True)
class Folder:
    """A folder on disk, of which no link is followed."""

    path: Path

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        return plain_files.read_bytes(self.path, relative, limit)

    def kind(self, relative: str) -> Kind | None:
        try:
            mode = (self.path / relative).lstat().st_mode
        except (OSError, ValueError):
            return None
        return _kind(mode, relative)

    def entries(self, relative: str = "") -> list[Entry]:
        folder = self.path / relative
        with contextlib.suppress(OSError):
            if not folder.is_symlink():
                with os.scandir(folder) as found:
                    return sorted(Entry(one.name, _kind_on_disk(one)) for one in itertools.islice(found, _MOST_LISTED))
        return []

    def below(self, relative: str) -> Files:
        if self.kind(relative) == "folder":
            return Folder(self.path / relative)
        content = self.read_bytes(relative, SUBMISSION.size)
        if content is None:
            raise UnreadableError(f"{relative} is missing: put it back.")
        return open_archive(content, relative)


class Member(NamedTuple):
    """A file of an archive."""

    kind: Kind
    size: int
    packed: float
    read: Callable[[], bytes]
    is_double: bool = False


@dataclass(eq=False)
class Archive:
    """A zip or tar file in memory, or the part of it below the folder `root`.

    level: 1 for an archive, 2 for one in an archive. refused: a sentence on each entry that cannot be read.
    """

    name: str
    level: int
    root: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    folders: dict[str, dict[str, Kind]] = field(default_factory=lambda: {"": {}})
    refused: list[str] = field(default_factory=list)

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        path = self._path(relative)
        member = self.members.get(path)
        if member is None:
            if path in self.folders:
                raise UnreadableError(f"{relative} is a folder where a file belongs: put the file there.")
            return None
        if member.kind in ("link", "other"):
            what = "a link" if member.kind == "link" else "no plain file"
            raise UnreadableError(f"{relative} is {what} in an archive: put the file itself there.")
        if member.is_double:
            raise UnreadableError(f"{relative} is in its archive more than once: hand in an archive with one of them.")
        plain_files.refuse_beyond(limit, member.size, relative)
        try:
            return member.read()
        except _DAMAGES as error:
            why = "is locked with a password" if "encrypted" in str(error) else "is damaged in its archive"
            raise UnreadableError(f"{relative} {why}: hand in an archive that opens without an error.") from None

    def kind(self, relative: str) -> Kind | None:
        path = self._path(relative)
        if path in self.members:
            return self.members[path].kind
        return "folder" if path in self.folders else None

    def entries(self, relative: str = "") -> list[Entry]:
        return sorted(Entry(name, kind) for name, kind in self.folders.get(self._path(relative), {}).items())

    def below(self, relative: str) -> Files:
        if self.kind(relative) == "folder":
            return Archive(self.name, self.level, self._path(relative), self.members, self.folders, self.refused)
        if self.level == LEVELS:
            raise UnreadableError(
                f"{relative} is an archive in an archive in an archive, of which at most two levels are read: "
                "hand in the files themselves."
            )
        content = self.read_bytes(relative, SUBMISSION.size)
        if content is None:
            raise UnreadableError(f"{relative} is missing: put it back.")
        return open_archive(content, relative, self.level + 1)

    def require(self, limits: Limits) -> None:
        """Raise UnreadableError where what lies below the root is too much."""
        below = f"{self.root}/" if self.root else ""
        found = [member for path, member in self.members.items() if path.startswith(below)]
        size, packed = sum(member.size for member in found), sum(member.packed for member in found)
        _require_few(len(found), limits, self._shown)
        if size > limits.size:
            raise UnreadableError(
                f"{self._shown} unpacks to {size_text(size)}; at most {size_text(limits.size)} are read: "
                "hand in your answers alone."
            )
        _require_ratio(size, packed, self._shown)

    def add(self, name: str, member: Member) -> None:
        """Take in an entry by its name in the archive."""
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        if name.startswith(("/", "\\")) or _DRIVE.match(name) or ".." in parts or len(parts) > 20 or "\0" in name:
            self.refused.append(f"{name!r:.100} in {self.name} is not a name that a file there may have")
            return
        if member.kind in ("link", "other"):
            self.refused.append(f"{'/'.join(parts)!r:.100} in {self.name} is a link or no plain file")
        for depth in range(len(parts)):
            above, path = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            is_last = depth + 1 == len(parts)
            kind = member.kind if is_last else "folder"
            self.folders.setdefault(above, {}).setdefault(parts[depth], kind)
            if kind == "folder":
                self.folders.setdefault(path, {})
            elif is_last:
                self.members[path] = member._replace(is_double=path in self.members)

    @property
    def _shown(self) -> str:
        return self.root.rpartition("/")[2] or self.name

    def _path(self, relative: str) -> str:
        return "/".join(filter(None, (self.root, relative)))


class Mount(NamedTuple):
    """A part of another tree, and what messages call it."""

    tree: Files
    relative: str
    shown: str


@dataclass(frozen=True)
class View:
    """Parts of other trees under names of its own, over what is in `base`."""

    mounts: dict[str, Mount]
    base: Files | None = None

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        if (mount := self._mount(relative)) is None:
            return self.base.read_bytes(relative, limit) if self.base else None
        try:
            return mount.tree.read_bytes(mount.relative, limit)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), mount.relative, mount.shown)) from None

    def kind(self, relative: str) -> Kind | None:
        if mount := self._mount(relative):
            return mount.tree.kind(mount.relative)
        return self.base.kind(relative) if self.base else None

    def entries(self, relative: str = "") -> list[Entry]:
        if mount := self._mount(relative):
            return mount.tree.entries(mount.relative)
        own = {name: self.kind(name) or "other" for name in self.mounts if "/" not in name} if not relative else {}
        others = self.base.entries(relative) if self.base else []
        return sorted(Entry(*one) for one in {**dict(others), **own}.items())

    def below(self, relative: str) -> Files:
        if mount := self._mount(relative):
            return mount.tree.below(mount.relative)
        if self.base is None:
            raise UnreadableError(f"{relative} is missing: put it back.")
        return self.base.below(relative)

    def _mount(self, relative: str) -> Mount | None:
        if relative in self.mounts:
            return self.mounts[relative]
        first, _, rest = relative.partition("/")
        if mount := self.mounts.get(first):
            inside = "/".join(filter(None, (mount.relative, rest)))
            return Mount(mount.tree, inside, relative)
        return None


@dataclass(frozen=True)
class Broken:
    """A submission that cannot be read at all, and the sentence that says why."""

    problem: str

    def read_bytes(self, relative: str, limit: int) -> bytes | None:  # noqa: ARG002
        raise UnreadableError(self.problem)

    def kind(self, relative: str) -> Kind | None:  # noqa: ARG002
        return None

    def entries(self, relative: str = "") -> list[Entry]:  # noqa: ARG002
        return []

    def below(self, relative: str) -> Files:  # noqa: ARG002
        raise UnreadableError(self.problem)


@dataclass(frozen=True)
class Later:
    """A submission in an archive, which is opened when it is read and not kept: a class may have hundreds."""

    tree: Files
    relative: str

    def opened(self) -> Files:
        """Open it; where that fails, return a tree that says why."""
        return _opened(self.tree, self.relative)  # type: ignore[arg-type]

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        return self.opened().read_bytes(relative, limit)

    def kind(self, relative: str) -> Kind | None:
        return self.opened().kind(relative)

    def entries(self, relative: str = "") -> list[Entry]:
        return self.opened().entries(relative)

    def below(self, relative: str) -> Files:
        return self.opened().below(relative)


@functools.lru_cache(maxsize=2)
def _opened(tree: Files, relative: str) -> Files:
    try:
        found = tree.below(relative)
        if isinstance(found, Archive):
            found.require(SUBMISSION)
    except UnreadableError as error:
        return Broken(str(error))
    return found


class Found(NamedTuple):
    """A file that a walk has come to: its path from the tree on, and where it is read."""

    path: str
    tree: Files
    relative: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """With the slash; "" for the tree itself."""
        return self.path.removesuffix(self.name)


class Walked(NamedTuple):
    """The files of a tree, those in its archives included.

    problems: sentences on archives that cannot be read. refused: what of the others is not.
    """

    files: list[Found]
    problems: list[str]
    refused: list[str]


def walk(tree: Files) -> Walked:
    """List the files of a tree and of the archives in it.

    Hidden files and what programs make are left out. It ends after 1,000 names.
    """
    result = Walked([], [], [])
    seen = archives = 0
    folders: list[tuple[Files, str, str]] = [(tree, "", "")]
    while folders:
        tree, relative, path = folders.pop(0)
        for entry in tree.entries(relative):
            if entry.is_junk:
                continue
            if (seen := seen + 1) > _MOST_NAMES:
                result.refused.append(f"all but the first {_MOST_NAMES:,} names")
                return result
            inside, shown = (f"{above}/{entry.name}" if above else entry.name for above in (relative, path))
            if entry.kind == "folder" and shown.count("/") < _MOST_DEPTH:
                folders.append((tree, inside, shown))
            elif entry.kind == "archive":
                try:
                    if (archives := archives + 1) > _MOST_ARCHIVES:
                        raise UnreadableError(f"{inside} is one archive too many: hand in one.")
                    opened = tree.below(inside)
                    folders.append((opened, "", shown))
                    result.refused.extend(opened.refused if isinstance(opened, Archive) else [])
                except UnreadableError as error:
                    result.problems.append(renamed(str(error), inside, shown))
            elif entry.kind in ("file", "link"):
                result.files.append(Found(shown, tree, inside))
    return result


def renamed(sentence: str, name: str, shown: str) -> str:
    """Call a file by another name in the sentence that begins with its own."""
    return f"{shown}{sentence.removeprefix(name)}" if name and sentence.startswith(f"{name} ") else sentence


def open_archive(content: bytes, name: str, level: int = 1, limits: Limits = SUBMISSION) -> Archive:
    """Open a zip or tar file. Raises UnreadableError, where it is too large as well.

    name: what messages call it. level: 2 for an archive in an archive.
    """
    archive = Archive(name, level)
    try:
        found = (
            _zip_members(content, name, limits) if content.startswith(b"PK") else _tar_members(content, name, limits)
        )
        for number, (path, member) in enumerate(found, start=1):
            _require_few(number, limits, name)
            archive.add(path, member)
    except _DAMAGES:
        raise UnreadableError(f"{name} is no zip or tar file, or damaged: hand in one that can be opened.") from None
    if limits == SUBMISSION:
        archive.require(limits)
    return archive


def _zip_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    # zipfile would keep a record of each, so they are counted first. Archives within have marks like these as well.
    if (marks := content.count(b"PK\1\2")) > 2 * limits.entries:
        _require_few(marks, limits, name)
    archive = zipfile.ZipFile(io.BytesIO(content))
    for info in archive.infolist():
        # Deflated or not at all: the decoders of other methods take as much memory as the file asks for.
        is_known = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        path = _zip_name(info)
        if not path.endswith(("/", "\\")):
            # Many programs give the rights alone, and no type.
            mode = info.external_attr >> 16
            kind = _kind(mode if stat.S_IFMT(mode) else stat.S_IFREG, path)
            yield path, Member(kind, info.file_size, info.compress_size, _zip_reader(archive, info, is_known))


def _zip_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo, is_known: bool) -> Callable[[], bytes]:
    def read() -> bytes:
        if not is_known:
            raise NotImplementedError
        return archive.read(info)

    return read


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of an entry. Some programs write UTF-8 and do not say so."""
    if info.flag_bits & 0x800:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _tar_members(content: bytes, name: str, limits: Limits) -> Iterator[tuple[str, Member]]:
    unpacked = _decompressed(content, limits.size)
    if len(unpacked) > limits.size:
        raise UnreadableError(
            f"{name} unpacks to more than {size_text(limits.size)}, which is the most that is read: "
            "hand in your answers alone."
        )
    _require_ratio(len(unpacked), len(content), name)
    archive = tarfile.TarFile(fileobj=io.BytesIO(unpacked), tarinfo=_TarInfo)
    for info in archive:
        if info.isdir():
            continue
        kind: Kind = "link" if info.issym() or info.islnk() else "other"
        if info.isreg() and not info.issparse():
            kind = _kind(stat.S_IFREG, info.name)
        yield info.name, Member(kind, info.size, info.size, _tar_reader(archive, info))


class _TarInfo(tarfile.TarInfo):
    """A tar file's header, which is refused where tarfile takes damage for the end, or parses long text slowly."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _TarInfo:
        if not any(buf):  # the end
            return super().frombuf(buf, encoding, errors)
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from None
        if info.size > _TAR_TEXT and info.type in b"xgXLK":
            raise tarfile.ReadError("long header")
        return info


def _tar_reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        file = archive.extractfile(info)
        assert file
        return file.read()

    return read


def _decompressed(content: bytes, limit: int) -> bytes:
    """The content of a compressed file, or a little more than `limit` bytes of it."""
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


def _require_few(number: int, limits: Limits, name: str) -> None:
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


def _kind_on_disk(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    is_file = entry.is_file(follow_symlinks=False)
    mode = stat.S_IFREG if is_file else stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else 0
    return _kind(mode, entry.name)


def _kind(mode: int, name: str) -> Kind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "archive" if ARCHIVE.search(name) else "file"
    return "other"
