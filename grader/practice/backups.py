"""Keeps a copy of a student's file in the state folder before a command changes or removes it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from grader.practice.state import state_folder

if TYPE_CHECKING:
    import datetime
    from pathlib import Path


def back_up(folder: Path, file: Path, content: bytes, now: datetime.datetime) -> Path:
    """Write what a file contains to a new name, and return its path. Raises OSError.

    Args:
        folder: The student's folder.
        file: The student's file, which the backup is named after.
        content: What it contains.
        now: The time, which the backup is named after too.
    """
    backups = state_folder(folder) / "backups"
    backups.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        again = f"-{number}" if number else ""
        backup = backups / f"{file.stem}-{now:%Y-%m-%d-%H%M%S}{again}{file.suffix}"
        try:
            with backup.open("xb") as opened:
                opened.write(content)
        except FileExistsError:
            continue
        return backup
    raise AssertionError
