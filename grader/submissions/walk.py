"""Every file of a tree and of the archives in it, within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.submissions.archives import Archive
from grader.submissions.ignored import Ignored
from grader.submissions.plain_files import UnreadableError
from grader.submissions.tree import joined
from grader.submissions.views import renamed

if TYPE_CHECKING:
    from grader.submissions.tree import Files

_MOST_NAMES = 1_000
_MOST_ARCHIVES = 10
_MOST_DEPTH = 8


class Found(NamedTuple):
    """A file that a walk has found.

    Attributes:
        path: Its path from the tree on, through archives.
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
        """The path of its folder with the slash; "" for the tree itself."""
        return self.path.removesuffix(self.name)


class Walked(NamedTuple):
    """The files of a tree, those in its archives included.

    Attributes:
        files: What was found.
        problems: Sentences on archives that cannot be read.
        refused: What of the others is not read.
    """

    files: list[Found]
    problems: list[str]
    refused: list[Ignored]


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
    """Return the folder that an archive is; nothing, with the problem in `result`, where it cannot be read."""
    try:
        if not is_allowed:
            raise UnreadableError(f"{inside} is one archive too many: hand in one.")
        opened = tree.below(inside)
    except UnreadableError as error:
        result.problems.append(renamed(str(error), inside, label))
        return []
    result.refused.extend(opened.refused if isinstance(opened, Archive) else [])
    return [(opened, "", label)]
