"""From one submission's outcomes to its report: points, and feedback by level."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from grader import __version__
from grader.course.model import FILENAME, Course, Level
from grader.files import PACKAGE, digest
from grader.quizzes.cells import read_cells
from grader.quizzes.marking import explanation, mark, right_answer
from grader.quizzes.questions import Questions, to_json
from grader.quizzes.sheet import Sheet
from grader.quizzes.sheet_reader import read_sheet
from grader.quizzes.source import Quiz
from grader.reports import model
from grader.sandbox.lockdown import LAYERS, NEEDED
from grader.submissions.source import CellsSource, SheetSource, Submission, UnitSource

_STOOD_IN = "It was tested with a substitute for your"


class Rubric:
    """What points are given for: every criterion, as the engine collected them from the suites, and the quizzes."""

    def __init__(
        self,
        criteria: list[dict[str, str]],
        quizzes: Mapping[str, Quiz | Questions] | None = None,
        suites: model.Suites = "hidden",
    ) -> None:
        self.quizzes = quizzes or {}
        self.suites = suites
        self.criteria: dict[tuple[str, str], list[dict[str, str]]] = {}
        for criterion in criteria:
            self.criteria.setdefault((criterion["unit"], criterion["exercise"]), []).append(criterion)

    def of(self, unit: str, exercise: str) -> list[dict[str, str]]:
        return self.criteria.get((unit, exercise), [])

    def possible(self, course: Course) -> dict[str, dict[str, int]]:
        """The possible points of each exercise of each unit: its criteria times its weight."""
        return {
            name: {exercise: len(self.of(name, exercise)) * weight for exercise, weight in unit.exercises.items()}
            for name, unit in course.units.items()
        }


def quiz_points(quiz: Quiz | Questions, course: Course) -> dict[str, int]:
    """The possible points of each item of a unit's quiz: its own times the quiz's weight."""
    weight = course.units[quiz.unit].quiz or 0
    return {name: item.points * weight for name, item in quiz.items.items()}


def make_report(
    submission: Submission,
    result: dict[str, Any],
    rubric: Rubric,
    course: Course,
    missing: dict[str, str],
    versions: dict[str, str],
    now: datetime.datetime,
) -> model.Report:
    """The report of one submission, on the units that were read or could not be.

    result: what the engine gave for it. missing: the layers that this system lacks. now: decides the feedback.
    Units that the submission keeps of an earlier report come from there.
    """
    names = [name for name in course.units if name in submission.units or name in submission.problems]
    kept = submission.kept.units if submission.kept else {}
    units = {
        name: kept[name] if name in kept else _unit(name, submission, result, rubric, course, now) for name in names
    }
    messages = [model.Message(**message) for message in result["messages"]]
    layers = result["layers"] or {layer: layer not in missing for layer in LAYERS}
    if submission.kept:
        messages = sorted([*submission.kept.messages, *messages], key=lambda message: names.index(message.unit))
        layers = {name: held and submission.kept.isolation.layers.get(name, False) for name, held in layers.items()}
    return model.Report(
        schema="attention-from-scratch/report/v1",
        student=submission.student,
        commit=submission.commit,
        suites=rubric.suites,
        handed_in=submission.handed_in,
        points=sum(unit.points for unit in units.values()),
        possible=sum(unit.possible for unit in units.values()),
        units=units,
        messages=messages,
        timing=model.Timing(started=now.isoformat(timespec="seconds"), seconds=result["seconds"]),
        isolation=model.Isolation(enough=all(layers[layer] for layer in NEEDED), layers=layers),
        versions={"grader": __version__, "course": course.version, **versions},
        digest=_digest(submission, course, rubric.quizzes, now, rubric.suites),
    )


def still_holds(
    made: model.Report,
    submission: Submission,
    course: Course,
    quizzes: Mapping[str, Quiz],
    now: datetime.datetime,
) -> bool:
    """Whether grading by the hidden suites would give this report again now, but for what may differ in any case."""
    names = {*submission.units, *submission.problems}
    return (
        (made.student, made.commit) == (submission.student, submission.commit)
        and made.digest == _digest(submission, course, quizzes, now, "hidden")
        # The date alone can change how much is told.
        and {name: unit.feedback for name, unit in made.units.items()}
        == {name: course.feedback_level(name, now) for name in names}
    )


def kept_part(
    made: model.Report,
    units: Iterable[str],
    submission: Submission,
    course: Course,
    quizzes: Mapping[str, Quiz],
    now: datetime.datetime,
) -> model.Report | None:
    """An earlier report cut down to those of its units that are the same now: their own files, and the hidden tests.

    None where there is no such unit. submission: has been read with all of these units.
    """
    kept = {
        name: made.units[name]
        for name in units
        if made.units[name].digest == _digest(submission, course, quizzes, now, "hidden", name)
        and made.units[name].feedback == course.feedback_level(name, now)
    }
    messages = [message for message in made.messages if message.unit in kept]
    return made.model_copy(update={"units": kept, "messages": messages}) if kept else None


def right_exercises(unit: model.Unit) -> list[str]:
    """The exercises of a unit that passed every test, each with the student's own answers to others."""
    return [
        name
        for name, exercise in unit.exercises.items()
        if all(test.outcome == "passed" for test in exercise.tests)
        and not any(remark.startswith(_STOOD_IN) for remark in exercise.remarks)
    ]


def _unit(
    name: str,
    submission: Submission,
    result: dict[str, Any],
    rubric: Rubric,
    course: Course,
    now: datetime.datetime,
) -> model.Unit:
    level = course.feedback_level(name, now)
    source, problem = submission.units.get(name), submission.problems.get(name)
    exercises = {
        exercise: _exercise(name, exercise, weight, source, problem, result, rubric, level)
        for exercise, weight in course.units[name].exercises.items()
    }
    quiz = _quiz(name, submission, rubric.quizzes[name], course, now) if name in rubric.quizzes else None
    counted: list[model.Exercise | model.Quiz] = [*exercises.values()]
    if quiz and quiz.points is not None:
        counted.append(quiz)
    return model.Unit(
        points=sum(part.points or 0 for part in counted),
        possible=sum(part.possible for part in counted),
        feedback=level,
        path=source.path if source else None,
        remarks=[problem] if problem else list(submission.units[name].remarks),
        exercises=exercises,
        quiz=quiz,
        digest=_digest(submission, course, rubric.quizzes, now, rubric.suites, name),
    )


def _quiz(
    unit: str, submission: Submission, quiz: Quiz | Questions, course: Course, now: datetime.datetime
) -> model.Quiz:
    """The quiz of a unit. Up to the due date it is made of the questions and the student's text alone.

    So it always is where the questions are all that there is.
    """
    source = submission.sheets.get(unit)
    sheet = _read_answers(source, quiz if isinstance(quiz, Questions) else quiz.questions)
    weight, possible = course.units[unit].quiz or 0, quiz_points(quiz, course)
    answers = quiz if isinstance(quiz, Quiz) and course.is_over(unit, now) else None
    told = answers if course.feedback.quiz_answers else None
    items = {}
    for name in quiz.items:
        raw = sheet.answers.get(name)
        marked = mark(answers.items[name], raw, sheet.variant, weight) if answers and raw is not None else None
        points = marked.points if marked else 0
        items[name] = model.QuizItem(
            answered=raw is not None,
            points=points if answers else None,
            possible=possible[name],
            problem=sheet.problems.get(name),
            sentences=marked.sentences if marked else [],
            answer=right_answer(told.items[name], sheet.variant) if told else None,
            explanation=explanation(told.items[name], sheet.variant) if told else None,
        )
    return model.Quiz(
        points=sum(item.points or 0 for item in items.values()) if answers else None,
        possible=sum(item.possible for item in items.values()),
        summary=f"{len(sheet.answers)} of {len(items)} answered",
        variant=sheet.variant,
        remarks=[*source.remarks, *sheet.remarks] if source else [submission.sheet_problems[unit]],
        items=items,
    )


def _read_answers(source: SheetSource | CellsSource | None, questions: Questions) -> Sheet:
    match source:
        case SheetSource():
            return read_sheet(source.text, questions)
        case CellsSource():
            return read_cells(source.cells, questions, source.filename)
        case None:
            return Sheet()


def _exercise(
    unit: str,
    exercise: str,
    weight: int,
    source: UnitSource | None,
    problem: str | None,
    result: dict[str, Any],
    rubric: Rubric,
    level: Level,
) -> model.Exercise:
    def mine(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry for entry in entries if (entry["unit"], entry["exercise"]) == (unit, exercise)]

    outcomes = {outcome["name"]: outcome for outcome in mine(result["outcomes"])}
    tests = []
    for criterion in rubric.of(unit, exercise):
        # What did not come back scores zero.
        outcome = outcomes.get(criterion["name"], {"passed": False, "reason": problem or "It could not be tested."})
        tests.append(
            model.Test(
                name=criterion["name"],
                outcome="passed" if outcome["passed"] else "failed",
                points=weight if outcome["passed"] else 0,
                possible=weight,
                sentence=criterion["sentence"] if level != "points" else None,
                reason=outcome["reason"] or None if level != "points" and not outcome["passed"] else None,
            )
        )
    found = mine(result["misconceptions"]) if level == "misconception" else []
    waiting = _names(outcome for outcome in outcomes.values() if outcome["waiting"])
    stood_in = _names(outcome for outcome in outcomes.values() if outcome["passed"])
    remarks = list(dict.fromkeys(remark for outcome in outcomes.values() for remark in outcome["remarks"]))
    if stood_in:
        remarks.append(f"{_STOOD_IN} {stood_in}, so that mistakes there cost nothing here.")
    return model.Exercise(
        points=sum(test.points for test in tests),
        possible=sum(test.possible for test in tests),
        tests=tests,
        misconceptions=[model.Named(name=one["name"], sentence=one["sentence"]) for one in found],
        waiting_for=f"It builds on {waiting}: mend that first." if waiting and level != "points" else None,
        line=source.line_of(exercise) if source else None,
        remarks=remarks,
    )


def _names(outcomes: Iterable[dict[str, Any]]) -> str:
    """The other exercises that had a part in these outcomes, as a list in words."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome["substitutes"]))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _digest(
    submission: Submission,
    course: Course,
    quizzes: Mapping[str, Quiz | Questions],
    now: datetime.datetime,
    suites: model.Suites,
    unit: str | None = None,
) -> str:
    """Of the submission's sources, the suites and the rest of the grader, autograder.yml, and the quizzes.

    The answers of a quiz are in it from the due date on. Until then it is of the questions alone, which students
    have: from the digest of a report nobody can work out which of some possible answers the source holds. With `unit`,
    it is of that unit's own files, and not of those that it may import.
    """
    names = [unit] if unit else [*submission.units, *submission.problems]

    def of_units(found: Mapping[str, Any]) -> dict[str, Any]:
        return {name: found[name] for name in names if name in found}

    handed_in = {
        "units": {name: asdict(source) for name, source in of_units(submission.units).items()},
        "siblings": {} if unit else {name: asdict(source) for name, source in submission.siblings.items()},
        "problems": of_units(submission.problems),
        "sheets": {name: asdict(sheet) for name, sheet in of_units(submission.sheets).items()},
        "sheet_problems": of_units(submission.sheet_problems),
        "quizzes": {name: _what_counts(quiz, course.is_over(name, now)) for name, quiz in of_units(quizzes).items()},
    }
    total = hashlib.sha256(json.dumps(handed_in, sort_keys=True).encode())
    total.update(_grader_digest(course, suites))
    return total.hexdigest()


def _what_counts(quiz: Quiz | Questions, is_over: bool) -> str:
    if isinstance(quiz, Questions):
        return to_json([quiz])
    return quiz.to_json() if is_over else to_json([quiz.questions])


@cache
def _grader_digest(course: Course, suites: model.Suites) -> bytes:
    grader = [*sorted(PACKAGE.rglob("*.py")), *sorted(PACKAGE.rglob("*.ini"))]
    tests = course.exercises.glob("*.py") if suites == "visible" else course.suites.rglob("*.py")
    return digest(grader, PACKAGE) + digest([course.root / FILENAME, *sorted(tests)], course.root)
