"""What every read-only tree of files offers: a folder, an archive, or a view of several."""

from __future__ import annotations

import re
import stat
from typing import Literal, NamedTuple, Protocol

from grader.submissions.plain_files import Tree

Kind = Literal["folder", "file", "archive", "link", "other"]

ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz|tar\.bz2|tbz2?|tar\.xz|txz|rar|7z)$", re.IGNORECASE)
# Made by programs and never by students; hidden names are left out as well.
_JUNK = {"__pycache__", "__MACOSX", "node_modules", "site-packages", "venv", "env", "desktop.ini", "Thumbs.db"}


class Entry(NamedTuple):
    """A name in a folder, and what it is."""

    name: str
    kind: Kind

    @property
    def is_junk(self) -> bool:
        """Whether a program made it, or its name is hidden."""
        return self.name.startswith(".") or self.name in _JUNK

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder or an archive."""
        return self.kind in ("folder", "archive")


class Files(Tree, Protocol):
    """A read-only tree of files. Paths are relative, with slashes; "" is the tree itself."""

    def kind(self, relative: str) -> Kind | None:
        """Return what lies there; None where nothing does."""

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""


def joined(*parts: str) -> str:
    """Join the parts of a relative path; empty ones are the tree itself."""
    return "/".join(filter(None, parts))


def kind_of(mode: int, name: str) -> Kind:
    """Return what a file is, by its mode and its name."""
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "archive" if ARCHIVE.search(name) else "file"
    return "other"
