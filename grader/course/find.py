"""Which course a command works on: the one it names, or the one around the current folder."""

from __future__ import annotations

from pathlib import Path

from grader.course.model import FILENAME, Course, load_course
from grader.documents import CourseError
from grader.files import PACKAGE

RECEIVED = PACKAGE / "received"
"""The course as students know it, which their grader carries inside."""


def find_course(named: Path | None = None, around: Path | None = None) -> Course:
    """Read the course that a command works on.

    It is the named one, or the one that the grader carries (a student's), or the nearest parent folder with an
    autograder.yml and solutions/, or the one that the grader's own code is part of.

    Args:
        named: What --course says.
        around: The folder to begin with; by default the current one.

    Raises:
        CourseError: There is no course, or something in it is wrong.
    """
    if named is not None:
        if not (named / FILENAME).is_file():
            raise CourseError(f"--course: {named} has no {FILENAME}: give the folder of a course.")
        return load_course(named)
    if RECEIVED.is_dir():
        return load_course(RECEIVED)
    try:
        here = (around or Path.cwd()).resolve()
    except FileNotFoundError:
        raise CourseError("This folder no longer exists: go to the course's folder.") from None
    for folder in (here, *here.parents, PACKAGE.parent):
        # A student's repository has an autograder.yml too, which decides nothing.
        if (folder / FILENAME).is_file() and (folder / "solutions").is_dir():
            return load_course(folder)
    raise CourseError(
        f"There is no course here: neither {here} nor a folder above it has {FILENAME} and solutions/. Go to the "
        "course's folder, give it with --course DIR, or make a new course with `grader new course DIR`."
    )
