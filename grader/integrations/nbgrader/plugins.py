"""Small plugins of nbgrader: stubs, dates and penalties, quizzes before the due date, pages of feedback."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties, ClearSolutions, NbGraderPreprocessor
from nbgrader.utils import parse_utc

from grader.classes.adjustments import ADJUSTMENTS
from grader.classes.dating import Dating
from grader.classes.hand_ins import HandIn
from grader.integrations.nbgrader import IN_PLACE_OF, course_of
from grader.integrations.nbgrader.scores import write_adjustments, write_extension, write_penalty
from grader.quizzes.sheet import heading
from grader.submissions.notebook import QUIZ_MARK

if TYPE_CHECKING:
    from typing import Any

    from nbconvert.exporters.exporter import ResourcesDict
    from nbformat import NotebookNode

# Two kinds of links in the index of nbgrader's page of feedback: to a score, and to a comment on an answer.
_SCORE = re.compile(r'(<a href="#test_([\w-]+)">)Test cell(?=</a>)')
_COMMENT = re.compile(r'(<a href="#comment-([\w-]+)">Comment)(?=</a>)')


class ClearAnswers(ClearSolutions):
    """Replaces a solution by the stub that its marker names: `### BEGIN SOLUTION in the place of: stub`.

    nbgrader's ClearSolutions clears such a cell too, but leaves its usual stub.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        begin, end = re.escape(self.begin_solution_delimeter), re.escape(self.end_solution_delimeter)
        # A solution that begins inside another is not matched: ClearSolutions reports that error.
        region = rf"^([ \t]*).*{begin}{IN_PLACE_OF}(.*)\n(?:(?!.*{begin}).*\n)*?.*{end}.*$"
        cell.source, count = re.subn(region, r"\1\2", cell.source, flags=re.MULTILINE)
        return super()._replace_solution_region(cell, language) or count > 0


class SetDueDate(NbGraderPreprocessor):
    """Writes a unit's due date from autograder.yml into the gradebook."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write the due date; the notebook does not change."""
        about = resources["nbgrader"]
        unit = course_of(self.config).units.get(about["assignment"])
        if unit and not self.config.GenerateAssignment.get("no_database", False):
            with Gradebook(about["db_url"]) as gradebook:
                gradebook.update_or_create_assignment(about["assignment"], duedate=unit.due)
        return nb, resources


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

    A notebook that is not of a unit gets nbgrader's own penalty, from LatePenalty. The parent is the
    SubmissionExporter.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write into the gradebook; the notebook does not change."""
        names = resources["nbgrader"]
        session = self.parent.session(names)
        if session is None:
            unchanged: tuple[NotebookNode, ResourcesDict] = super().preprocess(nb, resources)
            return unchanged
        unit, student = session.unit, names["student"]
        decisions, entry, exercises = session.decisions, session.entry(student), session.course.units[unit].exercises
        submitted = self.parent.submitted(student, unit).parent
        with Gradebook(names["db_url"]) as gradebook:
            submission = gradebook.find_submission(unit, student)
            notebook = gradebook.find_submission_notebook(names["notebook"], unit, student)
            submission.assignment.duedate = parse_utc(session.course.units[unit].due)
            hand_in = HandIn(submitted, submitted.parent)
            dating = Dating(decisions, [submitted.parent], {entry.student: [hand_in]}, [unit])
            [time] = dating.times(entry.student, unit, [hand_in], [0])
            if time and time.at:
                submission.timestamp = parse_utc(time.at)
            if decisions.entries:
                write_extension(submission, entry, session.course)
                # Without the file, extra credit is what somebody has entered.
                if Path(self.parent.coursedir.root, ADJUSTMENTS).exists():
                    adjusted = [*decisions.adjusted(entry.student, ""), *decisions.adjusted(entry.student, unit)]
                    write_adjustments(notebook, adjusted, exercises)
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


class FeedbackExporter(HTMLExporter):
    """Makes nbgrader's page of feedback, with the names of exercises and quiz items in its index."""

    def from_notebook_node(  # type: ignore[override]
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **settings: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert a notebook to a page."""
        page, resources = super().from_notebook_node(nb, resources, **settings)
        page = _SCORE.sub(lambda link: f"{link[1]}{_title(link[2])}", page)
        return _COMMENT.sub(lambda link: f"{link[1]} on {_title(link[2])}", page), resources


def _title(grade_id: str) -> str:
    """Return what a reader calls an exercise or a quiz item."""
    return f"Quiz: {heading(grade_id.removeprefix(QUIZ_MARK))}" if grade_id.startswith(QUIZ_MARK) else grade_id


class LatePenalty(LateSubmissionPlugin):
    """The deduction for late work by autograder.yml. The score that remains is rounded down, as in reports."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:  # noqa: ARG002
        """Return how much to subtract, never more than the score."""
        late = course_of(self.config).late
        percent = late.percent(late.days(total_seconds_late))
        exact = Fraction(str(score))
        return float(exact - math.floor(exact * (100 - percent) / 100)) if percent else 0.0
