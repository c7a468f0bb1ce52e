"""What `nbgrader generate_assignment` does beyond its own steps: fitting stubs, and due dates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearSolutions, NbGraderPreprocessor

from grader.integrations.nbgrader import IN_PLACE_OF, course_of

if TYPE_CHECKING:
    from nbconvert.exporters.exporter import ResourcesDict
    from nbformat import NotebookNode


class ClearAnswers(ClearSolutions):
    """Clears solutions, and leaves its own stub where one is named: `### BEGIN SOLUTION in the place of: stub`.

    nbgrader's ClearSolutions clears such a cell as well, and leaves the stub of all others.
    """

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        begin, end = re.escape(self.begin_solution_delimeter), re.escape(self.end_solution_delimeter)
        # Lines in which a solution begins again are not passed over: that is an error, and theirs to report.
        region = rf"^([ \t]*).*{begin}{IN_PLACE_OF}(.*)\n(?:(?!.*{begin}).*\n)*?.*{end}.*$"
        cell.source, count = re.subn(region, r"\1\2", cell.source, flags=re.MULTILINE)
        return super()._replace_solution_region(cell, language) or count > 0


class SetDueDate(NbGraderPreprocessor):
    """Writes a unit's due date, as autograder.yml says it, into the gradebook."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Write the due date; the notebook stays as it is."""
        about = resources["nbgrader"]
        unit = course_of(self.config).units.get(about["assignment"])
        if unit and not self.config.GenerateAssignment.get("no_database", False):
            with Gradebook(about["db_url"]) as gradebook:
                gradebook.update_or_create_assignment(about["assignment"], duedate=unit.due)
        return nb, resources
