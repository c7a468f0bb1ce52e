"""The autograders for Classroom 50 and Gradescope.

Everyone who knows the address of Classroom 50's bundle can read it, so it holds only the visible tests. Gradescope's
autograder holds the hidden tests and the solutions: only instructors see it.
"""

from __future__ import annotations

from pathlib import Path

from grader.course.model import FILENAME, Course
from grader.files import PACKAGE
from grader.integrations.release import ReleaseError
from grader.integrations.release.leaks import require_none
from grader.integrations.release.release_folder import copy, replaced, require_built
from grader.integrations.release.wheel import LOCK, build_wheel, dependencies, pins

_TEMPLATES = Path(__file__).with_name("templates")
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
        copy(_TEMPLATES / "classroom50" / AUTOGRADER, folder / AUTOGRADER)
        (folder / CONSTRAINTS).write_text("".join(f"{pin}\n" for pin in pins(course)), encoding="utf-8")
        build_wheel(folder, course)
        require_none(folder, course)
    return sorted(directory.iterdir())


SCRIPTS = {"setup.sh": "setup.sh", "run_autograder": "run_autograder.py"}
REQUIREMENTS = "requirements.txt"


def release_gradescope(directory: Path, course: Course, unit: str | None = None) -> list[Path]:
    """Write the autograder to `directory`. Its contents are then zipped, without the folder itself.

    Args:
        directory: The folder.
        course: The course.
        unit: The unit to grade; None for all.

    Returns:
        The files and folders written.

    Raises:
        ReleaseError: The autograder cannot be made; nothing is written.
        OSError: A file cannot be written.
    """
    require_built(course)
    for name in [unit] if unit else course.units:
        if not course.hidden_tests(name):
            raise ReleaseError(
                f"{course.shown(course.suites / name)} has no hidden tests, so all submissions would get 0 of 0 "
                f"points, and nothing was written: write test_{name}.py there, or remove the unit from {FILENAME}."
            )
    parts = [course.solutions, course.exercises, course.root / FILENAME]
    left_out: tuple[str, ...] = ()
    if not course.suites.is_relative_to(PACKAGE):
        parts.append(course.root / course.suites.relative_to(course.root).parts[0])
        left_out = ("suites",)  # those in the package are another course's
    copied = {path.name: path for path in (PACKAGE, *parts)}
    lists = {LOCK: pins(course), REQUIREMENTS: dependencies()}
    filled_in = {"@PYTHON@": course.python, '"@OPTIONS@"': f'"--unit", "{unit}"' if unit else ""}
    with replaced(directory, course, [*SCRIPTS, *copied, *lists]) as folder:
        for name, template in SCRIPTS.items():
            script = (_TEMPLATES / "gradescope" / template).read_text(encoding="utf-8")
            for mark, value in filled_in.items():
                script = script.replace(mark, value)
            (folder / name).write_text(script, encoding="utf-8")
            (folder / name).chmod(0o755)
        for name, path in copied.items():
            copy(path, folder / name, *(left_out if path is PACKAGE else ()))
        for name, lines in lists.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return sorted(directory.iterdir())
