"""Make the report of a submission from its outcomes: points, and feedback by level."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader import __version__
from grader.course.model import Course
from grader.quizzes.items import accepted_answer, explanation, mark
from grader.quizzes.questions import Questions
from grader.quizzes.quiz_source import QuizSource
from grader.quizzes.sheet import Sheet
from grader.quizzes.sheet_reader import read_cells, read_sheet
from grader.reports import report_model
from grader.reports.fingerprint import answers_digest, fingerprint, key_digest, suites_digest, tests_digest
from grader.reports.report_model import Described, Judged, Result
from grader.sandbox.lockdown import LAYERS, NEEDED
from grader.submissions.submission import Submission, UnitSource
from grader.text import in_words

_SUBSTITUTED = "It was tested with a substitute for your"


class Rubric:
    """What earns points: all criteria that the engine collected from the suites, and the quizzes."""

    def __init__(
        self,
        criteria: Iterable[Described],
        quizzes: Mapping[str, QuizSource | Questions] | None = None,
        suites: report_model.Suites = "hidden",
    ) -> None:
        """Sort the criteria by exercise."""
        self.quizzes = quizzes or {}
        self.suites = suites
        self.criteria: dict[tuple[str, str], list[Described]] = {}
        for criterion in criteria:
            self.criteria.setdefault((criterion.unit, criterion.exercise), []).append(criterion)

    def of(self, unit: str, exercise: str) -> list[Described]:
        """Return the criteria of an exercise."""
        return self.criteria.get((unit, exercise), [])

    def possible(self, course: Course) -> dict[str, dict[str, int]]:
        """Return the possible points of each exercise of each unit: its criteria times its weight."""
        return {
            name: {exercise: len(self.of(name, exercise)) * weight for exercise, weight in unit.exercises.items()}
            for name, unit in course.units.items()
        }


def quiz_points(quiz: QuizSource | Questions, course: Course) -> dict[str, int]:
    """Return the possible points of each item of a unit's quiz: its own times the quiz's weight."""
    weight = course.units[quiz.unit].quiz or 0
    return {name: item.points * weight for name, item in quiz.items.items()}


def make_report(
    submission: Submission,
    result: Result,
    rubric: Rubric,
    course: Course,
    missing: dict[str, str],
    versions: dict[str, str],
    now: datetime.datetime,
) -> report_model.Report:
    """Make the report of one submission, including units that could not be read.

    Args:
        submission: The submission. Units that it keeps from an earlier report are copied from there.
        result: The engine's result for it.
        rubric: What earns points.
        course: The course.
        missing: The layers of isolation that this system lacks.
        versions: The versions of the libraries.
        now: Decides the feedback.
    """
    names = [name for name in course.units if name in submission.units]
    kept = submission.kept.units if submission.kept else {}
    scorer = _Scorer(submission, result, rubric, course, course.with_due(submission.due), now)
    units = {name: kept[name] if name in kept else scorer.unit(name) for name in names}
    messages = result.messages
    layers = result.layers or {layer: layer not in missing for layer in LAYERS}
    if submission.kept:
        messages = sorted([*submission.kept.messages, *messages], key=lambda message: names.index(message.unit))
        layers = {name: held and submission.kept.isolation.layers.get(name, False) for name, held in layers.items()}
    python = versions.get("python", course.python)
    return report_model.Report(
        schema="attention-from-scratch/report/v1",
        course=course.name,
        student=submission.student,
        commit=submission.commit,
        suites=rubric.suites,
        handed_in=submission.handed_in,
        points=sum(unit.points for unit in units.values()),
        possible=sum(unit.possible for unit in units.values()),
        units=units,
        messages=messages,
        timing=report_model.Timing(started=now.isoformat(timespec="seconds"), seconds=result.seconds),
        isolation=report_model.Isolation(enough=all(layers[layer] for layer in NEEDED), layers=layers),
        versions={
            "grader": __version__,
            "course": course.version,
            "suites": suites_digest(course, rubric.suites).hex()[:12],
            **versions,
            **(
                {} if python.split(".")[:2] == course.python.split(".") else {report_model.COURSE_PYTHON: course.python}
            ),
        },
        digest=scorer.fingerprint(),
    )


def passed_exercises(unit: report_model.Unit) -> list[str]:
    """Return the exercises of a unit that passed every test without a substitute for another answer."""
    return [
        name
        for name, exercise in unit.exercises.items()
        if all(test.outcome == "passed" for test in exercise.tests)
        and not any(remark.startswith(_SUBSTITUTED) for remark in exercise.remarks)
    ]


@dataclass(frozen=True)
class _Scorer:
    """Scores the units, exercises and quizzes of one submission. `dated` is the course with the student's due dates."""

    submission: Submission
    result: Result
    rubric: Rubric
    course: Course
    dated: Course
    now: datetime.datetime

    def fingerprint(self, unit: str | None = None) -> str:
        return fingerprint(self.submission, self.course, self.rubric.quizzes, self.now, self.rubric.suites, unit)

    def unit(self, name: str) -> report_model.Unit:
        handed_in = self.submission.units[name]
        exercises = {
            exercise: self.exercise(name, exercise, weight)
            for exercise, weight in self.course.units[name].exercises.items()
        }
        source = self.rubric.quizzes.get(name)
        quiz, key = self.quiz(name) if source else None, report_model.UNKNOWN
        counted: list[report_model.Exercise | report_model.Quiz] = [*exercises.values()]
        if quiz and quiz.points is not None and isinstance(source, QuizSource):
            counted.append(quiz)
            key = key_digest(source)
        earned = sum(part.points or 0 for part in counted)
        return report_model.Unit(
            points=earned,
            earned=earned,
            possible=sum(part.possible for part in counted),
            feedback=self.dated.feedback_level(name, self.now),
            path=handed_in.code.path if handed_in.code else None,
            remarks=list(handed_in.code.remarks) if handed_in.code else [handed_in.problem],
            exercises=exercises,
            quiz=quiz,
            digest=self.fingerprint(name),
            answers=answers_digest(self.submission, name),
            tests=tests_digest(self.course, name) if self.rubric.suites == "hidden" else report_model.UNKNOWN,
            key=key,
        )

    def quiz(self, unit: str) -> report_model.Quiz:
        """Score a quiz. Until the due date, the result depends only on the questions and the student's text."""
        quiz, handed_in = self.rubric.quizzes[unit], self.submission.units[unit]
        sheet = _read_answers(handed_in.quiz, quiz if isinstance(quiz, Questions) else quiz.questions)
        weight, possible = self.course.units[unit].quiz or 0, quiz_points(quiz, self.course)
        answers = quiz if isinstance(quiz, QuizSource) and self.dated.is_over(unit, self.now) else None
        shown = answers if self.course.feedback.quiz_answers else None
        items = {}
        for name in quiz.items:
            raw = sheet.answers.get(name)
            marked = mark(answers.items[name], raw, sheet.variant, weight) if answers and raw is not None else None
            points = marked.points if marked else 0
            items[name] = report_model.QuizItem(
                answered=raw is not None,
                points=points if answers else None,
                possible=possible[name],
                problem=sheet.problems.get(name),
                sentences=marked.sentences if marked else [],
                answer=accepted_answer(shown.items[name], sheet.variant) if shown else None,
                explanation=explanation(shown.items[name], sheet.variant) if shown else None,
            )
        return report_model.Quiz(
            points=sum(item.points or 0 for item in items.values()) if answers else None,
            possible=sum(item.possible for item in items.values()),
            summary=f"{len(sheet.answers)} of {len(items)} answered",
            variant=sheet.variant,
            remarks=[*handed_in.quiz.remarks, *sheet.remarks] if handed_in.quiz else [handed_in.quiz_problem],
            items=items,
        )

    def exercise(self, unit: str, name: str, weight: int) -> report_model.Exercise:
        level = self.dated.feedback_level(unit, self.now)
        handed_in = self.submission.units[unit]
        outcomes = {one.name: one for one in self.result.outcomes if (one.unit, one.exercise) == (unit, name)}
        # A criterion without an outcome scores zero.
        lost = Judged(unit, name, "", False, handed_in.problem or "It could not be tested.")
        tests = [
            _test(criterion, outcomes.get(criterion.name, lost), weight, has_text=level != "points")
            for criterion in ([] if name in self.submission.untested else self.rubric.of(unit, name))
        ]
        misconceptions = [
            report_model.Named(name=one.name, sentence=one.sentence)
            for one in self.result.misconceptions
            if level == "misconception" and (one.unit, one.exercise) == (unit, name)
        ]
        waiting = _substitutes(outcome for outcome in outcomes.values() if outcome.waiting)
        # What a test finds is the exercise's own mistake, and what passes needs nothing.
        is_partly = any(
            one.passed or not (one.waiting or one.reason == report_model.NOT_WRITTEN) for one in outcomes.values()
        )
        substituted = _substitutes(outcome for outcome in outcomes.values() if outcome.passed)
        remarks = list(dict.fromkeys(remark for outcome in outcomes.values() for remark in outcome.remarks))
        if substituted:
            remarks.append(f"{_SUBSTITUTED} {in_words(substituted)}, so that mistakes there cost nothing here.")
        return report_model.Exercise(
            points=sum(test.points for test in tests),
            possible=sum(test.possible for test in tests),
            tests=tests,
            misconceptions=misconceptions,
            main=next((one.name for one in outcomes.values() if one.is_main and level != "points"), None),
            waiting_for=depends_on(waiting, is_partly) if waiting and level != "points" else None,
            line=handed_in.code.line_of(name) if handed_in.code else None,
            remarks=remarks,
        )


def _test(criterion: Described, outcome: Judged, weight: int, has_text: bool) -> report_model.Test:
    return report_model.Test(
        name=criterion.name,
        outcome="passed" if outcome.passed else "failed",
        points=weight if outcome.passed else 0,
        possible=weight,
        sentence=criterion.sentence if has_text else None,
        reason=outcome.reason or None if has_text and not outcome.passed else None,
    )


def _read_answers(source: UnitSource | None, questions: Questions) -> Sheet:
    if source is None:
        return Sheet()
    if source.is_notebook:
        return read_cells([*zip(source.grade_ids, source.cells, strict=True)], questions, source.filename)
    return read_sheet(source.cells[0], questions)


def _substitutes(outcomes: Iterable[Judged]) -> list[str]:
    """Return the exercises that were substituted in these outcomes."""
    return list(dict.fromkeys(name for outcome in outcomes for name in outcome.substitutes))


def depends_on(names: list[str], only_partly: bool = False) -> str:
    """Return what to fix first, where these exercises are not right yet.

    only_partly: whether some tests found a mistake of its own, or pass.
    """
    quoted, is_one = in_words([f"`{name}`" for name in names]), len(names) == 1
    if only_partly:
        return f"Some of its tests need {quoted}, which {'is' if is_one else 'are'} not right yet."
    return f"Depends on {quoted}; fix {'that' if is_one else 'those'} first."
