"""The folder that a release is written to: all of it at once, or nothing."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grader.integrations.release import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grader.course.model import Course


@contextlib.contextmanager
def replaced(directory: Path, course: Course, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """A new folder beside `directory`, which takes its place where the block ends well; else all stays as it was.

    is_ours: whether a name is one that a release writes. Where `directory` holds another, or is no folder, or lies in
    the course, there is a ReleaseError before anything is written. May also raise OSError.
    """
    _require_free(directory, course, is_ours)
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


def copy(source: Path, target: Path) -> None:
    """Copies a file, or a folder without what Python leaves there."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    else:
        shutil.copyfile(source, target)


def _require_free(directory: Path, course: Course, is_ours: Callable[[str], bool]) -> None:
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise ReleaseError(f"{directory} is no folder: name one that is empty or not there yet.")
    if directory.resolve().is_relative_to(course.root):
        raise ReleaseError(f"{directory} lies in the course's own repository: name a folder outside it.")
    others = sorted(path.name for path in directory.iterdir() if not is_ours(path.name)) if directory.exists() else []
    if others:
        raise ReleaseError(
            f"{directory} holds {others[0]!r}, which no release has put there: name an empty folder, or one that is "
            "not there yet."
        )
