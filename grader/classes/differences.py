"""How a report differs from one that was made now: by running its code again, or by comparing its numbers.

`difference` compares two reports, by exercise and test. `Current` runs nothing: it compares a report with what
autograder.yml, the quizzes, the suites and the tables of the class say.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from grader.classes.decisions import Decisions, remembered
from grader.classes.matcher import was_others
from grader.classes.roster import RosterEntry
from grader.classes.times import TIMES
from grader.classes.work import NewReport
from grader.course.model import Course
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.fingerprint import key_digest, tests_digest
from grader.reports.report_model import UNKNOWN, Exercise, Quiz, Report, Unit
from grader.reports.scoring import quiz_points
from grader.text import listed


@dataclass(frozen=True)
class ReportDifference:
    """How the points or the possible points of a student change.

    Attributes:
        before: The points and the possible points before; None if there was no report.
        after: Those now.
        lines: Each unit, exercise and test that changes.
        reasons: Why.
        name: The student's own name, if the roster has it.
    """

    student: str
    before: tuple[int, int] | None
    after: tuple[int, int]
    lines: Sequence[str]
    reasons: Sequence[str]
    name: str = ""


def difference(before: Report | None, after: Report, course: Course) -> ReportDifference | None:
    """Return how a report changes; None if neither points nor possible points do, of any unit, exercise or test."""
    now = after.points, after.possible
    if before is None:
        return ReportDifference(after.student, None, now, (), ("there was no report",), after.name)
    lines: list[str] = []
    reasons: list[str] = []
    for name in {**course.units, **before.units, **after.units}:
        old, new = before.units.get(name), after.units.get(name)
        own = list(_unit_lines(name, old, new))
        if own:
            lines += own
            reasons += _reasons(old, new, before, after)
    if not lines:
        return None
    return ReportDifference(
        after.student, (before.points, before.possible), now, lines, list(dict.fromkeys(reasons)), after.name
    )


def _unit_lines(name: str, old: Unit | None, new: Unit | None) -> Iterator[str]:
    """Yield what changes in a unit: itself, its exercises with their tests, its quiz, and its deductions."""
    if old is None or new is None:
        if old or new:
            yield f"{name}: {'not in the report any more' if old else 'new in the report'}"
        return
    parts = [line for exercise in new.exercises | old.exercises for line in _exercise_lines(name, exercise, old, new)]
    if _quiz_points(old.quiz) != _quiz_points(new.quiz):
        parts.append(f"{name}/quiz: {_quiz_points(old.quiz)} → {_quiz_points(new.quiz)}")
    grades = [(one.points, one.possible, one.exempt) for one in (old, new)]
    if (old.exempt and new.exempt) or (grades[0] == grades[1] and not parts):
        return
    yield f"{name}: {old.points} of {old.possible} → {new.points} of {new.possible}"
    yield from parts
    gone = [("no longer ", one) for one in old.changes if one not in new.changes]
    for prefix, one in [*gone, *(("", one) for one in new.changes if one not in old.changes)]:
        if one.kind != "comment":
            yield f"{name}{f'/{one.exercise}' if one.exercise else ''}: {prefix}{one.points:+g}, {one.reason}"
    if old.exempt != new.exempt:
        yield f"{name}: {'exempt now' if new.exempt else 'no longer exempt'}"


def _exercise_lines(unit: str, name: str, old: Unit, new: Unit) -> Iterator[str]:
    first, second = old.exercises.get(name), new.exercises.get(name)
    if first is None or second is None:
        yield f"{unit}/{name}: {'not in the course any more' if first else 'new in the course'}"
        return
    before, after = _outcomes(first), _outcomes(second)
    if (first.points, first.possible, before) == (second.points, second.possible, after):
        return
    yield f"{unit}/{name}: {first.points} of {first.possible} → {second.points} of {second.possible}"
    for test, outcome in after.items():
        if before.get(test) != outcome:
            yield f"  {test.replace('_', ' ')}: {before.get(test, 'new')} → {outcome}"
    yield from (f"  {test.replace('_', ' ')}: removed" for test in before if test not in after)


def _outcomes(exercise: Exercise) -> dict[str, str]:
    return {test.name: test.outcome for test in exercise.tests}


def _reasons(old: Unit | None, new: Unit | None, before: Report, after: Report) -> Iterator[str]:
    """Yield why the points of a unit change."""
    if old is None or new is None:
        yield "units"
        return
    if old.exercises.keys() != new.exercises.keys():
        yield "exercises"
    same = [(old.exercises[name], new.exercises[name]) for name in new.exercises if name in old.exercises]
    yield from _of_answers(old, new, same, before, after)
    if any(_weights_differ(a, b) for a, b in same):
        yield "weights"
    yield from _of_quiz(old, new)
    yield from _of_late_work(old, new)
    if old.exempt != new.exempt:
        yield "exemptions"
    if _points(old, "adjustment") != _points(new, "adjustment"):
        yield "adjustments"


def _of_answers(
    old: Unit, new: Unit, same: list[tuple[Exercise, Exercise]], before: Report, after: Report
) -> Iterator[str]:
    """Yield why other tests pass: other answers, here or in a unit that this one imports, or other tests."""
    outcomes_differ = any(_outcomes(a) != _outcomes(b) for a, b in same)
    if old.answers != new.answers and (outcomes_differ or _quizzes_differ(old, new)):
        yield "answers"
    elif outcomes_differ and before.versions.get("suites") != after.versions.get("suites"):
        yield "suite"
    elif outcomes_differ:
        others = [name for name in after.units if name in before.units]
        is_other = any(before.units[name].answers != after.units[name].answers for name in others)
        yield "answers of another unit" if is_other else "another result of the same code"


def _quizzes_differ(old: Unit, new: Unit) -> bool:
    """Return whether a quiz that counts in both has earned another share of its points."""
    counted = [unit.quiz for unit in (old, new) if unit.quiz and unit.quiz.points is not None]
    shares = {Fraction(quiz.points or 0, quiz.possible or 1) for quiz in counted}
    return len(counted) == 2 and len(shares) == 2


def _weights_differ(old: Exercise, new: Exercise) -> bool:
    """Return whether a test that both have is worth something else."""
    before = {test.name: test.possible for test in old.tests}
    return any(before.get(test.name, test.possible) != test.possible for test in new.tests)


def _of_quiz(old: Unit, new: Unit) -> Iterator[str]:
    """Yield whether the quiz counts now, or is another one, or worth something else."""
    if old.quiz is None or new.quiz is None:
        if old.quiz or new.quiz:
            yield "quiz"
        return
    if (old.quiz.points is None) != (new.quiz.points is None):
        yield "dates"
    possible = [{name: item.possible for name, item in quiz.items.items()} for quiz in (old.quiz, new.quiz)]
    is_scaled = _is_scaled(*possible)
    if is_scaled and possible[0] != possible[1]:
        yield "weights"
    is_other = UNKNOWN not in (old.key, new.key) and old.key != new.key
    is_same_answer = old.answers == new.answers and possible[0] == possible[1]
    if not is_scaled or (_quizzes_differ(old, new) and (is_other or is_same_answer)):
        yield "quiz"


def _is_scaled(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Return whether the same items are all worth the same number of times more or less."""
    ratios = {Fraction(after[name], points) for name, points in before.items() if name in after and points}
    return before.keys() == after.keys() and len(ratios) <= 1


def _of_late_work(old: Unit, new: Unit) -> Iterator[str]:
    """Yield why another share is taken off for late work. Of nothing, nothing can be."""
    if not (old.earned and new.earned) or _late_share(old) == _late_share(new):
        return
    if old.due != new.due:
        yield "dates"
    if old.received != new.received:
        yield "times"
    if (old.due, old.received) == (new.due, new.received):
        yield "rules for late work"


def _late_share(unit: Unit) -> Fraction:
    """Return what is taken off for late work, as a share of what was earned."""
    late = sum((Fraction(str(points)) for points, _ in _points(unit, "late")), Fraction(0))
    return round(late / (unit.earned or 1), 6)


def _quiz_points(quiz: Quiz | None) -> str:
    """Return the points of a quiz in words; without points, it does not count."""
    return f"{quiz.points} of {quiz.possible}" if quiz and quiz.points is not None else "not counted"


def outranked(graded: Iterable[NewReport], counts: Literal["best", "last"]) -> str:
    """Return a sentence on new reports on other submissions than before, if one that is missing now would count.

    Args:
        graded: The new reports.
        counts: Which of several submissions counts.
    """
    found = []
    for report, _, kept, before, given in graded:
        for name, now in report.units.items():
            was = before.units.get(name) if before and name not in kept else None
            if was is None or (was.answers != now.answers and was.answers in given) or was.possible != now.possible:
                continue
            is_higher = was.points > now.points if counts == "best" else _came(was) > _came(now) > ""
            if is_higher and _is_of_another(was, now):
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
    time = remembered(unit)
    return time.at.astimezone(datetime.UTC).isoformat() if time and time.at else ""


@dataclass
class Current:
    """What a report would be based on if it was made now. Each unit's part is read once, when it is needed."""

    decisions: Decisions
    _read: dict[str, tuple[str, dict[str, int] | None, str]] = field(default_factory=dict)

    def changed(self, name: str, report: Report, entry: RosterEntry, is_over: bool) -> list[str]:
        """Return what has changed since a report on a unit was made, in words, and can change its points.

        Args:
            name: The unit.
            report: The report.
            entry: The student's line in the roster.
            is_over: Whether the unit is over for the student.
        """
        unit = report.units[name]
        return list(dict.fromkeys([*self.of_course(name, unit, is_over), *self._of_class(name, report, entry)]))

    def of_course(self, name: str, unit: Unit, is_over: bool) -> Iterator[str]:
        """Yield what has changed in the course since a unit was graded."""
        weights = self.decisions.course.units[name].exercises
        if unit.exercises.keys() != weights.keys():
            yield "its exercises"
        in_both = {exercise: one for exercise, one in unit.exercises.items() if exercise in weights}
        if any(test.possible != weights[exercise] for exercise, one in in_both.items() for test in one.tests):
            yield "its weights"
        tests, quiz, key = self._sources(name)
        if unit.tests not in (UNKNOWN, tests):
            yield "its tests"
        items = {item: one.possible for item, one in unit.quiz.items.items()} if unit.quiz else None
        if items != quiz or unit.key not in (UNKNOWN, key):
            yield "its quiz"
        if unit.quiz and unit.quiz.points is not None and not is_over:
            yield "its due date"

    def _of_class(self, name: str, report: Report, entry: RosterEntry) -> Iterator[str]:
        if was_others(report.name, entry):
            yield f"its student's name, {report.name}"
        unit = report.units[name]
        alone = report.with_units({name: unit})
        found = {} if self.decisions.entries else {name: remembered(unit)}
        again = replace(self.decisions, entries=[entry]).applied(alone, found).units[name]
        if _points(unit, "late") != _points(again, "late"):
            dates = "its extension" if unit.extended or again.extended else "its due date"
            same = "the rules for late work" if unit.received == again.received else "its time"
            yield same if unit.due == again.due else dates
        if self.decisions.entries and _points(unit, "adjustment") != _points(again, "adjustment"):
            yield "its adjustments"
        if unit.exempt:
            yield "its exemption"

    def _sources(self, name: str) -> tuple[str, dict[str, int] | None, str]:
        """Return the digest of a unit's tests, the points of its quiz by item, and the digest of its answers."""
        if name not in self._read:
            course = self.decisions.course
            quiz = load_quizzes(course.solutions, {name}.intersection(course.quizzes)).get(name)
            points, key = (quiz_points(quiz, course), key_digest(quiz)) if quiz else (None, UNKNOWN)
            self._read[name] = tests_digest(course, name), points, key
        return self._read[name]


def _points(unit: Unit, kind: str) -> list[tuple[float, str | None]]:
    """Return the points of changes of one kind, with their exercises."""
    return [(one.points, one.exercise) for one in unit.changes if one.kind == kind]
