"""Small plugins of nbgrader: stubs and due dates for `nbgrader generate_assignment`, and late penalties."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

from grader.integrations.nbgrader import IN_PLACE_OF, course_of

if TYPE_CHECKING:
    from nbconvert.exporters.exporter import ResourcesDict
    from nbformat import NotebookNode


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


class LatePenalty(LateSubmissionPlugin):
    """The deduction for late work by autograder.yml. The score that remains is rounded down, as in reports."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:  # noqa: ARG002
        """Return how much to subtract, never more than the score."""
        late = course_of(self.config).late
        percent = late.percent(late.days(total_seconds_late))
        exact = Fraction(str(score))
        return float(exact - math.floor(exact * (100 - percent) / 100)) if percent else 0.0
