"""Checks the answers in a student's folder by the visible tests."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

from grader.documents import nearest
from grader.engine.grading import Grading
from grader.errors import GraderError
from grader.quizzes.questions import FILENAME, Questions, read_questions
from grader.submissions.names import require_folder, require_name
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from grader.course.model import Course
    from grader.reports.model import Report
    from grader.submissions.source import Submission

# Where code has the name of a unit.
IMPORT = r"^\s*(?:from|import)\s+{}\b"
MENTION = r"\b{}\b"


def check_answers(course: Course, name: str | None, student: str | None) -> Report:
    """Grade the answers in this folder by the visible tests.

    Args:
        course: The course.
        name: An exercise or a unit to check alone; by default, all units.
        student: The student's name; by default the folder's.

    Returns:
        The report.

    Raises:
        GraderError: There is nothing to check, the submission cannot be read, or the grading failed.
    """
    units = list(course.units) if name is None else [unit_of(name, course)]
    # A workflow names the student. Then this folder is the submission, even if it is empty.
    folder = answers_folder(course) if student is None else _here()
    student = student or student_name(folder)
    require_folder(folder)
    require_name(student, folder)
    asked = read_questions(course.exercises / FILENAME) if course.quizzes else {}
    quizzes: dict[str, Questions] = {unit: asked[unit] for unit in units if unit in asked and unit in course.quizzes}
    submission = read_submission(student, folder, units, course.exercises, course.units, quizzes)
    if name is not None:
        # Which exercises of an imported unit are right decides where a mistake is.
        imported = _reached(submission, course, IMPORT)
        units = [unit for unit in course.units if unit in imported or unit in units]
        # A file that nothing mentions could only cost time: what it needs of torch would be imported for it.
        mentioned = _reached(submission, course, MENTION)
        submission = read_submission(student, folder, units, course.exercises, mentioned, quizzes)
    now = datetime.datetime.now(datetime.UTC)
    # A student's own code on their own machine is isolated if possible, and run in any case.
    with Grading(course, quizzes, allow_unisolated=True, suites="visible", units=units) as grading:
        [(_, graded)] = grading.reports([submission], at_once=1, now=now)
    if isinstance(graded, str):
        raise GraderError(f"Your answers could not be checked: {graded}.")
    return graded.report


def unit_of(name: str, course: Course) -> str:
    """Return the unit that a name means, which may be that of an exercise. Raises GraderError."""
    for unit, described in course.units.items():
        if name == unit or name in described.exercises:
            return unit
    known = [*course.units, *(exercise for unit in course.units.values() for exercise in unit.exercises)]
    raise GraderError(f"There is no exercise or unit {name!r}.{nearest(name, known)}")


def _reached(submission: Submission, course: Course, pattern: str) -> set[str]:
    """Return the units whose names occur like this in a submission's code, directly or in the code of such a unit."""
    sources = {**submission.siblings, **submission.sources}
    found, new = set[str](), set(submission.units)
    while new:
        text = "\n".join(cell for name in new & sources.keys() for cell in sources[name].cells)
        here = {name for name in course.units if re.search(pattern.format(name), text, re.MULTILINE)}
        new = here - found - set(submission.units)
        found |= new
    return found


def answers_folder(course: Course) -> Path:
    """Return this folder or the nearest one around it with answers in it or in its exercises/. Raises GraderError."""
    files = [f"{unit}{suffix}" for unit in course.units for suffix in (".py", ".ipynb")]
    here = _here()
    for folder in (here, *here.parents):
        places = (folder / "exercises", folder)
        if any((place / file).is_file() for place in places for file in files):
            return folder.parent if folder.name == "exercises" else folder
    raise GraderError(f"{here} holds none of the course's files, such as {files[0]}: go to your course's folder.")


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise GraderError("This folder no longer exists: go to your course's folder.") from None


def student_name(folder: Path) -> str:
    """Return the name of a folder as that of a student."""
    return re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", folder.name).lstrip("._-") or "me"
