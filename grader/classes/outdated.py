"""Whether a report is older than the course, the roster or the adjustments, so that its points are no grade now.

Nothing is run: the numbers of the report are compared with what autograder.yml, the quizzes, the suites and the tables
of the class say.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grader.classes.matcher import was_others
from grader.classes.times import Time
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.fingerprint import key_digest, tests_digest
from grader.reports.model import UNKNOWN
from grader.reports.scoring import quiz_points

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.classes.decisions import Decisions
    from grader.classes.roster import Entry
    from grader.reports.model import Report, Unit


@dataclass
class Current:
    """What a report would be based on if it was made now. Each unit's part is read once, when it is needed."""

    decisions: Decisions
    _read: dict[str, tuple[str, dict[str, int] | None, str]] = field(default_factory=dict)

    def changed(self, name: str, report: Report, entry: Entry, is_over: bool) -> list[str]:
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

    def _of_class(self, name: str, report: Report, entry: Entry) -> Iterator[str]:
        if was_others(report.name, entry):
            yield f"its student's name, {report.name}"
        unit = report.units[name]
        received = unit.received
        at = datetime.datetime.fromisoformat(received.at) if received and received.at else None
        time = Time(at, received.source) if received else None
        alone = report.with_units({name: unit})
        found = {} if self.decisions.entries else {name: time}
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
