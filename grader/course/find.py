"""Read the course that a command works on: the named one, or the one around the current folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.course.model import Course, load_course
from grader.course.root import find_root

if TYPE_CHECKING:
    from pathlib import Path


def find_course(named: Path | None = None, around: Path | None = None) -> Course:
    """Read the course that `find_root` finds. Raises CourseError if there is none, or it has a mistake."""
    return load_course(find_root(named, around))
