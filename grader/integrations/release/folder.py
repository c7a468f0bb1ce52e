"""The folder that a release is written to: as a whole, or not at all."""

from __future__ import annotations

import contextlib
import fnmatch
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.build import check
from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from grader.course.model import Course

TYPES = (
    *(".py", ".md", ".json", ".ini", ".txt", ".yml", ".sh", ".typed", ".template"),
    *(".j2", ".html", ".css", ".js", ".svg", "gitignore", "gitattributes", "LICENSE", "METADATA", "WHEEL", "RECORD"),
)
"""How the names of files of a course and of the grader end. All are text in UTF-8."""


@contextlib.contextmanager
def replaced(directory: Path, course: Course, ours: Collection[str]) -> Iterator[Path]:
    """Give a new folder that replaces `directory` if the block succeeds.

    Args:
        directory: The folder to replace.
        course: The course.
        ours: Patterns of the names that a release writes.

    Raises:
        ReleaseError: The folder holds something else, is not a folder, or lies in the course. Nothing is written.
        OSError: A file cannot be written.
    """
    _require_free(directory, course, ours)
    target = directory.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        new, old = Path(folder, "new"), Path(folder, "old")
        new.mkdir()
        yield new
        if target.exists():
            target.replace(old)
        try:
            new.replace(target)
        except OSError:
            if old.exists():
                old.replace(target)
            raise


def require_built(course: Course) -> None:
    """Raise ReleaseError if exercises/ holds something that `grader build` did not write, such as an answer."""
    if stale := check(course):
        raise ReleaseError(f"exercises/{stale[0]} is not what `grader build` makes of its source: run that first.")


def copy(source: Path, target: Path, *left_out: str) -> None:
    """Copy a file, or a folder without caches, hidden files and what else is left out.

    Raises:
        ReleaseError: A file of the folder is of another type than those of a course or the grader.
    """
    if not source.is_dir():
        shutil.copyfile(source, target)
        return
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path.name.startswith(".") or path.name in {"__pycache__", *left_out}:
            continue
        if path.is_symlink() or not (path.is_dir() or path.name.endswith(TYPES)):
            raise ReleaseError(
                f"{path} is of no type that a course or the grader has, so nothing was written: remove it."
            )
        copy(path, target / path.name, *left_out)


def _require_free(directory: Path, course: Course, ours: Collection[str]) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise ReleaseError(f"{directory} is not a folder: name one that is empty or not there yet.")
    if directory.resolve().is_relative_to(course.root):
        raise ReleaseError(f"{directory} lies in the course's own repository: name a folder outside it.")
    names = sorted(path.name for path in directory.iterdir()) if directory.exists() else []
    for name in names:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in ours):
            raise ReleaseError(
                f"{directory} holds {name!r}, which is from no release: name an empty folder, or one that is not there "
                "yet."
            )
