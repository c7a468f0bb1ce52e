"""Publishes the solutions of units whose due date has passed, as files for students."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.course.build import BEGIN_SOLUTION, END_SOLUTION, read_source
from grader.files import refuse_links, write_atomically
from grader.integrations.release import ReleaseError
from grader.submissions.names import PUBLISHED, PUBLISHED_FOLDER, is_published

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence
    from pathlib import Path

    from grader.course.model import Course


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
