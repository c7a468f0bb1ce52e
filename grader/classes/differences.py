"""What another grading changes in a report, by exercise and test, and why."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.classes.times import TIMES
from grader.reports.model import UNKNOWN
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Literal

    from grader.course.model import Course
    from grader.reports.model import Exercise, Report, Unit


@dataclass(frozen=True)
class Difference:
    """How the points of a student change.

    Attributes:
        before: The points before; None if there was no report.
        after: The points now.
        lines: Each unit, exercise and test whose points change.
        reasons: Why.
    """

    student: str
    before: int | None
    after: int
    lines: Sequence[str]
    reasons: Sequence[str]


def difference(before: Report | None, after: Report, course: Course) -> Difference | None:
    """Return how a report changes; None if no points change."""
    if before is None:
        return Difference(after.student, None, after.points, (), ("there was no report",))
    lines: list[str] = []
    reasons: list[str] = []
    for name in course.units:
        old, new = before.units.get(name), after.units.get(name)
        own = list(_unit_lines(name, old, new))
        if own:
            lines += own
            reasons += _reasons(old, new, before.versions.get("suites") != after.versions.get("suites"))
    if not lines:
        return None
    return Difference(after.student, before.points, after.points, lines, list(dict.fromkeys(reasons)))


def _unit_lines(name: str, old: Unit | None, new: Unit | None) -> Iterator[str]:
    """Yield what changes in a unit: itself, its exercises with their tests, its quiz, and its deductions."""
    if old is None or new is None:
        if old or new:
            yield f"{name}: {'not in the report any more' if old else 'new in the report'}"
        return
    in_both = old.exercises.keys() & new.exercises.keys()
    same = [_outcomes(old.exercises[one]) == _outcomes(new.exercises[one]) for one in in_both]
    if (old.exempt and new.exempt) or ((old.points, old.exempt) == (new.points, new.exempt) and all(same)):
        return
    parts = [line for exercise in new.exercises | old.exercises for line in _exercise_lines(name, exercise, old, new)]
    if _quiz_points(old) != _quiz_points(new):
        parts.append(f"{name}/quiz: {_quiz_points(old)} → {_quiz_points(new)}")
    parts += [f"{name}: no longer {one.points:+g}, {one.reason}" for one in old.changes if one not in new.changes]
    parts += [f"{name}: {one.points:+g}, {one.reason}" for one in new.changes if one not in old.changes]
    if old.exempt != new.exempt:
        parts.append(f"{name}: {'exempt now' if new.exempt else 'no longer exempt'}")
    yield f"{name}: {old.points} of {old.possible} → {new.points} of {new.possible}"
    yield from parts


def _exercise_lines(unit: str, name: str, old: Unit, new: Unit) -> Iterator[str]:
    first, second = old.exercises.get(name), new.exercises.get(name)
    if first is None or second is None:
        yield f"{unit}/{name}: {'not in the course any more' if first else 'new in the course'}"
        return
    if (first.points, first.possible) == (second.points, second.possible) and _outcomes(first) == _outcomes(second):
        return
    yield f"{unit}/{name}: {first.points} of {first.possible} → {second.points} of {second.possible}"
    outcomes = _outcomes(first)
    for test, outcome in _outcomes(second).items():
        if outcomes.get(test) != outcome:
            yield f"  {test.replace('_', ' ')}: {outcomes.get(test, 'new')} → {outcome}"
    yield from (f"  {test.replace('_', ' ')}: removed" for test in outcomes if test not in _outcomes(second))


def _outcomes(exercise: Exercise) -> dict[str, str]:
    return {test.name: test.outcome for test in exercise.tests}


def _reasons(old: Unit | None, new: Unit | None, has_other_suites: bool) -> Iterator[str]:
    """Yield why the points of a unit change."""
    if old is None or new is None:
        yield "units"
        return
    if old.answers != new.answers:
        yield "answers"
    same = [(old.exercises[name], new.exercises[name]) for name in new.exercises if name in old.exercises]
    differ = [(a, b) for a, b in same if _outcomes(a) != _outcomes(b)] or old.exercises.keys() != new.exercises.keys()
    if has_other_suites and old.answers == new.answers and differ:
        yield "suite"
    if any(_weights(a) != _weights(b) for a, b in same):
        yield "weights"
    quizzes = [unit.quiz and unit.quiz.points is None for unit in (old, new)]
    if not any(quizzes) and _quiz_points(old) != _quiz_points(new) and old.answers == new.answers:
        yield "quiz"
    late = [[one for one in unit.changes if one.kind == "late"] for unit in (old, new)]
    if quizzes[0] != quizzes[1] or late[0] != late[1] or old.exempt != new.exempt:
        yield "dates"
    adjusted = [[one for one in unit.changes if one.kind == "adjustment"] for unit in (old, new)]
    if adjusted[0] != adjusted[1]:
        yield "adjustments"


def _quiz_points(unit: Unit) -> int:
    return (unit.quiz.points or 0) if unit.quiz else 0


def _weights(exercise: Exercise) -> dict[str, int]:
    return {test.name: test.possible for test in exercise.tests}


def outranked(pairs: Iterable[tuple[Report | None, Report, Collection[str]]], counts: Literal["best", "last"]) -> str:
    """Return a sentence on new reports on other submissions than before, if one that is missing now would count.

    Args:
        pairs: Of each student, the report before, the new one, and the units that were not graded again.
        counts: Which of several submissions counts.
    """
    found = []
    for before, report, kept in pairs:
        for name, now in report.units.items():
            was = before.units.get(name) if before and name not in kept else None
            if was and was.possible == now.possible and _is_of_another(was, now):
                is_higher = was.points > now.points if counts == "best" else _came(was) > _came(now) > ""
                if is_higher:
                    found.append(f"{report.student} ({name}: {was.points}, now {now.points})")
    if not found:
        return ""
    why = "has more points" if counts == "best" else "came later"
    return f"The report before is on another submission, which {why}: {listed(found)}. Give its download too."


def _is_of_another(was: Unit, now: Unit) -> bool:
    """Return whether two reports on a unit are on different submissions: by the answers, or by what dates them."""
    sources = {unit.received.source for unit in (was, now) if unit.received}
    return UNKNOWN != was.answers != now.answers or (len(sources) == 2 and TIMES not in sources)


def _came(unit: Unit) -> str:
    """Return when a unit came, as text that can be compared; "" if it is not known."""
    at = unit.received.at if unit.received else None
    return datetime.datetime.fromisoformat(at).astimezone(datetime.UTC).isoformat() if at else ""
