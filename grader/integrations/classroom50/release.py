"""The bundle of an assignment in Classroom 50: autograder.py, and beside it the student's part of the grader.

Whoever finds the bundle's address can read it, so it holds the visible tests alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.integrations.release.folder import copy, replaced
from grader.integrations.release.leaks import require_none
from grader.integrations.release.requirements import pins
from grader.integrations.release.wheel import build_wheel

if TYPE_CHECKING:
    from grader.course.model import Course

AUTOGRADER = "autograder.py"
CONSTRAINTS = "constraints.txt"
"""The versions that pip may choose, and nothing that it must install."""


def release_classroom50(directory: Path, course: Course) -> list[Path]:
    """Write the bundle to `directory`, for CLASSROOM/autograders/ASSIGNMENT/ in the teacher's repository.

    Returns the files written; raises ReleaseError or CourseError before the first of them, and OSError.
    """
    with replaced(directory, course, _is_ours) as folder:
        copy(Path(__file__).with_name("templates") / AUTOGRADER, folder / AUTOGRADER)
        (folder / CONSTRAINTS).write_text("".join(f"{pin}\n" for pin in pins(course).values()), encoding="utf-8")
        build_wheel(folder, course)
        require_none(folder, course)
    return sorted(directory.iterdir())


def _is_ours(name: str) -> bool:
    return name in {AUTOGRADER, CONSTRAINTS} or name.endswith(".whl")
