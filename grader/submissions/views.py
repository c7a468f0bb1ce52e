"""Trees that put parts of other trees together, or open one only when it is read."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.archives import Archive
from grader.submissions.members import SUBMISSION
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tree import Entry, joined

if TYPE_CHECKING:
    from grader.submissions.tree import Files, Kind


class Mount(NamedTuple):
    """A part of another tree, and what messages call it."""

    tree: Files
    relative: str
    label: str


@dataclass(frozen=True)
class View:
    """Parts of other trees under names of its own, over what is in `base`."""

    mounts: dict[str, Mount]
    base: Files | None = None

    def read_bytes(self, relative: str, limit: int) -> bytes | None:
        """Return the content of a plain file; None where there is no such file. Raises UnreadableError."""
        if (mount := self._mount(relative)) is None:
            return self.base.read_bytes(relative, limit) if self.base else None
        try:
            return mount.tree.read_bytes(mount.relative, limit)
        except UnreadableError as error:
            raise UnreadableError(renamed(str(error), mount.relative, mount.label)) from None

    def kind(self, relative: str) -> Kind | None:
        """Return what lies there; None where nothing does."""
        if mount := self._mount(relative):
            return mount.tree.kind(mount.relative)
        return self.base.kind(relative) if self.base else None

    def entries(self, relative: str = "") -> list[Entry]:
        """List what a folder holds, in the order of names."""
        if mount := self._mount(relative):
            return mount.tree.entries(mount.relative)
        own = {name: self.kind(name) or "other" for name in self.mounts if "/" not in name} if not relative else {}
        others = self.base.entries(relative) if self.base else []
        return sorted(Entry(*one) for one in {**dict(others), **own}.items())

    def below(self, relative: str) -> Files:
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
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
            inside = joined(mount.relative, rest)
            return Mount(mount.tree, inside, relative)
        return None


@dataclass(frozen=True)
class Broken:
    """A submission that cannot be read at all, and the sentence that says why."""

    problem: str

    def read_bytes(self, relative: str, limit: int) -> bytes | None:  # noqa: ARG002
        """Return the content of a plain file; None where there is no such file. Raises UnreadableError."""
        raise UnreadableError(self.problem)

    def kind(self, relative: str) -> Kind | None:  # noqa: ARG002
        """Return what lies there; None where nothing does."""
        return None

    def entries(self, relative: str = "") -> list[Entry]:  # noqa: ARG002
        """List what a folder holds, in the order of names."""
        return []

    def below(self, relative: str) -> Files:  # noqa: ARG002
        """Return the tree of a folder or of an archive. Raises UnreadableError."""
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
        """Return the content of a plain file; None where there is no such file. Raises UnreadableError."""
        return self.opened().read_bytes(relative, limit)

    def kind(self, relative: str) -> Kind | None:
        """Return what lies there; None where nothing does."""
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
        found = tree.below(relative)
        if isinstance(found, Archive):
            found.require(SUBMISSION)
    except UnreadableError as error:
        return Broken(str(error))
    return found


def renamed(sentence: str, name: str, label: str) -> str:
    """Replace the file name that a sentence begins with."""
    return f"{label}{sentence.removeprefix(name)}" if name and sentence.startswith(f"{name} ") else sentence
