"""Finds the folder of the course that a command works on. Reads nothing, so that a command starts fast."""

from __future__ import annotations

from pathlib import Path

from grader.errors import CourseError
from grader.files import PACKAGE
from grader.submissions.submission import is_published

FILENAME = "autograder.yml"
RECEIVED = PACKAGE / "received"
"""The course as students receive it, inside their grader."""


def find_root(named: Path | None = None, around: Path | None = None) -> Path:
    """Return the folder of a course.

    It is the named course, or the one inside a student's grader, or the nearest parent folder with an autograder.yml
    and solutions/, or the course that contains the grader's own code.

    Args:
        named: The value of --course.
        around: The folder to start from; by default the current folder.

    Raises:
        CourseError: There is no course.
    """
    if named is not None:
        if not (named / FILENAME).is_file():
            raise CourseError(f"--course: {named} has no {FILENAME}: give the folder of a course.")
        return named
    if RECEIVED.is_dir():
        return RECEIVED
    here = (around or current_folder()).resolve()
    for folder in (here, *here.parents, PACKAGE.parent):
        if (folder / FILENAME).is_file() and has_sources(folder / "solutions"):
            return folder
    if (here / FILENAME).is_file():
        raise CourseError(
            f"{here} is a students' repository, and this is an instructor's grader: install the students' grader with "
            "`pip install -r requirements.txt`, or give the course with --course DIR."
        )
    raise CourseError(
        f"There is no course here: neither {here} nor a folder above it has {FILENAME} and solutions/. Go to the "
        "course's folder, give it with --course DIR, or make a new course with `grader new course DIR`."
    )


def has_sources(solutions: Path) -> bool:
    """Return whether this is the folder of a course's sources. A student's repository has none, or published ones."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in solutions.glob("*.py")]
    return solutions.is_dir() and not (texts and all(map(is_published, texts)))


def current_folder() -> Path:
    """Return the current folder. Raises CourseError if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise CourseError("This folder no longer exists: go to the course's folder.") from None
