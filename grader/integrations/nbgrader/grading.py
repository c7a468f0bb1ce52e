"""Replaces nbgrader's Execute: each test cell gets its points and feedback, as from `grader grade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

from grader.integrations.nbgrader.feedback import Feedback, of_exercise, of_quiz_item, of_whole
from grader.integrations.nbgrader.session import Session, cells_with_points

if TYPE_CHECKING:
    import datetime

    from nbconvert.exporters.exporter import ResourcesDict
    from nbformat import NotebookNode

    from grader.reports.model import Report

WHOLE = "about_the_notebook"
WHOLE_SOURCE = "# Notes from `grader` on the whole notebook."


class GradeSubmission(NbGraderPreprocessor):
    """Grades the file in submitted/, and writes points and feedback into the notebook's test cells.

    A notebook that is not of a unit is run as by nbgrader. The parent is the SubmissionExporter.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write points and feedback into a notebook."""
        names = resources["nbgrader"]
        session: Session | None = self.parent.session(names)
        if session is None:
            # Not inherited: a setting that disables Execute must not disable this class, as no output is full marks.
            executed: tuple[NotebookNode, ResourcesDict] = Execute(parent=self.parent)(nb, resources)
            return executed
        student, unit = names["student"], session.unit
        report = session.report(self.parent.submitted(student, unit), self.parent.following(student, unit))
        cells, released = cells_with_points(nb), cells_with_points(self.parent.release_notebook(unit))
        for name, (points, feedback) in _outcomes(report, unit, session.due(student)).items():
            cells[name].source = released[name].source  # without the hidden test
            cells[name].outputs = [_feedback_output(feedback), _points_output(points)]
        if whole := of_whole(report, unit):
            nb.cells.insert(0, nbformat.v4.new_code_cell(WHOLE_SOURCE, id=WHOLE, outputs=[_feedback_output(whole)]))
        return nb, resources


def _outcomes(report: Report, unit: str, due: datetime.datetime) -> dict[str, tuple[int, Feedback]]:
    """Return the points and the feedback of each test cell, by its grade_id."""
    graded = report.units[unit]
    outcomes = {
        f"test_{name}": (exercise.points, of_exercise(report, unit, name))
        for name, exercise in graded.exercises.items()
    }
    if graded.quiz:
        outcomes |= {
            f"test_quiz_{name}": (item.points or 0, of_quiz_item(name, item, due))
            for name, item in graded.quiz.items.items()
        }
    return outcomes


def _feedback_output(feedback: Feedback) -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output(
        "display_data", {"text/html": feedback.html(), "text/plain": feedback.plain()}
    )
    return output


def _points_output(points: int) -> NotebookNode:
    """Return the output that nbgrader reads as the points. Without output it would give all points."""
    output: NotebookNode = nbformat.v4.new_output("execute_result", {"text/plain": str(points)})
    return output
