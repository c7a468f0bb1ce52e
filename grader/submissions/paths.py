"""The paths that an instructor gives: whether each is a folder, and whether its student can have a report."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.submissions.names import STUDENT

if TYPE_CHECKING:
    from pathlib import Path


class SubmissionError(GraderError):
    """A path given to the grader is not a submission; the text says which, and what to do."""


def require_folder(path: Path) -> None:
    """Raise SubmissionError where there is no folder, or only a link to one."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        raise missing(path) from None
    if stat.S_ISLNK(mode):
        raise SubmissionError(f"{quoted(path)} is a symbolic link: give the folder that it points to.")
    if not stat.S_ISDIR(mode):
        raise SubmissionError(f"{quoted(path)} is not a folder: give the folder that the file lies in.")


def missing(path: Path) -> SubmissionError:
    """Return the error for a path where nothing is."""
    return SubmissionError(f"{quoted(path)} does not exist: give the folder of a submission or of a class.")


def require_name(student: str, path: Path) -> None:
    """Raise SubmissionError where no report can have the student's name."""
    if not STUDENT.fullmatch(student):
        raise SubmissionError(
            f"{quoted(path)} cannot be graded as {student!r}: rename the folder or name the student, "
            "with letters, digits, '.', '_' and '-' only, and a letter or a digit first."
        )


def quoted(path: Path) -> str:
    """Quote a path for messages: others may have chosen its name."""
    return repr(str(path))
