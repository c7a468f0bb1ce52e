"""Grades in one run of `nbgrader autograde`: each test cell gets its points and feedback, as from `grader grade`."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import nbformat
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution

from grader.classes.decisions import Decisions
from grader.classes.roster import RosterEntry
from grader.course.model import Course
from grader.engine.grading import Graded, Grading, SandboxUnavailable
from grader.errors import GraderError, InternalError
from grader.integrations.nbgrader.nbgrader_gradebook import differences, entry_of
from grader.quizzes.quiz_source import load_quizzes
from grader.quizzes.sheet import heading
from grader.reports.exporters.html import environment
from grader.reports.reading import Place, issues, points
from grader.reports.report_model import Message, QuizItem, Report
from grader.reports.scoring import quiz_points
from grader.submissions.notebook import QUIZ_MARK
from grader.submissions.reader import read_submission
from grader.submissions.submission import Submission

AT_ONCE = 2
"""The submission that nbgrader waits for or works on, and the next one."""

TEMPLATE = "feedback.html.j2"
_OUTPUTS = {
    "printed": "Your code printed",
    "raised": "Your code raised",
    "not run": "What could not be run",
    "attempted": "What your code was seen to try",
}
# Two kinds of links in the index of nbgrader's page of feedback: to a score, and to a comment on an answer.
_SCORE = re.compile(r'(<a href="#test_([\w-]+)">)Test cell(?=</a>)')
_COMMENT = re.compile(r'(<a href="#comment-([\w-]+)">Comment)(?=</a>)')
WHOLE = "about_the_notebook"
WHOLE_SOURCE = "# Notes from `grader` on the whole notebook."


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

    def entry(self, student: str) -> RosterEntry:
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


@dataclass(frozen=True)
class Note:
    """One part of the feedback. `look` decides how it is shown; `is_markdown` is for texts of quizzes."""

    look: Literal["mistake", "missed", "remark", "output"]
    title: str = ""
    text: str = ""
    items: tuple[str, ...] = ()
    is_markdown: bool = False


@dataclass(frozen=True)
class CellFeedback:
    """A headline and its parts. `share` says how much is right, from 0 to 1; None if that is unknown."""

    headline: str
    share: float | None
    parts: tuple[Note, ...]

    def html(self) -> str:
        """Return HTML for a page or a notebook, light or dark. Text from students is escaped."""
        return str(_template().render(feedback=self))

    def plain(self) -> str:
        """Return plain text, for where no HTML is shown."""
        parts = (
            "\n".join([*filter(None, (part.title, part.text)), *(f"- {item}" for item in part.items)])
            for part in self.parts
        )
        return "\n\n".join([self.headline, *parts])


def of_exercise(report: Report, unit: str, name: str) -> CellFeedback:
    """Return the misconception first, then the failed tests with reasons, then the output of the student's code."""
    exercise = report.units[unit].exercises[name]
    parts = [Note("mistake", heading(one.name), one.sentence) for one in exercise.misconceptions]
    if exercise.waiting_for:
        parts.append(Note("mistake", text=exercise.waiting_for))
    parts += [Note("missed", issue.reason, items=tuple(issue.sentences)) for issue in issues(exercise)]
    parts += [Note("remark", text=remark) for remark in exercise.remarks]
    parts += _outputs(message for message in report.messages if (message.unit, message.exercise) == (unit, name))
    share = sum(test.outcome == "passed" for test in exercise.tests) / max(len(exercise.tests), 1)
    headline = f"`{name}`: {exercise.points} of {points(exercise.possible)}"
    return CellFeedback(headline, share, tuple(parts))


def of_quiz_item(name: str, item: QuizItem, due: datetime.datetime) -> CellFeedback:
    """Return whether there is an answer; after the due date, its points and the course's feedback."""
    parts = [Note("remark", text=item.problem)] if item.problem else []
    if item.points is None:
        state = "answered" if item.answered else "not answered"
        later = (
            f"The quiz counts once its due date has passed, {due:%Y-%m-%d %H:%M %Z}: until then it shows 0 points."
            if item.possible
            else "It is worth no points."
        )
        return CellFeedback(f"{heading(name)}: {state}", None, (*parts, Note("remark", text=later)))
    if not item.answered and not item.problem:
        parts.append(Note("remark", text="It was not answered."))
    parts += [Note("remark", text=sentence, is_markdown=True) for sentence in item.sentences]
    if item.answer:
        answer = item.answer.replace("\n", "\n\n")  # one paragraph per line
        parts.append(Note("remark", "The right answer", answer, is_markdown=True))
    if item.explanation:
        parts.append(Note("remark", "Why", item.explanation, is_markdown=True))
    share = item.points / item.possible if item.possible else None
    return CellFeedback(f"{heading(name)}: {item.points} of {points(item.possible)}", share, tuple(parts))


def of_whole(report: Report, unit: str) -> CellFeedback | None:
    """Return the remarks on the notebook and its code's output outside exercises; None if there are none."""
    graded = report.units[unit]
    parts = []
    if not report.isolation.enough:
        parts.append(
            Note("mistake", text="This code was not isolated while it ran, so it could have changed its points.")
        )
    remarks = [*graded.remarks, *(graded.quiz.remarks if graded.quiz else [])]
    parts += [Note("remark", text=remark) for remark in dict.fromkeys(remarks)]
    parts += _outputs(message for message in report.messages if (message.unit, message.exercise) == (unit, None))
    return CellFeedback("About the notebook as a whole", None, tuple(parts)) if parts else None


def _outputs(messages: Iterable[Message]) -> Iterator[Note]:
    texts: dict[str, list[str]] = {}
    for message in messages:
        text = message.text.rstrip() + Place(message.file, message.line).in_brackets()
        texts.setdefault(message.kind, []).append(text)
    return (Note("output", title, "\n".join(texts[kind])) for kind, title in _OUTPUTS.items() if kind in texts)


@cache
def _template() -> Any:
    # Sentences of suites have no markup except code: a star may be a product. Quizzes are written in Markdown.
    code, markdown = MarkdownIt("zero").enable("backticks"), MarkdownIt("commonmark", {"html": False})
    for one in (code, markdown):
        one.add_render_rule("code_inline", _code)
    templates = environment(Path(__file__).parent)
    templates.filters["code"] = lambda text: Markup(code.renderInline(text))
    templates.filters["markdown"] = lambda text: Markup(markdown.render(text))
    return templates.get_template(TEMPLATE)


def _code(_: Any, tokens: Any, index: int, options: Any, environment: Any) -> str:  # noqa: ARG001
    """Render code without the red colour that some pages give it, because red looks like an error."""
    style = "color: inherit; background-color: rgba(128, 128, 128, 0.15); padding: 0 3px;"
    return f'<code style="{style}">{escape(tokens[index].content)}</code>'


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
        for name, (earned, feedback) in _outcomes(report, unit, session.due(student)).items():
            cells[name].source = released[name].source  # without the hidden test
            # nbgrader reads the second output as the points. Without it, it would give all points.
            given = nbformat.v4.new_output("execute_result", {"text/plain": str(earned)})
            cells[name].outputs = [_feedback_output(feedback), given]
        if whole := of_whole(report, unit):
            nb.cells.insert(0, nbformat.v4.new_code_cell(WHOLE_SOURCE, id=WHOLE, outputs=[_feedback_output(whole)]))
        return nb, resources


def _outcomes(report: Report, unit: str, due: datetime.datetime) -> dict[str, tuple[int, CellFeedback]]:
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


def _feedback_output(feedback: CellFeedback) -> NotebookNode:
    output: NotebookNode = nbformat.v4.new_output(
        "display_data", {"text/html": feedback.html(), "text/plain": feedback.plain()}
    )
    return output
