"""Read-only trees of files that others wrote: one plain file, what all trees offer, parts of several, and a walk.

The files may be hostile, and this process is trusted. So it opens only plain files, follows no link on the way to them,
never waits for one, and reads at most a limit. It raises UnreadableError for any other file. `archives` has the trees
themselves: a folder on disk, and an archive.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from grader.text import plain

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


def size_text(size: int) -> str:
    """Return a number of bytes in the largest unit that fits."""
    if size < MEGABYTE:
        return f"{size // 1024} KB"
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / MEGABYTE:.1f} MB"


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

    @classmethod
    def because(cls, path: str, sentence: str, name: str) -> Ignored:
        """Make one of a sentence on a file that begins with its name."""
        reason, _, advice = sentence.removeprefix(f"{name} ").removesuffix(".").partition(": ")
        return cls(path, advice, reason.removeprefix("is "))

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


class TreePart(NamedTuple):
    """A file or folder of a tree.

    Attributes:
        tree: The tree that it is read from.
        relative: Its path in that tree.
        path: Its path from the root of a walk, through archives, or what else messages call it.
    """

    tree: Files
    relative: str
    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The path of its folder with the slash; "" for the root."""
        return self.path.removesuffix(self.name)


class PartsTree(Files):
    """Parts of other trees under their own names."""

    def mount(self, relative: str) -> TreePart:
        """Return where a path is."""
        raise NotImplementedError

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None if there is no such file. Raises UnreadableError."""
        tree, inside, label = self.mount(relative)
        try:
            return tree.read_bytes(inside, limit)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), inside, label)) from None

    def kind(self, relative: str) -> Kind | None:
        """Return what is there; None if nothing is."""
        tree, inside, _ = self.mount(relative)
        return tree.kind(inside)

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        tree, inside, _ = self.mount(relative)
        return tree.entries(inside)

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
        tree, inside, label = self.mount(relative)
        try:
            return tree.below(inside)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), inside, label)) from None


@dataclass(frozen=True)
class View(PartsTree):
    """Parts of other trees under their own names, in front of what is in `base`."""

    mounts: dict[str, TreePart]
    base: Files = _EMPTY

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        found = dict(super().entries(relative))
        if not relative:
            found |= {name: self.kind(name) or "other" for name in self.mounts if "/" not in name}
        return sorted(Entry(*one) for one in found.items())

    def mount(self, relative: str) -> TreePart:
        """Return where a path is."""
        if relative in self.mounts:
            return self.mounts[relative]
        first, _, rest = relative.partition("/")
        if mount := self.mounts.get(first):
            return TreePart(mount.tree, joined(mount.relative, rest), relative)
        return TreePart(self.base, relative, relative)


class Walked(NamedTuple):
    """The files of a tree, those in its archives included.

    Attributes:
        files: What was found.
        problems: Sentences on archives that cannot be read.
        refused: The names that are not read.
    """

    files: list[TreePart]
    problems: list[str]
    refused: list[Ignored]


def walk(tree: Files) -> Walked:
    """List the files of a tree and of the archives in it.

    Hidden files and those that programs make are ignored. The walk ends after 1,000 names.
    """
    result = Walked([], [], [])
    seen = archives = 0
    folders = [TreePart(tree, "", "")]
    while folders:
        folder = folders.pop(0)
        for entry in folder.tree.entries(folder.relative):
            if entry.is_junk:
                continue
            if (seen := seen + 1) > _MOST_NAMES:
                result.refused.append(Ignored(f"all but the first {_MOST_NAMES:,} names"))
                return result
            part = TreePart(folder.tree, joined(folder.relative, entry.name), joined(folder.path, entry.name))
            if entry.kind == "folder" and part.path.count("/") < _MOST_DEPTH:
                folders.append(part)
            elif entry.kind == "archive":
                archives += 1
                folders += _root_of_archive(part, result, is_allowed=archives <= _MOST_ARCHIVES)
            elif entry.kind in ("file", "link"):
                result.files.append(part)
    return result


def _root_of_archive(part: TreePart, result: Walked, is_allowed: bool) -> list[TreePart]:
    """Return the root of an archive as a folder to walk; if it cannot be read, none, and the problem in `result`."""
    try:
        if not is_allowed:
            raise UnreadableError(f"{part.relative} is one archive too many: hand in one.")
        opened = part.tree.below(part.relative)
    except UnreadableError as error:
        problem = renamed(str(error), part.relative, part.path)
        result.problems.append(problem)
        result.refused.append(Ignored.because(part.path, problem, part.path))
        return []
    result.refused.extend(opened.refused)
    return [TreePart(opened, "", part.path)]


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
