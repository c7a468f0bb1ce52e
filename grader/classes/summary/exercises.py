"""What a class did with each exercise: how difficult it was, whom it tells apart, and which misconceptions it met."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.decisions import earned_points
from grader.classes.gradebook import UNTOUCHED
from grader.classes.summary.statistics import Estimate, correlation, mean_share
from grader.reports.reading import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.classes.gradebook import Gradebook, Row
    from grader.reports.model import Exercise
    from grader.reports.reading import ExerciseEntry


@dataclass(frozen=True)
class ExerciseRow:
    """One exercise in numbers.

    Attributes:
        students: How many have begun its unit.
        share: The share of its points that they earned.
        discrimination: The correlation of its points with the points of everything else; None if nobody can say.
        full: How many have full marks.
        unwritten: How many have not written it.
        waiting: How many have it waiting for another exercise.
    """

    unit: str
    name: str
    students: int
    share: Estimate
    discrimination: Estimate | None
    full: int
    unwritten: int
    waiting: int


@dataclass
class MisconceptionRow:
    """A misconception in one exercise, the submissions with it, and all students who handed these in."""

    unit: str
    exercise: str
    name: str
    sentence: str
    rows: list[Row] = field(default_factory=list)
    students: list[Row] = field(default_factory=list)


def exercise_rows(gradebook: Gradebook) -> Iterator[ExerciseRow]:
    """Yield each exercise that somebody worked on, in the order of the course."""
    sums = {row.entry.student: _sums(row) for row in gradebook.rows}
    for unit in gradebook.possible:
        by_name: dict[str, list[tuple[ExerciseEntry, float | None]]] = {}
        for row in gradebook.hand_ins(unit):
            for entry in _begun(row, unit):
                rest = _rest(*sums[row.entry.student], entry.exercise)
                by_name.setdefault(entry.name, []).append((entry, rest))
        for name, students in by_name.items():
            yield _exercise_row(unit, name, students)


def _begun(row: Row, unit: str) -> list[ExerciseEntry]:
    """Return a student's exercises of a unit; nothing if none is begun, because that says nothing about them."""
    grade = row.grades[unit]
    if grade.state != "graded" or grade.report is None or grade.report.units[unit].path is None:
        return []
    found = list(entries_of(grade.report, unit))
    return found if any(entry.state not in UNTOUCHED for entry in found) else []


def _exercise_row(unit: str, name: str, students: list[tuple[ExerciseEntry, float | None]]) -> ExerciseRow:
    shares = [_share(entry.exercise) for entry, _ in students]
    pairs = [(share, rest) for share, (_, rest) in zip(shares, students, strict=True) if rest is not None]
    states = [entry.state for entry, _ in students]
    estimate = mean_share(shares)
    assert estimate
    return ExerciseRow(
        unit,
        name,
        len(students),
        estimate,
        correlation([share for share, _ in pairs], [rest for _, rest in pairs]),
        shares.count(1),
        states.count("not written yet"),
        states.count("waiting"),
    )


def _share(exercise: Exercise) -> float:
    """Return the share of passed tests, which is that of the points, also where these are worth nothing."""
    return sum(test.outcome == "passed" for test in exercise.tests) / len(exercise.tests)


def _sums(row: Row) -> tuple[int, int]:
    """Return a student's points in all units that count, and the possible ones.

    Deductions for late work are left out, because they say nothing about what a student can do.
    """
    units = [grade.unit for grade in row.grades.values() if grade.unit and grade.points is not None]
    return sum(map(earned_points, units)), sum(unit.possible for unit in units)


def _rest(earned: int, possible: int, exercise: Exercise) -> float | None:
    """Return the share of a student's points in everything but an exercise; None if there is nothing else.

    An exercise correlates with a total that it is part of, whatever it tests, so it is taken out of the total.

    S. Henrysson, Correction of item-total correlations in item analysis. Psychometrika 28 (1963), 211-218.
    """
    others = possible - exercise.possible
    return (earned - exercise.points) / others if others > 0 else None


def misconception_rows(gradebook: Gradebook) -> list[MisconceptionRow]:
    """Return each misconception in each exercise, the most frequent first."""
    found: dict[tuple[str, str, str], MisconceptionRow] = {}
    for unit in gradebook.possible:
        counted = {row.entry.student for row in gradebook.hand_ins(unit)}
        for row in gradebook.rows:
            graded = row.grades[unit]
            exercises = graded.unit.exercises if graded.state == "graded" and graded.unit else {}
            for exercise, result in exercises.items():
                for one in result.misconceptions:
                    empty = MisconceptionRow(unit, exercise, one.name, one.sentence)
                    same = found.setdefault((unit, exercise, one.name), empty)
                    same.students.append(row)
                    same.rows += [row] if row.entry.student in counted else []
    # Those with the same number stay in the order of the course.
    return sorted(found.values(), key=lambda one: -len(one.rows))
