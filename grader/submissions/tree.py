"""Read-only trees of files: what all of them offer, a view of parts of several, and a walk through one.

`archives` has the trees themselves: a folder on disk, and an archive.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from grader.submissions.plain_files import UnreadableError
from grader.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["folder", "file", "archive", "link", "other"]

ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz|tar\.bz2|tbz2?|tar\.xz|txz|rar|7z)$", re.IGNORECASE)
# Made by programs and never by students; hidden names are ignored as well.
_JUNK = {"__pycache__", "__MACOSX", "node_modules", "site-packages", "venv", "env", "desktop.ini", "Thumbs.db"}
_MOST_NAMES = 1_000
_MOST_ARCHIVES = 10
_MOST_DEPTH = 8


class Ignored(NamedTuple):
    """A name in a submission or a class that was ignored.

    Attributes:
        path: The file or folder; if several are meant, what they are.
        advice: What to do to have it graded; empty if it is not an answer.
        reason: Why it was ignored, if that needs an explanation.
        instead_of: The unit that was handed in as this file, if there is no other one.
        unit: The other unit that it answers, if it does.
    """

    path: str
    advice: str = ""
    reason: str = ""
    instead_of: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """Return the name with the reason and the advice."""
        note = ": ".join(filter(None, (self.reason, self.advice)))
        return plain(f"{self.path} ({note})" if note else self.path)


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


class Files:
    """A read-only tree of files; this one is empty. Paths are relative, with slashes; "" is the tree itself.

    Attributes:
        refused: The names in it that are never read.
    """

    refused: Sequence[Ignored] = ()

    def read_bytes(self, relative: str, limit: int) -> bytes | None:  # noqa: ARG002
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        return None

    def kind(self, relative: str) -> Kind | None:  # noqa: ARG002
        """Return what is there; None if nothing is."""
        return None

    def entries(self, relative: str = "") -> list[Entry]:  # noqa: ARG002
        """List what a folder holds, in the order of names."""
        return []

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        raise UnreadableError(f"{relative} is missing: put it back.")


_EMPTY = Files()


class Mount(NamedTuple):
    """A part of another tree, and what messages call it."""

    tree: Files
    relative: str
    label: str


@dataclass(frozen=True)
class View(Files):
    """Parts of other trees under their own names, in front of what is in `base`."""

    mounts: dict[str, Mount]
    base: Files = _EMPTY

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        tree, inside, label = self._mount(relative)
        try:
            return tree.read_bytes(inside, limit)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), inside, label)) from None

    def kind(self, relative: str) -> Kind | None:
        """Return what is there; None if nothing is."""
        tree, inside, _ = self._mount(relative)
        return tree.kind(inside)

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        tree, inside, _ = self._mount(relative)
        found = dict(tree.entries(inside))
        if not relative:
            found |= {name: self.kind(name) or "other" for name in self.mounts if "/" not in name}
        return sorted(Entry(*one) for one in found.items())

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        tree, inside, label = self._mount(relative)
        try:
            return tree.below(inside)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), inside, label)) from None

    def _mount(self, relative: str) -> Mount:
        if relative in self.mounts:
            return self.mounts[relative]
        first, _, rest = relative.partition("/")
        if mount := self.mounts.get(first):
            return Mount(mount.tree, joined(mount.relative, rest), relative)
        return Mount(self.base, relative, relative)


class Found(NamedTuple):
    """A file that a walk has found.

    Attributes:
        path: Its path from the root of the walk, through archives.
        tree: The tree that it is read from.
        relative: Its path in that tree.
    """

    path: str
    tree: Files
    relative: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The path of its folder with the slash; "" for the root."""
        return self.path.removesuffix(self.name)


class Walked(NamedTuple):
    """The files of a tree, those in its archives included.

    Attributes:
        files: What was found.
        problems: Sentences on archives that cannot be read.
        refused: The names that are not read.
    """

    files: list[Found]
    problems: list[str]
    refused: list[Ignored]


def walk(tree: Files) -> Walked:
    """List the files of a tree and of the archives in it.

    Hidden files and those that programs make are ignored. The walk ends after 1,000 names.
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
                result.refused.append(Ignored(f"all but the first {_MOST_NAMES:,} names"))
                return result
            inside, label = joined(relative, entry.name), joined(path, entry.name)
            if entry.kind == "folder" and label.count("/") < _MOST_DEPTH:
                folders.append((tree, inside, label))
            elif entry.kind == "archive":
                archives += 1
                folders += _opened(tree, inside, label, result, is_allowed=archives <= _MOST_ARCHIVES)
            elif entry.kind in ("file", "link"):
                result.files.append(Found(label, tree, inside))
    return result


def _opened(tree: Files, inside: str, label: str, result: Walked, is_allowed: bool) -> list[tuple[Files, str, str]]:
    """Return the root of an archive as a folder to walk; if it cannot be read, none, and the problem in `result`."""
    try:
        if not is_allowed:
            raise UnreadableError(f"{inside} is one archive too many: hand in one.")
        opened = tree.below(inside)
    except UnreadableError as error:
        problem = renamed(str(error), inside, label)
        result.problems.append(problem)
        reason, _, advice = problem.removeprefix(f"{label} ").removesuffix(".").partition(": ")
        result.refused.append(Ignored(label, advice, reason.removeprefix("is ")))
        return []
    result.refused.extend(opened.refused)
    return [(opened, "", label)]


def joined(*parts: str) -> str:
    """Join the parts of a relative path, without empty ones."""
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


def renamed(sentence: str, name: str, label: str) -> str:
    """Replace the file name at the beginning of a sentence."""
    return f"{label}{sentence.removeprefix(name)}" if name and sentence.startswith(f"{name} ") else sentence
