"""A zip or tar file as a read-only tree.

Archives are read in memory, and nothing is ever unpacked to disk. They may be hostile: their sizes are limited before
anything is unpacked, links in them are not followed, and names that lead out of them are refused.
"""

from __future__ import annotations

import dataclasses
import lzma
import re
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.submissions import plain_files
from grader.submissions.ignored import Ignored
from grader.submissions.members import SUBMISSION, Limits, Member, require_few, require_ratio, require_small
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tar_file import tar_members
from grader.submissions.tree import Entry, Kind, joined
from grader.submissions.zip_file import MAGIC, zip_members

if TYPE_CHECKING:
    from grader.submissions.tree import Files

LEVELS = 2
"""An archive in an archive is read, and none in that one."""
_MOST_DEPTH = 20

_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGES = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, ArithmeticError,
    RuntimeError, NotImplementedError, LookupError,
)  # fmt: skip


@dataclass(eq=False)
class Archive:
    """A zip or tar file in memory, or the part of it below the folder `root`.

    Attributes:
        name: What messages call it.
        level: 1 for an archive, 2 for one in an archive.
        root: The folder in it that is the tree; "" for all of it.
        members: Its files by path.
        folders: What each of its folders holds.
        refused: The entries that are never read.
    """

    name: str
    level: int
    root: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    folders: dict[str, dict[str, Kind]] = field(default_factory=lambda: {"": {}})
    refused: list[Ignored] = field(default_factory=list)

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None where there is no such file. Raises UnreadableError."""
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
        """Return what lies there; None where nothing does."""
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
            return dataclasses.replace(self, root=joined(self.root, relative))
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
        label = self.root.rpartition("/")[2] or self.name
        require_few(len(found), limits, label)
        require_small(size, limits, label)
        require_ratio(size, packed, label)

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
            above, path = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            is_last = depth + 1 == len(parts)
            kind = member.kind if is_last else "folder"
            self.folders.setdefault(above, {}).setdefault(part, kind)
            if kind == "folder":
                self.folders.setdefault(path, {})
            elif is_last:
                self.members[path] = member._replace(is_double=path in self.members)


def open_archive(content: bytes, name: str, level: int = 1, limits: Limits = SUBMISSION) -> Archive:
    """Open a zip or tar file.

    Args:
        content: The file.
        name: What messages call it.
        level: 2 for an archive in an archive.
        limits: How large it may be.

    Raises:
        UnreadableError: It is neither, it is damaged, or it is too large.
    """
    archive = Archive(name, level)
    members = zip_members if content.startswith(MAGIC) else tar_members
    try:
        for number, (path, member) in enumerate(members(content, name, limits), start=1):
            require_few(number, limits, name)
            archive.add(path, member)
    except _DAMAGES:
        raise UnreadableError(
            f"{name} is not a zip or tar file, or is damaged: hand in one that can be opened."
        ) from None
    if limits == SUBMISSION:
        archive.require(limits)
    return archive
