"""Writes the grades of a class into nbgrader's gradebook, and shows first what that would change."""

from __future__ import annotations

import contextlib
import datetime
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbgrader import api
from sqlalchemy import URL, create_engine, inspect
from sqlalchemy.exc import DatabaseError

from grader.classes.exports import safe
from grader.errors import GraderError
from grader.integrations.nbgrader import ignore_warnings
from grader.integrations.nbgrader.decisions import names_of
from grader.integrations.nbgrader.scores import (
    differences,
    parts_of,
    score_of,
    write_adjustments,
    write_extension,
    write_penalty,
    write_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from grader.classes.gradebook import Gradebook
    from grader.classes.roster import Entry
    from grader.course.model import Course
    from grader.reports.model import Unit


@dataclass(frozen=True)
class Change:
    """A student's score in a unit, None without a submission, and what it becomes. Equal scores: only parts change."""

    student: str
    unit: str
    before: float | None
    after: float


@dataclass
class Update:
    """What the reports of a class change in nbgrader's gradebook.

    Attributes:
        changes: The submissions that change.
        unchanged: How many do not.
        students: The students who are new, or get a name or an address.
        by_hand: Where somebody has entered scores in nbgrader, which stay: `student (unit)`.
        credited: Where the extra credit in nbgrader becomes that of the report.
        unknown: The units that are no assignments in nbgrader.
    """

    changes: list[Change] = field(default_factory=list)
    unchanged: int = 0
    students: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    credited: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def update_gradebook(path: Path, found: Gradebook, course: Course, has_roster: bool, writes: bool) -> Update:
    """Find out what the grades of a class change in nbgrader's gradebook, and write all of it or nothing.

    Args:
        path: nbgrader's gradebook.db.
        found: The class, without those who are not in its roster.
        course: The course.
        has_roster: Whether there is a roster, which then decides on extensions.
        writes: Whether to write.

    Raises:
        GraderError: It is not such a file, or its assignments have other points than the reports.
    """
    result = Update()
    entries = [row.entry for row in found.rows]
    with _transaction(path, writes) as gradebook:
        possible = {
            one.name: _points_of_cells(gradebook, one.name) for one in gradebook.assignments if one.name in course.units
        }
        result.unknown = [unit for unit in found.possible if unit not in possible]
        result.students = add_students(gradebook, entries)
        names = names_of(entries, [one.id for one in gradebook.students])
        for row in found.rows:
            student = row.entry.student
            for unit, grade in row.grades.items():
                if unit in result.unknown or grade.state != "graded" or grade.unit is None:
                    continue
                _require_points(unit, student, grade.unit, possible[unit])
                write = _Write(gradebook, names[student], unit)
                write.report(grade.unit, row.entry if has_roster else None, course)
                if write.has_scores_by_hand:
                    result.by_hand.append(f"{student} ({unit})")
                if write.replaces_credit:
                    result.credited.append(f"{student} ({unit})")
                if write.is_change:
                    result.changes.append(Change(names[student], unit, write.before, score_of(write.submission)))
                else:
                    result.unchanged += 1
    return result


class _Write:
    """A student's submission of a unit in nbgrader's gradebook, which is made if there is none, and what it was."""

    def __init__(self, gradebook: Any, name: str, unit: str) -> None:
        self.before: float | None = None
        self._credit_before: dict[str, float] = {}
        self._state_before: tuple[object, ...] = ()
        with contextlib.suppress(api.MissingEntry):
            submission = gradebook.find_submission(unit, name)
            self.before, self._state_before = score_of(submission), _state(submission)
            self._credit_before = _credit(submission)
        self._gradebook, self._unit = gradebook, unit
        self.submission = gradebook.update_or_create_submission(unit, name)
        self._notebook = gradebook.find_submission_notebook(unit, unit, name)

    @property
    def has_scores_by_hand(self) -> bool:
        """Whether somebody has entered a score, which stays."""
        return any(grade.manual_score is not None for grade in self._notebook.grades)

    @property
    def replaces_credit(self) -> bool:
        """Whether there was extra credit that is different now. Nothing says where it was from."""
        return bool(self._credit_before) and self._credit_before != _credit(self.submission)

    @property
    def is_change(self) -> bool:
        """Whether anything is different."""
        return _state(self.submission) != self._state_before

    def report(self, unit: Unit, entry: Entry | None, course: Course) -> None:
        """Write the unit of a report, and the extension of the student's line in the roster, if there is one."""
        if entry:
            write_extension(self.submission, entry, course)
        if unit.received and unit.received.at:
            write_time(self.submission, datetime.datetime.fromisoformat(unit.received.at))
        scores = {
            name: float(part.points) if part.points is not None else None for name, part in parts_of(unit).items()
        }
        for grade in self._notebook.grades:
            if grade.name in scores and grade.auto_score != scores[grade.name]:
                grade.auto_score = scores[grade.name]
                # nbgrader asks for a look at a score that was entered for another one of the tests.
                grade.needs_manual_grade = grade.manual_score is not None
            elif grade.name in scores and grade.manual_score is None:
                grade.needs_manual_grade = False
        write_adjustments(self._notebook, unit.changes, course.units[self._unit].exercises)
        write_penalty(self._gradebook, self._notebook, course.late, None if self.has_scores_by_hand else unit.points)


def _state(submission: Any) -> tuple[object, ...]:
    """Return everything that this module writes."""
    parts: list[object] = [submission.timestamp, submission.extension, submission.late_submission_penalty or 0]
    for grade in sorted((grade for one in submission.notebooks for grade in one.grades), key=lambda one: one.name):
        parts += [grade.name, grade.auto_score, grade.extra_credit or 0, grade.needs_manual_grade]
    comments = [comment for one in submission.notebooks for comment in one.comments]
    return (*parts, *sorted((comment.name, comment.auto_comment or "") for comment in comments))


def _credit(submission: Any) -> dict[str, float]:
    """Return the extra credit of the cells that have some."""
    grades = [grade for one in submission.notebooks for grade in one.grades]
    return {grade.name: grade.extra_credit for grade in grades if grade.extra_credit}


def _points_of_cells(gradebook: Any, unit: str) -> dict[str, float]:
    """Return the possible points of each test cell of a unit, without answers that are graded by hand."""
    try:
        notebook = gradebook.find_notebook(unit, unit)
    except api.MissingEntry:
        return {}
    by_hand = {cell.name for cell in notebook.solution_cells}
    return {cell.name: cell.max_score for cell in notebook.grade_cells if cell.name not in by_hand}


def _require_points(unit_name: str, student: str, unit: Unit, found: Mapping[str, float]) -> None:
    """Raise GraderError unless the cells in nbgrader's gradebook have the points of a report."""
    possible = {name: part.possible for name, part in parts_of(unit).items()}
    if wrong := differences(found, possible):
        raise GraderError(
            f"{unit_name} has other points in nbgrader's gradebook than in the report on {student} ({wrong}): run "
            f"`grader release nbgrader .` and `nbgrader generate_assignment {unit_name} --force` in nbgrader's course "
            "folder, and grade again."
        )


@contextlib.contextmanager
def _transaction(path: Path, writes: bool) -> Iterator[Any]:
    """Open nbgrader's gradebook. Its own commits are part of one transaction, which is undone unless `writes`."""
    advice = "give the gradebook.db in nbgrader's course folder"
    if not path.is_file():
        raise GraderError(f"--out: {path} does not exist: {advice}.")
    ignore_warnings()
    url = URL.create("sqlite", database=str(path))
    try:
        engine = create_engine(url)
        # nbgrader would make its tables in any database.
        if not inspect(engine).has_table("submitted_assignment"):
            raise GraderError(f"--out: {path} is not nbgrader's gradebook: {advice}.")
        engine.dispose()
        with api.Gradebook(url, "") as gradebook, gradebook.engine.connect() as connection:
            gradebook.db.remove()
            gradebook.db.configure(bind=connection)
            with connection.begin() as transaction:
                yield gradebook
                gradebook.db.flush()
                if not writes:
                    transaction.rollback()
    except DatabaseError as error:
        raise GraderError(
            f"--out: {path} cannot be used ({error.orig}), and nothing was written: {advice}. After an update of "
            "nbgrader, run `nbgrader db upgrade` there."
        ) from None


def add_students(gradebook: Any, entries: Sequence[Entry], known: Iterable[str] = ()) -> list[str]:
    """Add the students of the roster whom nbgrader does not know, and add the missing names of the others.

    Args:
        gradebook: nbgrader's gradebook.
        entries: The roster.
        known: Names that nbgrader will add by itself.

    Returns:
        The students who are new, or get a name or an address.
    """
    present = {one.id: one for one in gradebook.students}
    names = names_of(entries, {*known, *present})
    written = []
    for entry in entries:
        name = names[entry.student]
        about = _about(entry)
        if name in present:
            about = {key: text for key, text in about.items() if not getattr(present[name], key)}
        if about or name not in present:
            gradebook.update_or_create_student(name, **about)
            written.append(name)
    return written


def _about(entry: Entry) -> dict[str, str]:
    """Return the names and the address. nbgrader's table quotes nothing: a comma would begin another column."""
    last, comma, first = entry.name.partition(",")
    if not comma:
        first, _, last = entry.name.rpartition(" ")
    about = {"first_name": first, "last_name": last, "email": entry.email}
    plain = {key: str(safe(" ".join(text.replace(",", " ").split()))) for key, text in about.items()}
    return {key: text for key, text in plain.items() if text}
