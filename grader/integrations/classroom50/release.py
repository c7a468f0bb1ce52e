"""The bundle of an assignment in Classroom 50: autograder.py and the student's part of the grader.

Everyone who knows the bundle's address can read it, so it holds only the visible tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.integrations.release.folder import copy, replaced, require_built
from grader.integrations.release.leaks import require_none
from grader.integrations.release.requirements import pins
from grader.integrations.release.wheel import build_wheel

if TYPE_CHECKING:
    from grader.course.model import Course

AUTOGRADER = "autograder.py"
CONSTRAINTS = "constraints.txt"
"""The versions that pip may choose. It installs nothing by itself."""


def release_classroom50(directory: Path, course: Course) -> list[Path]:
    """Write the bundle to `directory`, for CLASSROOM/autograders/ASSIGNMENT/ in the teacher's repository.

    Returns:
        The files written.

    Raises:
        GraderError: The bundle cannot be made; nothing is written.
        OSError: A file cannot be written.
    """
    require_built(course)
    with replaced(directory, course, (AUTOGRADER, CONSTRAINTS, "*.whl")) as folder:
        copy(Path(__file__).with_name("templates") / AUTOGRADER, folder / AUTOGRADER)
        (folder / CONSTRAINTS).write_text("".join(f"{pin}\n" for pin in pins(course).values()), encoding="utf-8")
        build_wheel(folder, course)
        require_none(folder, course)
    return sorted(directory.iterdir())
