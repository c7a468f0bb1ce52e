"""What a class did with each exercise: how difficult it was, and which misconceptions it met."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.classes.gradebook import UNTOUCHED
from grader.classes.summary.statistics import Estimate, mean_share
from grader.reports.reading import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.classes.gradebook import Gradebook, Row
    from grader.reports.reading import ExerciseEntry


@dataclass(frozen=True)
class ExerciseRow:
    """One exercise in numbers.

    Attributes:
        students: How many have begun its unit.
        share: The share of its points that they earned.
        full: How many have full marks.
        unwritten: How many have not written it.
        waiting: How many have it waiting for another exercise.
    """

    unit: str
    name: str
    students: int
    share: Estimate
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
    for unit in gradebook.possible:
        by_name: dict[str, list[ExerciseEntry]] = {}
        for row in gradebook.hand_ins(unit):
            for entry in _begun(row, unit):
                by_name.setdefault(entry.name, []).append(entry)
        for name, entries in by_name.items():
            # The share of passed tests is that of the points, also where these are worth nothing.
            tests = [one.exercise.tests for one in entries]
            shares = [sum(test.outcome == "passed" for test in own) / len(own) for own in tests]
            states = [one.state for one in entries]
            yield ExerciseRow(
                unit,
                name,
                len(entries),
                mean_share(shares),
                shares.count(1),
                states.count("not written yet"),
                states.count("waiting"),
            )


def _begun(row: Row, unit: str) -> list[ExerciseEntry]:
    """Return a student's exercises of a unit; nothing if none is begun, because that says nothing about them."""
    grade = row.grades[unit]
    if grade.state != "graded" or grade.report is None or grade.report.units[unit].path is None:
        return []
    found = list(entries_of(grade.report, unit))
    return found if any(entry.state not in UNTOUCHED for entry in found) else []


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
