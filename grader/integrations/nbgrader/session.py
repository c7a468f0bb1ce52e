"""One run of `nbgrader autograde` on one unit: makes reports of submissions with one engine."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.utils import is_grade, is_solution

from grader.engine.grading import Graded, Grading, SandboxUnavailable
from grader.errors import GraderError, InternalError
from grader.integrations.nbgrader.decisions import entry_of
from grader.integrations.nbgrader.scores import differences
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.scoring import quiz_points
from grader.submissions.reader import read_submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbformat import NotebookNode

    from grader.classes.decisions import Decisions
    from grader.classes.roster import Entry
    from grader.course.model import Course
    from grader.reports.model import Report
    from grader.submissions.source import Submission

AT_ONCE = 2
"""The submission that nbgrader waits for or works on, and the next one."""


class NotGraded(GraderError):
    """A problem that the instructor must fix before anything is graded; one sentence with the problem and the fix."""


class Session:
    """Grades submissions of a unit, all as of the same moment, with the due dates of their students.

    Raises CourseError if its quiz is malformed.
    """

    def __init__(self, course: Course, unit: str, allow_unisolated: bool, decisions: Decisions) -> None:
        self.unit = unit
        self._now = datetime.datetime.now(datetime.UTC)
        self.course = course
        self.decisions = decisions
        self._quizzes = load_quizzes(course.solutions, [unit] if unit in course.quizzes else [])
        self._grading = Grading(course, self._quizzes, allow_unisolated)
        self._stream: Iterator[tuple[Submission, Graded | str]] = iter(())
        self._ready: dict[str, Graded | str] = {}

    @property
    def extended(self) -> list[str]:
        """The students of the roster with an extension that is not over, whose quiz does not count yet."""
        entries = [entry for entry in self.decisions.entries if self.unit in entry.due]
        return [entry.student for entry in entries if self.is_quiz_early(entry.student)]

    def entry(self, student: str) -> Entry:
        """Return the line of the roster on a student of nbgrader's."""
        return entry_of(self.decisions.matcher, student)

    def due(self, student: str = "") -> datetime.datetime:
        """Return when the unit is due, with the extension of a student in the roster."""
        return self._own_course(student).units[self.unit].due

    def is_quiz_early(self, student: str = "") -> bool:
        """Return whether the unit has a quiz that does not count yet, by the due date of a student."""
        course = self._own_course(student)
        return bool(course.units[self.unit].quiz) and not course.is_over(self.unit, self._now)

    def require_points(self, release: NotebookNode) -> None:
        """Raise NotGraded unless the released notebook fits the current course."""
        try:
            rubric = self._grading.rubric()
        except (SandboxUnavailable, InternalError) as error:
            raise _not_graded(error) from None
        possible = {f"test_{name}": points for name, points in rubric.possible(self.course)[self.unit].items()}
        for quiz in self._quizzes.values():
            possible |= {f"test_quiz_{name}": points for name, points in quiz_points(quiz, self.course).items()}
        found = {name: cell.metadata.nbgrader["points"] for name, cell in cells_with_points(release).items()}
        generate = f"nbgrader generate_assignment {self.unit} --force"
        renew = f"run `grader release nbgrader .` and `{generate}`, and autograde again."
        # Answers are matched to questions by number, so the order counts.
        asked, known = ([name for name in names if name.startswith("test_quiz_")] for names in (found, possible))
        if asked != known and sorted(asked) == sorted(known):
            raise NotGraded(f"{self.unit}.ipynb asks its quiz in another order than the course: {renew}")
        if wrong := differences(found, possible):
            raise NotGraded(f"{self.unit}.ipynb does not have the points of the course ({wrong}): {renew}")

    def report(self, submitted: Path, following: Sequence[Path]) -> Report:
        """Return the report on a submission, as `grader grade` would make it.

        Args:
            submitted: The folder <student>/<unit>.
            following: The folders that nbgrader will need next. They are graded while nbgrader works on this one.

        Raises:
            NotGraded: The submission could not be graded.
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

    def close(self) -> None:
        """End the engine; the next submission starts a new one."""
        self._stream = iter(())
        self._grading.close()

    def _submission(self, folder: Path) -> Submission:
        student = folder.parent
        submission = read_submission(
            student.name, student, [self.unit], self.course.exercises, self.course.units, self._quizzes
        )
        return dataclasses.replace(submission, due=self.entry(student.name).due)

    def _own_course(self, student: str) -> Course:
        """Return the course with the due dates of a student."""
        return self.course.with_due(self.entry(student).due if student else {})


def cells_with_points(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """Return the test cells of a notebook by grade_id, without answers that are graded by hand."""
    cells = (cell for cell in notebook.cells if is_grade(cell) and not is_solution(cell))
    return {cell.metadata.nbgrader["grade_id"]: cell for cell in cells}


def _not_graded(error: SandboxUnavailable | InternalError) -> NotGraded:
    fix = " To grade without isolation: c.SubmissionExporter.allow_unisolated = True in nbgrader_config.py."
    return NotGraded(" ".join(f"{error}{fix if isinstance(error, SandboxUnavailable) else ''}".splitlines()))
