"""Releases that are folders, written as a whole or not at all: the autograders; and solutions, published into one.

Everyone who knows the address of Classroom 50's bundle can read it, so it holds only the visible tests. Gradescope's
autograder holds the hidden tests and the solutions: only instructors see it.
"""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION, check, read_source
from grader.course.model import FILENAME, Course
from grader.course.modules import shown
from grader.files import PACKAGE, refuse_links, temporary_folder, write_atomically
from grader.integrations.release import ReleaseError
from grader.integrations.release.leaks import TYPES, require_none
from grader.integrations.release.wheel import LOCK, build_wheel, dependencies, pins
from grader.submissions.submission import PUBLISHED, PUBLISHED_FOLDER, is_published

_TEMPLATES = Path(__file__).with_name("templates")
AUTOGRADER = "autograder.py"
CONSTRAINTS = "constraints.txt"
"""The versions that pip may choose. It installs nothing by itself."""
SCRIPTS = {"setup.sh": "setup.sh", "run_autograder": "run_autograder.py"}
REQUIREMENTS = "requirements.txt"


@contextlib.contextmanager
def replaced(directory: Path, course: Course, ours: Collection[str]) -> Iterator[Path]:
    """Give a new folder that replaces `directory` if the block succeeds.

    Args:
        directory: The folder to replace.
        course: The course.
        ours: Patterns of the names that a release writes.

    Raises:
        ReleaseError: The folder holds something else, is not a folder, or lies in the course. Nothing is written.
        OSError: A file cannot be written.
    """
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise ReleaseError(f"{directory} is not a folder: name one that is empty or not there yet.")
    if directory.resolve().is_relative_to(course.root):
        raise ReleaseError(f"{directory} lies in the course's own repository: name a folder outside it.")
    for name in sorted(path.name for path in directory.iterdir()) if directory.exists() else ():
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in ours):
            raise ReleaseError(
                f"{directory} holds {name!r}, which is from no release: name an empty folder, or one that is not there "
                "yet."
            )
    target = directory.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(target.parent, f".{target.name}.") as folder:
        new, old = folder / "new", folder / "old"
        new.mkdir()
        yield new
        if target.exists():
            target.replace(old)
        try:
            new.replace(target)
        except OSError:
            if old.exists():
                old.replace(target)
            raise


def require_built(course: Course) -> None:
    """Raise ReleaseError if exercises/ holds something that `grader build` did not write, such as an answer.

    What is not committed is built, if it is outdated.
    """
    if stale := check(course):
        raise ReleaseError(f"exercises/{stale[0]} is not what `grader build` makes of its source: run that first.")
    course.generated.bring_up_to_date()


def copy(source: Path, target: Path, *left_out: str) -> None:
    """Copy a file, or a folder without caches, hidden files and what else is left out.

    Raises:
        ReleaseError: A file of the folder is of another type than those of a course or the grader.
    """
    if not source.is_dir():
        shutil.copyfile(source, target)
        return
    target.mkdir()
    for path in sorted(source.iterdir()):
        if path.name.startswith(".") or path.name in {"__pycache__", *left_out}:
            continue
        if path.is_symlink() or not (path.is_dir() or path.name.endswith(TYPES)):
            raise ReleaseError(
                f"{path} is of no type that a course or the grader has, so nothing was written: remove it."
            )
        copy(path, target / path.name, *left_out)


def release_solutions(directory: Path, course: Course, units: Sequence[str], now: datetime.datetime) -> list[Path]:
    """Write solutions/<unit>.py to a folder that students receive, for each of these units.

    Args:
        directory: The folder, such as a student's repository.
        course: The course.
        units: Units of the course.
        now: The time, with a zone.

    Returns:
        The files.

    Raises:
        GraderError: A unit is not over, or the place is taken or a link. Nothing was written.
        BuildError: A unit's source is malformed. Nothing was written.
        OSError: A file cannot be written.
    """
    if directory.resolve().is_relative_to(course.root):
        raise ReleaseError(f"{directory} lies in the course's own repository: name a folder outside it.")
    if directory.exists() and not directory.is_dir():
        raise ReleaseError(f"{directory} is not a folder: name one that students receive, such as a clone.")
    for unit in units:
        if not course.is_over(unit, now):
            raise ReleaseError(
                f"{unit} is due on {course.units[unit].due_text}, so nothing was written: publish its solutions after "
                "that."
            )
    files = {directory / PUBLISHED_FOLDER / f"{unit}.py": _published(unit, course) for unit in units}
    for path in files:
        refuse_links(path, directory)
        if path.exists() and not (path.is_file() and is_published(path.read_text(encoding="utf-8", errors="replace"))):
            raise ReleaseError(
                f"{path} is from no `grader release solutions`, so nothing was written: rename it or move it away."
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    return list(files)


def require_over(directory: Path, course: Course, now: datetime.datetime) -> None:
    """Raise ReleaseError if solutions are published in an earlier release and their unit is not over.

    The due date may have been moved since.
    """
    for unit, described in course.units.items():
        path = directory / PUBLISHED_FOLDER / f"{unit}.py"
        if not course.is_over(unit, now) and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if is_published(text):
                raise ReleaseError(
                    f"{path} holds the solutions of {unit}, which is due on {described.due_text}, so nothing was "
                    "changed: remove the file, or correct the date."
                )


def _published(unit: str, course: Course) -> str:
    """Return a unit's source with its solutions, without markers, hints and nbgrader's metadata."""
    import jupytext

    notebook = read_source(course.solutions / f"{unit}.py", course)
    notebook.metadata["jupytext"] |= {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all"}
    lines = str(jupytext.writes(notebook, fmt="py:percent")).splitlines()
    kept = [line for line in lines if BEGIN_SOLUTION not in line and END_SOLUTION not in line]
    title = f"{PUBLISHED}{unit}. This file is not graded; your answers are in the unit's own file."
    return "\n".join([title, "", *kept]).rstrip("\n") + "\n"


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
        if not any(path.is_file() for path in course.hidden_tests(name)):
            raise ReleaseError(
                f"{shown(course.suites / name)} has no hidden tests, so all submissions would get 0 of 0 points, and "
                f"nothing was written: write {course.hidden_tests(name)[0].name} there, or remove the unit from "
                f"{FILENAME}."
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
