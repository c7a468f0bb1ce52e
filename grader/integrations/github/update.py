"""An earlier release brought up to date, around what students have done in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grader.integrations.github.repository import Author, Repository
from grader.integrations.release import GradingMode, ReleaseError
from grader.submissions.names import SHEET_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grader.course.model import Course

RECORD = ".course.json"
"""The file with the SHA-256 of each file as a release wrote it: what differs, somebody else has worked on."""

WORKFLOW = ".github/workflows/classroom.yml"


@dataclass
class Released:
    """What became of the files of a release, by their paths. All others were up to date.

    Attributes:
        is_new: Whether there was no earlier release.
        is_committed: Whether there is a new commit.
        written: Files that were written.
        overwritten: Files of the course that somebody had changed.
        kept: Files that the student has worked on.
        removed: Files that the course has no longer.
        push: The command that pushes the new commit of an earlier release.
    """

    is_new: bool = False
    is_committed: bool = False
    written: list[str] = field(default_factory=list)
    overwritten: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    push: str = ""


def is_release(directory: Path) -> bool:
    """Return whether an earlier release is there."""
    return not directory.is_symlink() and (directory / RECORD).is_file() and (directory / ".git").exists()


def released_mode(directory: Path) -> GradingMode:
    """Return what a push to an earlier release runs, by its workflow."""
    workflow = _content(directory, WORKFLOW) or b""
    if b"/grade-submission.yml@" in workflow:
        return GradingMode.reusable
    return GradingMode.key if b"secrets.GRADER_DEPLOY_KEY" in workflow else GradingMode.record


def of_students(course: Course) -> set[str]:
    """Return the files that students write in."""
    return {"README.md", *(f"exercises/{unit}{suffix}" for unit in course.units for suffix in (".py", SHEET_SUFFIX))}


def update(directory: Path, staging: Path, of_students: set[str], author: Author) -> Released:
    """Bring a release up to date, except for what students have worked on.

    Args:
        directory: The earlier release.
        staging: The new one.
        of_students: The files that students write in.
        author: Who commits.

    Raises:
        ReleaseError: Somebody would lose work; nothing is changed.
        OSError: A file cannot be written.
    """
    repository = Repository(directory)
    with repository.locked(), contextlib.ExitStack() as undo:
        there, changes, released = _plan(repository, staging, of_students)
        spare = Path(tempfile.mkdtemp(dir=staging))
        for path, content in changes.items():
            if content == there[path]:
                continue
            place = directory / path
            if there[path] is None:
                undo.callback(place.unlink, missing_ok=True)
            else:
                before = spare / str(len(released.written) + len(released.removed))
                shutil.copy2(place, before, follow_symlinks=False)
                undo.callback(shutil.move, before, place)
            if content is None:
                place.unlink()
                released.removed.append(path)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                (staging / path).replace(place)
                released.written.append(path)
        released.is_committed = repository.commit(changes, "The course, brought up to date", author)
        undo.pop_all()
    released.push = repository.push()
    return released


def _plan(
    repository: Repository, staging: Path, of_students: set[str]
) -> tuple[dict[str, bytes | None], dict[str, bytes | None], Released]:
    """Return what the files of a release hold now, what they will hold (None for one that goes), and whose they are.

    Raises ReleaseError where somebody would lose work.
    """
    directory, head, index = repository.folder, repository.committed(), repository.staged()
    recorded = _recorded(repository.content(head[RECORD]) if RECORD in head else b"", directory)
    offered = _recorded((staging / RECORD).read_bytes(), staging)
    there = {path: _content(directory, path) for path in {*recorded, *offered, RECORD}}
    committed = {path: checksum(repository.content(head[path])) for path in there if path in head}
    staged = {
        path: committed[path] if head.get(path) == index[path] else checksum(repository.content(index[path]))
        for path in there
        if path in index
    }
    changes: dict[str, bytes | None] = {}
    sums: dict[str, str] = {}
    released = Released()

    def is_untouched(path: str, new: bytes | None) -> bool:
        """Return whether the folder and git hold only what a release wrote, or this one will write."""
        return {_checksum(there[path]), committed.get(path), staged.get(path)} <= {recorded.get(path), _checksum(new)}

    for path in offered:
        old, new = there[path], (staging / path).read_bytes()
        if path in of_students and not is_untouched(path, new):
            if old != new:
                released.kept.append(path)
            if path in recorded:
                sums[path] = recorded[path]
            continue
        if old != new and path in recorded and _checksum(old) != recorded[path]:
            released.overwritten.append(path)
        changes[path], sums[path] = new, offered[path]
    changes.update({path: None for path in sorted(recorded.keys() - sums.keys()) if is_untouched(path, None)})
    changes[RECORD] = as_record(sums)
    (staging / RECORD).write_bytes(as_record(sums))

    _require_safe(directory, there, changes, recorded, committed, staged)
    return there, changes, released


def _require_safe(
    directory: Path,
    there: Mapping[str, bytes | None],
    changes: Mapping[str, bytes | None],
    recorded: Mapping[str, str],
    committed: Mapping[str, str],
    staged: Mapping[str, str],
) -> None:
    """Raise ReleaseError where the changes would cost somebody a file, or a change, that is in no commit."""
    strange, uncommitted = [], []
    for path, content in changes.items():
        ours = {None, recorded.get(path), _checksum(content)}
        if path not in committed.keys() & {*recorded, RECORD} and _checksum(there[path]) not in ours:
            strange.append(path)
        elif not {_checksum(there[path]), staged.get(path)} <= {*ours, committed.get(path)}:
            uncommitted.append(path)
    if strange:
        raise ReleaseError(
            f"Nothing was changed in {directory}, for the course now brings files that are there already with other "
            f"content: {', '.join(strange)}: rename them or move them aside, then release again."
        )
    if uncommitted:
        raise ReleaseError(
            f"Nothing was changed in {directory}, for files of the course have changes there that are in no commit: "
            f"{', '.join(uncommitted)}: commit them, or discard them with "
            f"`git checkout HEAD -- {shlex.join(uncommitted)}`, then release again."
        )


def _content(directory: Path, path: str) -> bytes | None:
    """Return what a file of the release holds now, as git has it; None where it is gone. Follow no link."""
    place = directory
    for part in PurePosixPath(path).parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise ReleaseError(f"{place} is no folder, but {path} belongs there: rename what is there.")
    place = directory / path
    if place.is_symlink():
        return os.fsencode(os.readlink(place))  # noqa: PTH115 - a Path would leave out "./"
    if place.is_dir():
        raise ReleaseError(f"{place} is a folder, but a file of the course belongs there: rename the folder.")
    if place.exists() and not place.is_file():
        raise ReleaseError(f"{place} is no file, but one of the course belongs there: rename what is there.")
    return place.read_bytes() if place.exists() else None


def _recorded(record: bytes, directory: Path) -> dict[str, str]:
    """Return what a release wrote, without paths that it cannot have written."""
    try:
        found = json.loads(record)
        return {path: value for path, value in found.items() if _is_inside(path) and isinstance(value, str)}
    except (ValueError, AttributeError):
        raise ReleaseError(
            f"{directory / RECORD} cannot be read as it is in the latest commit, so nobody knows what is the "
            f"student's: get it back with `git checkout COMMIT -- {RECORD}` from an earlier one, and commit it."
        ) from None


def _is_inside(path: str) -> bool:
    """Return whether a path leads to a file of the release, and nowhere else, on every system."""
    return not re.search(r"[\\:]", path) and not {"", ".", "..", ".git"}.intersection(path.lower().split("/"))


def as_record(sums: Mapping[str, str]) -> bytes:
    """Return the content of RECORD."""
    return (json.dumps(dict(sorted(sums.items())), indent=1) + "\n").encode()


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def _checksum(content: bytes | None) -> str | None:
    return None if content is None else checksum(content)
