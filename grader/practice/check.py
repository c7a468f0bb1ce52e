"""Checks the answers in a student's folder by the visible tests."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.course.model import Course
from grader.course.root import current_folder
from grader.documents import nearest
from grader.errors import GraderError
from grader.practice.exercise_code import Statements
from grader.quizzes.questions import FILENAME, read_questions
from grader.quizzes.sheet_reader import too_few_decimals
from grader.submissions.reader import read_submission
from grader.submissions.submission import FOLDER, Submission, is_published, require_folder, require_name
from grader.text import listed

if TYPE_CHECKING:
    from grader.engine.grading import Graded, Grading

_MARK = re.compile(r"^@picture\(\s*[\"'](\w+)[\"']", re.MULTILINE)


class Answers(NamedTuple):
    """A student's answers as they were read, and their code taken apart."""

    submission: Submission
    code: Statements


def check_answers(
    course: Course,
    answers: Answers,
    names: Iterable[str] = (),
    grading: Grading | None = None,
    drawn: Collection[str] = (),
) -> Graded:
    """Grade answers by the visible tests.

    Args:
        course: The course.
        answers: The student's answers.
        names: The exercises or units to check; by default, all units.
        grading: A grading by the visible tests that was prepared earlier; by default, one is started.
        drawn: The exercises whose pictures are drawn and whose questions are answered, too.

    Returns:
        The report, with the pictures and questions. If only exercises are named, it has the results of these and of
        those that they use.

    Raises:
        GraderError: There is nothing to check, or the grading failed.
    """
    submission = _narrowed(answers, course, set(names))
    now = datetime.datetime.now(datetime.UTC)
    with contextlib.nullcontext(grading) if grading else visible_grading(course, submission.units) as prepared:
        [(_, graded)] = prepared.reports([submission], at_once=1, now=now, drawn=drawn)
    if isinstance(graded, str):
        raise GraderError(f"Your answers could not be checked: {graded}.")
    return graded


def visible_grading(course: Course, units: Iterable[str] = ()) -> Grading:
    """Return a grading by the visible tests of these units, by default of all."""
    from grader.engine.grading import Grading  # slow to import, and other commands need only the names here

    source = course.checks / FILENAME
    questions = read_questions(source) if course.quizzes else {}
    quizzes = {unit: questions[unit] for unit in course.quizzes if unit in questions}
    # A student's own code on their own machine is isolated if possible, and run in any case.
    return Grading(course, quizzes, allow_unisolated=True, suites="visible", units=units)


def read_answers(course: Course, folder: Path, student: str | None = None) -> Answers:
    """Read all units of the answers in a folder. Raises GraderError if the folder or the student's name cannot be."""
    student = student or student_name(folder)
    require_folder(folder)
    require_name(student, folder)
    submission = read_submission(student, folder, course.units, course.exercises, (), course.quizzes)
    return Answers(submission, Statements(submission.sources))


def too_few_decimals_in(answers: Answers, course: Course, names: Collection[str]) -> list[str]:
    """Return a sentence for each number with too few decimals in the quizzes of these units, by default of all.

    It is not part of a report: a number may be right with fewer.
    """
    found = answers.submission.units.items()
    sheets = {
        unit: one.quiz for unit, one in found if one.quiz and not one.quiz.is_notebook and (not names or unit in names)
    }
    questions = read_questions(course.checks / FILENAME) if sheets else {}
    asked = [(sheet.cells[0], questions[unit]) for unit, sheet in sheets.items() if unit in questions]
    return [sentence for sheet, quiz in asked for sentence in too_few_decimals(sheet, quiz)]


def unit_of(name: str, course: Course) -> str:
    """Return the unit that a name means, which may be that of an exercise. Raises GraderError."""
    known = {unit: unit for unit in course.units} | course.unit_of
    if name not in known:
        raise GraderError(f"There is no exercise or unit {name!r}.{nearest(name, known)}")
    return known[name]


def unit_of_exercise(name: str, course: Course) -> str:
    """Return the unit that an exercise belongs to. Raises GraderError if the name is not that of an exercise."""
    unit = unit_of(name, course)
    if name == unit:
        exercises = ", ".join(course.units[unit].exercises)
        raise GraderError(f"{name} is a unit: name one of its exercises: {exercises}.")
    return unit


def exercises_to_draw(course: Course, name: str) -> list[str]:
    """Return the exercises with a picture that an exercise's or a unit's name means.

    Raises:
        GraderError: There is no such exercise or unit, or it has no picture.
    """
    unit = unit_of(name, course)
    path = course.checks / f"pictures_{unit}.py"
    marked = set(_MARK.findall(path.read_text(encoding="utf-8"))) if path.is_file() else set()
    drawn = [exercise for exercise in course.units[unit].exercises if exercise in marked]
    wanted = [exercise for exercise in drawn if name in (unit, exercise)]
    if not wanted:
        others = f" In {unit} there are pictures of {listed(drawn)}." if drawn else f" {unit} has none."
        raise GraderError(f"There is no picture of {name}.{others}")
    return wanted


def answers_folder(course: Course, here: Path | None = None) -> Path:
    """Return the folder `here`, by default the current one, or the nearest around it with answers in it.

    They may also be in the folder's exercises/. Raises GraderError if there are none, or if the nearest are the stubs
    that a course hands out: what students wrote there could not be told from them.
    """
    files = [f"{unit}{suffix}" for unit in course.units for suffix in (".py", ".ipynb")]
    here = here or current_folder()
    for folder in (here, *here.parents):
        places = (folder / FOLDER, folder)
        if any(_may_hold_answers(place / file) for place in places for file in files):
            own = folder.parent if folder.name == FOLDER else folder
            if course.solutions.is_dir() and own.resolve() == course.root.resolve():
                raise GraderError(
                    f"{course.exercises} is what the course hands out. Copy this folder and write your answers into "
                    f"the copy: `cp -r {course.exercises} answers`, then `cd answers`."
                )
            return own
    raise GraderError(f"{here} holds none of the course's files, such as {files[0]}: go to your course's folder.")


def _may_hold_answers(path: Path) -> bool:
    """Return whether this is a file, and not one of the solutions that an instructor has published."""
    return path.is_file() and not is_published(path.read_text(encoding="utf-8", errors="replace"))


def student_name(folder: Path) -> str:
    """Return the name of a folder as that of a student."""
    return re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", folder.name).lstrip("._-") or "me"


def _narrowed(answers: Answers, course: Course, names: set[str]) -> Submission:
    """Return a submission with only what the named exercises and units need; with all of it if there is no name."""
    submission = answers.submission
    if not names:
        return submission
    named = {unit_of(name, course) for name in names}
    untested: set[str] = set()
    wanted = answers.code.imported_by(named) & submission.units.keys() | named
    if not names & course.units.keys():
        used = answers.code.used_by(names)
        wanted = named | {unit for unit in wanted if used & course.units[unit].exercises.keys()}
        untested = {name for name, unit in course.unit_of.items() if unit in wanted} - used
    return dataclasses.replace(
        submission,
        units={unit: one for unit, one in submission.units.items() if unit in wanted},
        siblings={unit: source for unit, source in submission.sources.items() if unit not in wanted},
        untested=tuple(sorted(untested)),
    )
