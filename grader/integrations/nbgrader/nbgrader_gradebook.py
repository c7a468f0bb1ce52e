"""The roster, times.csv and adjustments.csv in nbgrader's course folder, and what they write into nbgrader's gradebook.

Dates, adjustments and penalties are written so that nbgrader's scores are the points of reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor
from nbgrader.utils import parse_utc

from grader.classes.dating import Dating
from grader.classes.decisions import ADJUSTMENTS, Decisions, read_decisions
from grader.classes.exports import safe
from grader.classes.hand_ins import HandIn
from grader.classes.matcher import Matcher
from grader.classes.roster import RosterEntry
from grader.course.model import Course, Late
from grader.reports.report_model import Change
from grader.submissions.notebook import QUIZ_MARK
from grader.submissions.submission import student_id

ROSTER = "roster.csv"
_ADJUSTED, _COMMENT = "Adjusted by ", "Comment by "
"""How a comment on an adjustment begins, and one without points."""


def decisions_in(folder: Path, course: Course) -> Decisions:
    """Return what the tables in nbgrader's course folder decide; nothing without a roster. Raises TableError."""
    roster = folder / ROSTER
    return read_decisions(roster, course) if roster.exists() else Decisions(course)


def entry_of(matcher: Matcher, name: str) -> RosterEntry:
    """Return the line of the roster on a student of nbgrader's, whose name can have any characters.

    Without such a line, return one without extensions, with the name in reports.
    """
    in_reports = student_id(name)
    # Without Latin letters nothing remains of a name.
    found = matcher.match(name) or (matcher.match(in_reports) if in_reports else None)
    # Who only teaches has no name in reports.
    return found[0] if found and found[0].student else RosterEntry(in_reports or name)


def add_students(gradebook: Any, entries: Sequence[RosterEntry], known: Iterable[str]) -> None:
    """Add the students of the roster whom nbgrader does not know, and add the missing names of the others.

    Args:
        gradebook: nbgrader's gradebook.
        entries: The roster.
        known: Names that nbgrader will add by itself.
    """
    present = {one.id: one for one in gradebook.students}
    names, matcher = dict[str, str](), Matcher(entries)
    for name in sorted({*known, *present}):
        student = entry_of(matcher, name).student
        if student not in names or name == student:
            names[student] = name
    for entry in entries:
        name, about = names.get(entry.student, entry.student), _about(entry)
        if name in present:
            about = {key: text for key, text in about.items() if not getattr(present[name], key)}
        if about or name not in present:
            gradebook.update_or_create_student(name, **about)


def _about(entry: RosterEntry) -> dict[str, str]:
    """Return the names and the address. nbgrader's table quotes nothing: a comma would begin another column."""
    last, comma, first = entry.name.partition(",")
    if not comma:
        first, _, last = entry.name.rpartition(" ")
    about = {"first_name": first, "last_name": last, "email": entry.email}
    plain = {key: str(safe(" ".join(text.replace(",", " ").split()))) for key, text in about.items()}
    return {key: text for key, text in plain.items() if text}


def differences(found: Mapping[str, float], possible: Mapping[str, float]) -> str:
    """Return in which cells the points of nbgrader differ from those of the course; "" if in none."""
    wrong = [name for name in {**possible, **found} if found.get(name) != possible.get(name)]
    return ", ".join(f"{name} {_points(found, name)} instead of {_points(possible, name)}" for name in wrong)


def write_adjustments(notebook: Any, changes: Iterable[Change], exercises: Iterable[str]) -> None:
    """Write adjustments as extra credit with a comment: on the exercise, or on the first one if on the whole unit.

    A comment that somebody enters in formgrader takes its place.
    """
    first = next(iter(exercises))
    extra: dict[str, Fraction] = {}
    comments: dict[str, list[str]] = {}
    for change in changes:
        if change.kind != "late":
            exercise = change.exercise or first
            cell = f"test_{exercise}"
            extra[cell] = extra.get(cell, Fraction(0)) + Fraction(str(change.points))
            points = f"{change.points:+g} points. " if change.kind == "adjustment" else ""
            text = f"{_ADJUSTED if points else _COMMENT}{change.by}: {points}{change.reason}"
            comments.setdefault(exercise, []).append(text)
    for grade in notebook.grades:
        grade.extra_credit = float(extra.get(grade.name, 0)) or None
    for comment in notebook.comments:
        if comment.name in comments or (comment.auto_comment or "").startswith((_ADJUSTED, _COMMENT)):
            comment.auto_comment = "\n".join(comments.get(comment.name, [])) or None


def write_penalty(gradebook: Any, notebook: Any, late: Late) -> None:
    """Write what late work and rounding take off, which nbgrader subtracts from the score.

    Args:
        gradebook: nbgrader's gradebook.
        notebook: The submitted notebook, with its scores and dates.
        late: The rules of the course.
    """
    earned, extra = Fraction(0), Fraction(0)
    for grade in notebook.grades:
        score = grade.auto_score if grade.manual_score is None else grade.manual_score
        # Without a score, nbgrader ignores the extra credit of a cell.
        if score is not None:
            earned += Fraction(str(score))
            extra += Fraction(str(grade.extra_credit or 0))
    remains: Fraction | int = earned + extra
    if (percent := late.percent(late.days(notebook.assignment.total_seconds_late))) or extra:
        remains = max(0, math.floor(earned * (100 - percent) / 100 + extra))
    penalty = float(earned + extra - remains)
    gradebook.db.flush()
    gradebook.db.refresh(notebook, ["score"])
    if notebook.score - penalty != remains:
        # Decimal fractions are not exact in nbgrader, but this difference is.
        penalty = notebook.score - float(remains)
    notebook.late_submission_penalty = penalty or None
    gradebook.db.flush()
    # nbgrader computes the sums when they are read again.
    gradebook.db.expire(notebook.assignment)


def _points(points: Mapping[str, float], name: str) -> str:
    return f"{points[name]:g}" if name in points else "none"


class LeaveQuizOpen(NbGraderPreprocessor):
    """Leaves the scores of a quiz empty before its due date. The parent is the SubmissionExporter.

    With a score of 0, nbgrader would show a failed test for every student.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Empty the scores in the gradebook; the notebook does not change."""
        names = resources["nbgrader"]
        session = self.parent.session(names)
        if session and session.is_quiz_early(names["student"]):
            with Gradebook(names["db_url"]) as gradebook:
                notebook = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
                for grade in notebook.grades:
                    if grade.name.startswith(f"test_{QUIZ_MARK}"):
                        grade.auto_score = None
                        # Only a score that somebody has entered is to be checked.
                        grade.needs_manual_grade = grade.manual_score is not None
                gradebook.db.commit()
        return nb, resources


class ApplyDecisions(AssignLatePenalties):
    """Writes a student's dates, adjustments and penalty by the rules of the course, as they are applied to reports.

    A notebook that is not of a unit gets nbgrader's own penalty. The parent is the SubmissionExporter.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write into the gradebook; the notebook does not change."""
        names = resources["nbgrader"]
        session = self.parent.session(names)
        if session is None:
            unchanged: tuple[NotebookNode, ResourcesDict] = super().preprocess(nb, resources)
            return unchanged
        unit, student = session.unit, names["student"]
        decisions, entry, described = session.decisions, session.entry(student), session.course.units[unit]
        submitted = self.parent.submitted(student, unit).parent
        with Gradebook(names["db_url"]) as gradebook:
            submission = gradebook.find_submission(unit, student)
            notebook = gradebook.find_submission_notebook(names["notebook"], unit, student)
            submission.assignment.duedate = parse_utc(described.due)
            hand_in = HandIn(submitted, submitted.parent)
            dating = Dating(decisions, [submitted.parent], {entry.student: [hand_in]}, [unit])
            [time] = dating.times(entry.student, unit, [hand_in], [0])
            if time and time.at:
                submission.timestamp = parse_utc(time.at)
            if decisions.entries:
                extended = entry.due.get(unit)
                submission.extension = parse_utc(extended) - parse_utc(described.due) if extended else None
                # Without the file, extra credit is what somebody has entered.
                if Path(self.parent.coursedir.root, ADJUSTMENTS).exists():
                    adjusted = [*decisions.adjusted(entry.student, ""), *decisions.adjusted(entry.student, unit)]
                    write_adjustments(notebook, adjusted, described.exercises)
            write_penalty(gradebook, notebook, session.course.late)
            if submission.total_seconds_late or notebook.late_submission_penalty:
                self.log.warning(
                    "%s is %s seconds late. Late penalty, with rounding: %s",
                    submission,
                    submission.total_seconds_late,
                    notebook.late_submission_penalty or 0,
                )
            gradebook.db.commit()
        return nb, resources
