"""Runs the pictures and questions of exercises on a submission, as criteria whose outcome is what they draw and ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from grader.course.left_out import left_out, tests_left_out
from grader.course.modules import import_file
from grader.engine.criteria import Criterion
from grader.reports.scoring import depends_on
from grader.testing.drawings import Drawing, OwnQuestion
from grader.testing.expected_values import FILENAME, read_values
from grader.testing.pictures import UPLOADED, collecting, pictures_of
from grader.text import ended

if TYPE_CHECKING:
    from collections.abc import Collection

    from grader.course.model import Course
    from grader.engine.outcomes import Outcome
    from grader.engine.runner import Runner


class Drawn(NamedTuple):
    """What was drawn and asked."""

    drawings: list[Drawing]
    questions: list[OwnQuestion]


def pictures_of_unit(course: Course, unit: str) -> list[Criterion]:
    """Return the pictures and questions of a unit, without those that need an exercise that the course leaves out.

    A criterion's name begins with "picture" or "question", and its sentence is the caption.
    """
    path = course.exercises / f"pictures_{unit}.py"
    if not path.is_file():
        return []
    missing = left_out(course).get(unit, [])
    removed = tests_left_out(path.read_text(encoding="utf-8"), missing) if missing else {}
    return [
        Criterion(
            unit,
            exercise,
            f"{what}_{name}",
            " ".join((function.__doc__ or "").split()),
            (),
            function,
            course.version,
            UPLOADED,
        )
        for name, (what, exercise, function) in pictures_of(import_file(path)).items()
        if name not in removed
    ]


def draw(runner: Runner, course: Course, units: Collection[str], exercises: Collection[str]) -> Drawn:
    """Draw the pictures of these exercises, and answer the questions on them, after the tests of their units.

    Args:
        runner: The runner, which knows by the tests which exercises are right.
        course: The course.
        units: The units that were tested.
        exercises: The exercises to draw.
    """
    drawn = Drawn([], [])
    for unit in [unit for unit in course.units if unit in units]:
        if set(course.units[unit].exercises).isdisjoint(exercises):
            continue
        known = read_values(course.exercises / FILENAME).get(unit, {})
        for criterion in pictures_of_unit(course, unit):
            if criterion.exercise not in exercises:
                continue
            with collecting() as collected:
                outcome = _run(runner, criterion)
            if criterion.name.startswith("question"):
                asked = collected.questions if outcome.passed else []
                drawn.questions.extend(replace(one, exercise=criterion.exercise) for one in asked)
                continue
            values = known.get(criterion.name, {})
            panels = [
                replace(panel, expected=values.get(panel.name)) if panel.name in collected.solved else panel
                for panel in collected.panels.values()
            ]
            problem = _problem(outcome)
            drawn.drawings.append(Drawing(criterion.exercise, criterion.name, criterion.sentence, panels, problem))
    return drawn


def _run(runner: Runner, criterion: Criterion) -> Outcome:
    """Run a criterion that earns nothing: its outcome and messages are no part of the result."""
    known = len(runner.messages)
    runner.run(criterion)
    del runner.messages[known:]
    return runner.outcomes.pop(criterion)


def _problem(outcome: Outcome) -> str:
    """Return what is wrong, in the words of a check."""
    if outcome.passed:
        return ""
    if outcome.kind == "waiting":
        return depends_on(list(outcome.substitutes))
    place = f"{outcome.file}, line {outcome.line}: " if outcome.file else ""
    return place + " ".join(filter(None, [ended(outcome.reason), outcome.detail and ended(outcome.detail)]))
