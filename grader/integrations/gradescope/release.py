"""The autograder that is zipped and given to Gradescope: its two scripts, and the grader with all that it grades by.

It holds the hidden tests and the solutions. Gradescope shows it to instructors alone.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from grader.course.model import FILENAME, ROOT, load_course
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder import copy, replaced

SCRIPTS = {"setup.sh": "setup.sh", "run_autograder": "run_autograder.py"}
PROJECT = "pyproject.toml"
COURSE = ("grader", "solutions", "exercises", FILENAME, "requirements.lock", PROJECT)
REQUIREMENTS = "requirements.txt"


def release_gradescope(directory: Path, root: Path = ROOT) -> list[Path]:
    """Write the autograder to `directory`; what it holds is then zipped, without the folder around it.

    Returns what was written there; raises ReleaseError or CourseError before the first of it, and OSError.
    """
    load_course(root)
    missing = [name for name in COURSE if not (root / name).exists()]
    if missing:
        raise ReleaseError(f"{missing[0]} is missing in {root}: release from a checkout of the course.")
    with replaced(directory, lambda name: name in {*SCRIPTS, *COURSE, REQUIREMENTS}, root) as folder:
        for name, template in SCRIPTS.items():
            copy(Path(__file__).with_name("templates") / template, folder / name)
            (folder / name).chmod(0o755)
        for name in COURSE:
            copy(root / name, folder / name)
        dependencies = tomllib.loads((root / PROJECT).read_text(encoding="utf-8"))["project"]["dependencies"]
        (folder / REQUIREMENTS).write_text("".join(f"{one}\n" for one in dependencies), encoding="utf-8")
    return sorted(directory.iterdir())
