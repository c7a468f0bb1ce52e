"""A folder on disk as a read-only tree, of which no link is followed."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.submissions import plain_files
from grader.submissions.archives import open_archive
from grader.submissions.members import SUBMISSION
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tree import Entry, kind_of

if TYPE_CHECKING:
    from pathlib import Path

    from grader.submissions.tree import Files, Kind

_MOST_LISTED = 100_000


@dataclass(frozen=True)
class Folder:
    """A folder on disk."""

    path: Path

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None where there is no such file. Raises UnreadableError."""
        return plain_files.read_bytes(self.path, relative, limit)

    def kind(self, relative: str) -> Kind | None:
        """Return what lies there; None where nothing does."""
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
        content = self.read_bytes(relative, SUBMISSION.size)
        if content is None:
            raise UnreadableError(f"{relative} is missing: put it back.")
        return open_archive(content, relative)


def _kind_of(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    is_file = entry.is_file(follow_symlinks=False)
    mode = stat.S_IFREG if is_file else stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else 0
    return kind_of(mode, entry.name)
