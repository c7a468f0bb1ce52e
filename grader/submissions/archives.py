"""A folder on disk, and a zip or tar file, as read-only trees.

No link in a folder is followed. Archives are read in memory, and nothing is ever unpacked to disk. They may be hostile:
their sizes are limited before anything is unpacked, links in them are not followed, and names that lead out of them are
refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.submissions import plain_files
from grader.submissions.members import SUBMISSION, Limits, Member, members_of, require_within
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tree import Entry, Files, Ignored, Kind, joined, kind_of

if TYPE_CHECKING:
    from pathlib import Path

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


@dataclass(frozen=True)
class Folder(Files):
    """A folder on disk."""

    path: Path

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        return plain_files.read_bytes(self.path, relative, limit)

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
        plain_files.refuse_beyond(limit, member.size, relative)
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

    def require(self, limits: Limits) -> None:
        """Raise UnreadableError if its files are too many or too large."""
        require_within(limits, list(self.members.values()), self.name)

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


def open_archive(content: bytes, name: str, level: int = 1, limits: Limits = SUBMISSION) -> Archive:
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
        for path, member in members_of(content, name, limits):
            archive.add(path, member)
    except _DAMAGES:
        raise UnreadableError(
            f"{name} is not a zip or tar file, or is damaged: hand in one that can be opened."
        ) from None
    if limits == SUBMISSION:
        archive.require(limits)
    return archive


def handed_in(archive: Archive) -> Files:
    """Return an archive that was opened as a download and that one student handed in, with a student's limits."""
    try:
        archive.require(SUBMISSION)
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
class Unopened(Files):
    """A submission in an archive. It is opened when it is read and then dropped: a class may have hundreds."""

    tree: Files
    relative: str

    def opened(self) -> Files:
        """Open it; if that fails, return a tree that says why."""
        return _opened(self.tree, self.relative)

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        return self.opened().read_bytes(relative, limit)

    def kind(self, relative: str) -> Kind | None:
        """Return what is there; None if nothing is."""
        return self.opened().kind(relative)

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        return self.opened().entries(relative)

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        return self.opened().below(relative)


@functools.lru_cache(maxsize=2)
def _opened(tree: Files, relative: str) -> Files:
    try:
        return tree.below(relative)
    except UnreadableError as error:
        return Unreadable(str(error))
