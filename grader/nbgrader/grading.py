"""In the place of nbgrader's Execute: each test cell gets the points that `grader grade` gives, and why."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade
from traitlets import Bool

from grader.batch import EngineFault, Graded, Grading, NotLockedIn
from grader.course import ROOT, Course, load_course
from grader.nbgrader.feedback import Feedback, of_exercise, of_quiz_item, of_whole
from grader.quiz.source import load_quizzes
from grader.report import Report
from grader.submission import Submission, read_submission

if TYPE_CHECKING:
    from nbconvert.exporters.exporter import ResourcesDict
    from nbformat import NotebookNode

AT_ONCE = 2
"""The submission that nbgrader is waiting for or busy with, and the next."""

WHOLE = "about_the_notebook"
WHOLE_SOURCE = "# What `grader` has to say about the notebook as a whole."


class NotGraded(Exception):
    """Nobody's grade can be told until the instructor has mended this; one sentence that says what, and how."""


class Session:
    """The grading of one run of nbgrader: the course as it was at the start, one moment for all, one engine."""

    def __init__(self) -> None:
        self.now = datetime.datetime.now(datetime.UTC)
        self.early_quizzes: set[str] = set()
        """Units whose quiz does not count yet, of which the log has told."""
        self._grading: Grading | None = None
        self._stream: Iterator[tuple[Submission, Graded | str]] = iter(())
        self._ready: dict[str, Graded | str] = {}

    @cached_property
    def course(self) -> Course:
        return load_course()

    def report(self, folder: Path, following: Sequence[Path], unit: str, allow_unisolated: bool) -> Report:
        """The report on one unit of a student's folder, as `grader grade` would make it. Raises NotGraded.

        following: the folders that will be asked for next. They are graded while nbgrader is busy with this one.
        """
        if self._grading is None:
            self._quizzes = load_quizzes(ROOT / "solutions", [unit] if self.course.units[unit].quiz else [])
            self._grading = Grading(self.course, self._quizzes, allow_unisolated)
        student = folder.name
        try:
            while student not in self._ready:
                if graded := next(self._stream, None):
                    self._ready[graded[0].student] = graded[1]
                else:
                    submissions = (self._submission(one, unit) for one in (folder, *following))
                    self._stream = self._grading.reports(submissions, AT_ONCE, self.now)
        except NotLockedIn as error:
            mend = (
                "To run it unprotected all the same: c.GradeSubmission.allow_unisolated = True in nbgrader_config.py."
            )
            raise NotGraded(f"{error} {mend}") from None
        except EngineFault as error:
            raise NotGraded(str(error)) from None
        result = self._ready.pop(student)
        if isinstance(result, str):
            raise NotGraded(f"{student} was not graded: {result}. Autograde again.")
        return result.report

    def _submission(self, folder: Path, unit: str) -> Submission:
        return read_submission(folder.name, folder, [unit], ROOT / "exercises", self.course.units, self._quizzes)

    def close(self) -> None:
        """End the engine; the next submission starts a new one."""
        self._stream = iter(())
        if self._grading:
            self._grading.close()


class GradeSubmission(NbGraderPreprocessor):
    """Grades the file in submitted/, and writes points and feedback into the notebook's test cells.

    Its parent is a SubmissionExporter, which has the session and the released notebook.
    """

    allow_unisolated = Bool(False, help="Whether to run student code even where nothing locks it in").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        session: Session = self.parent.grading
        names = resources["nbgrader"]
        student, unit = names["student"], names["assignment"]
        if unit not in session.course.units or names["notebook"] != unit:
            raise NotGraded(
                f"{unit}/{names['notebook']}.ipynb is no notebook of this course: assignment and notebook are called "
                f"like their unit, one of {', '.join(session.course.units)}."
            )
        release = _test_cells(self.parent.release_notebook(resources))
        report = session.report(
            self._folder(student, unit), self._following(student, unit), unit, self.allow_unisolated
        )
        due = session.course.units[unit].due
        outcomes = _outcomes(report, unit, due)
        cells = _test_cells(nb)
        for found in (release, cells):
            _require_points(found, {name: possible for name, (_, possible, _) in outcomes.items()}, unit)
        for name, (points, _, feedback) in outcomes.items():
            cells[name].source = release[name].source  # without the hidden test
            cells[name].outputs = [_shown(feedback), _score(points)]
        if whole := of_whole(report, unit):
            nb.cells.insert(0, nbformat.v4.new_code_cell(WHOLE_SOURCE, id=WHOLE, outputs=[_shown(whole)]))
        if not session.course.is_over(unit, session.now) and report.units[unit].quiz:
            self._tell_that_the_quiz_is_early(session, unit, due)
        return nb, resources

    def _folder(self, student: str, unit: str) -> Path:
        """Where all that the student handed in lies."""
        directories = self.parent.coursedir
        return Path(directories.format_path(directories.submitted_directory, student, unit)).parent

    def _following(self, student: str, unit: str) -> list[Path]:
        """The folders of those whom nbgrader will come to after this student."""
        autograde = self.parent.parent
        students = sorted(Path(assignment).parent.name for assignment in autograde.assignments)
        return [self._folder(one, unit) for one in students if one > student and self._is_due(one, unit)]

    def _is_due(self, student: str, unit: str) -> bool:
        """Whether nbgrader will not pass over the submission as one that it has autograded before."""
        autograde, directories = self.parent.parent, self.parent.coursedir
        submitted = directories.format_path(directories.submitted_directory, student, unit)
        autograded = directories.format_path(directories.autograded_directory, student, unit)
        if autograde.force or not Path(autograded).exists():
            return True
        handed_in, graded = (directories.get_existing_timestamp(folder) for folder in (submitted, autograded))
        return bool(handed_in and graded and handed_in > graded)

    def _tell_that_the_quiz_is_early(self, session: Session, unit: str, due: datetime.datetime) -> None:
        if unit not in session.early_quizzes:
            session.early_quizzes.add(unit)
            self.log.warning(
                "The quiz of %s counts once its due date has passed, %s, and has 0 points until then. After it run: "
                "nbgrader autograde %s --force",
                unit,
                due.isoformat(" ", "minutes"),
                unit,
            )


def _outcomes(report: Report, unit: str, due: datetime.datetime) -> dict[str, tuple[int, int, Feedback]]:
    """The points, the possible points and the feedback of each test cell, by its grade_id."""
    graded = report.units[unit]
    outcomes = {
        f"test_{name}": (exercise.points, exercise.possible, of_exercise(report, unit, name))
        for name, exercise in graded.exercises.items()
    }
    if graded.quiz:
        outcomes |= {
            f"test_quiz_{name}": (item.points or 0, item.possible, of_quiz_item(name, item, due))
            for name, item in graded.quiz.items.items()
        }
    return outcomes


def _test_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {cell.metadata.nbgrader["grade_id"]: cell for cell in notebook.cells if is_grade(cell)}


def _shown(feedback: Feedback) -> NotebookNode:
    return nbformat.v4.new_output("display_data", {"text/html": feedback.html(), "text/plain": feedback.plain()})


def _score(points: int) -> NotebookNode:
    """What nbgrader takes for the points. Without it, silence, it would give all of them."""
    return nbformat.v4.new_output("execute_result", {"text/plain": str(points)})


def _require_points(cells: dict[str, NotebookNode], possible: dict[str, int], unit: str) -> None:
    """The notebook was made from the course as it is now. Raises NotGraded."""
    found = {name: cell.metadata.nbgrader["points"] for name, cell in cells.items()}
    wrong = [name for name in possible | found if found.get(name) != possible.get(name)]
    if wrong:
        told = ", ".join(f"{name} {found.get(name, 'none')} instead of {possible.get(name, 'none')}" for name in wrong)
        raise NotGraded(
            f"{unit}.ipynb has not the points that the course gives ({told}): run `grader release nbgrader .` and "
            f"`nbgrader generate_assignment {unit} --force`, and autograde again."
        )
