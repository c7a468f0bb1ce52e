"""The autograder for Gradescope: its two scripts, the grader and the course.

It holds the hidden tests and the solutions. Gradescope shows it only to instructors.
"""

from __future__ import annotations

from pathlib import Path

from grader.course.model import FILENAME, Course
from grader.files import PACKAGE
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder import copy, replaced, require_built
from grader.integrations.release.requirements import LOCK, dependencies, pins

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
    lists = {LOCK: pins(course).values(), REQUIREMENTS: dependencies()}
    filled_in = {"@PYTHON@": course.python, '"@OPTIONS@"': f'"--unit", "{unit}"' if unit else ""}
    with replaced(directory, course, [*SCRIPTS, *copied, *lists]) as folder:
        for name, template in SCRIPTS.items():
            script = (Path(__file__).with_name("templates") / template).read_text(encoding="utf-8")
            for mark, value in filled_in.items():
                script = script.replace(mark, value)
            (folder / name).write_text(script, encoding="utf-8")
            (folder / name).chmod(0o755)
        for name, path in copied.items():
            copy(path, folder / name, *(left_out if path is PACKAGE else ()))
        for name, lines in lists.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return sorted(directory.iterdir())
