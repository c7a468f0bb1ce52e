"""One run of `nbgrader autograde` over one unit: submissions in, reports out, by one engine."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.utils import is_grade, is_solution

from grader.engine.client import Graded, Grading, SandboxUnavailable
from grader.errors import GraderError, InternalError
from grader.quizzes.source import load_quizzes
from grader.reports.scoring import quiz_points
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbformat import NotebookNode

    from grader.course.model import Course
    from grader.reports.model import Report
    from grader.submissions.source import Submission

AT_ONCE = 2
"""The submission that nbgrader is waiting for or busy with, and the next."""


class NotGraded(GraderError):
    """No grade can be told until the instructor has mended this; one sentence that says what, and how."""


class Session:
    """The grading of a unit, with one moment for all. Raises CourseError where its quiz is malformed."""

    def __init__(self, course: Course, unit: str, allow_unisolated: bool) -> None:
        self.unit = unit
        self.due = course.units[unit].due
        self._now = datetime.datetime.now(datetime.UTC)
        self._course = course
        self._quizzes = load_quizzes(course.solutions, [unit] if unit in course.quizzes else [])
        self._quiz_is_early = bool(course.units[unit].quiz) and not course.is_over(unit, self._now)
        self._grading = Grading(course, self._quizzes, allow_unisolated)
        self._stream: Iterator[tuple[Submission, Graded | str]] = iter(())
        self._ready: dict[str, Graded | str] = {}

    def require_points(self, release: NotebookNode) -> None:
        """See to it that the notebook was made from the course as it is now. Raises NotGraded."""
        try:
            rubric = self._grading.rubric()
        except (SandboxUnavailable, InternalError) as error:
            raise _not_graded(error) from None
        possible = {f"test_{name}": points for name, points in rubric.possible(self._course)[self.unit].items()}
        for quiz in self._quizzes.values():
            possible |= {f"test_quiz_{name}": points for name, points in quiz_points(quiz, self._course).items()}
        found = {name: cell.metadata.nbgrader["points"] for name, cell in cells_with_points(release).items()}
        generate = f"nbgrader generate_assignment {self.unit} --force"
        renew = f"run `grader release nbgrader .` and `{generate}`, and autograde again."
        # An answer belongs to the question of its number.
        asked, known = ([name for name in names if name.startswith("test_quiz_")] for names in (found, possible))
        if asked != known and sorted(asked) == sorted(known):
            raise NotGraded(f"{self.unit}.ipynb asks its quiz in another order than the course: {renew}")
        wrong = [name for name in possible | found if found.get(name) != possible.get(name)]
        if wrong:
            told = ", ".join(
                f"{name} {found.get(name, 'none')} instead of {possible.get(name, 'none')}" for name in wrong
            )
            raise NotGraded(f"{self.unit}.ipynb has not the points that the course gives ({told}): {renew}")

    def report(self, submitted: Path, following: Sequence[Path]) -> Report:
        """The report on what a student handed in, as `grader grade` would make it. Raises NotGraded.

        submitted: the folder <student>/<unit>. following: those that will be asked for next. They are graded while
        nbgrader is busy with this one.
        """
        student = submitted.parent.name
        try:
            while student not in self._ready:
                if graded := next(self._stream, None):
                    self._ready[graded[0].student] = graded[1]
                else:
                    submissions = (self._submission(folder) for folder in (submitted, *following))
                    self._stream = self._grading.reports(submissions, AT_ONCE, self._now)
        except (SandboxUnavailable, InternalError) as error:
            raise _not_graded(error) from None
        result = self._ready.pop(student)
        if isinstance(result, str):
            raise NotGraded(f"{student} was not graded: {result}. Autograde again.")
        return result.report

    def has_early_quiz_to_tell(self) -> bool:
        """Whether the quiz does not count yet; once only."""
        told, self._quiz_is_early = self._quiz_is_early, False
        return told

    def close(self) -> None:
        """End the engine; the next submission starts a new one."""
        self._stream = iter(())
        self._grading.close()

    def _submission(self, folder: Path) -> Submission:
        student = folder.parent
        return read_submission(
            student.name, student, [self.unit], self._course.exercises, self._course.units, self._quizzes
        )


def cells_with_points(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The test cells of a notebook, by their grade_id. Answers that are graded by hand are not among them."""
    cells = (cell for cell in notebook.cells if is_grade(cell) and not is_solution(cell))
    return {cell.metadata.nbgrader["grade_id"]: cell for cell in cells}


def _not_graded(error: SandboxUnavailable | InternalError) -> NotGraded:
    fix = " To grade without isolation: c.SubmissionExporter.allow_unisolated = True in nbgrader_config.py."
    return NotGraded(" ".join(f"{error}{fix if isinstance(error, SandboxUnavailable) else ''}".splitlines()))
