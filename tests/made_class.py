"""A class of any size with made reports on this course: abilities, mistakes, quiz answers, late work, and a week ago.

Nothing is run. The misconceptions are those of the hidden suites, and answers are marked by the quizzes' own sources.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from courses import COURSE
from made_reports import exercise, marked, report, unit, unwritten

from grader.classes.decisions import Decisions
from grader.classes.times import Time
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem, right_letters
from grader.quizzes.questions import VARIANTS, rendered
from grader.quizzes.quiz_source import QuizSource as Source
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.folder import keep_earlier, write_report
from grader.reports.report_model import Exercise, Message, Named, Quiz, Report, Timing, Unit
from grader.submissions.submission import missing_file
from grader.testing.misconceptions import build, misconceptions_of

FIRST = (
    "Ada", "Bela", "Chen", "Dina", "Emil", "Farah", "Gus", "Hana", "Ivo", "Jana", "Kofi", "Lena", "Milo", "Nora",
    "Omar",
)  # fmt: skip
LAST = (
    "Adeyemi", "Berger", "Costa", "Dahl", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito", "Kim", "Lopez", "Novak",
    "Sato",
)  # fmt: skip
NOW = datetime.datetime(2027, 3, 20, 18, 0, tzinfo=datetime.UTC)
WEEK_AGO = NOW - datetime.timedelta(days=8)


class Student(NamedTuple):
    """A student: the name, how able, and how many units are begun."""

    student: str
    name: str
    ability: float
    units: int

    def draw(self, *what: object) -> random.Random:
        """Return random numbers of the student's own, the same for the same thing."""
        return random.Random(f"{self.student} {what}")

    def can(self, difficulty: float, *what: object) -> bool:
        return self.draw(*what).random() < 1 / (1 + math.exp(1.6 * (difficulty - self.ability)))


def students(count: int) -> Iterator[Student]:
    draw = random.Random(7)
    for number in range(count):
        first, last = FIRST[number % len(FIRST)], LAST[(number * 7 + number // len(FIRST)) % len(LAST)]
        begun = len(COURSE.units) if draw.random() < 0.8 else draw.randrange(len(COURSE.units))
        yield Student(f"{first}.{last}{number}".lower(), f"{first} {last}", draw.gauss(0.9, 1.3), begun)


def roster(count: int) -> str:
    return "student,name\n" + "".join(f"{one.student},{one.name}\n" for one in students(count))


def write_class(folder: Path, count: int) -> None:
    """Write the reports of a class, and those of a week ago, when the last unit was not begun."""
    for one in students(count):
        before, after = a_report(one, WEEK_AGO, len(COURSE.units) - 1), a_report(one, NOW, len(COURSE.units))
        keep_earlier(before, after, folder)
        write_report(after, None, folder)


def a_report(student: Student, time: datetime.datetime, units: int) -> Report:
    """The report of a student who has worked on the first units."""
    begun = min(student.units, units)
    made = {name: _unit(student, name, time, number < begun) for number, name in enumerate(COURSE.units)}
    tried = Message(
        unit=next(iter(made)), exercise=None, kind="attempted", text="It tried to open a file: x", file=None, line=None
    )
    is_curious = student.draw("tries").random() < 0.02
    earned = report(made, [tried] if is_curious else [], suites="hidden").model_copy(
        update={"student": student.student, "timing": Timing(started=time.isoformat(), seconds=1.0)}
    )
    times = {name: _time(student, name) if number < begun else None for number, name in enumerate(COURSE.units)}
    return Decisions(COURSE).applied(earned, times)


def _time(student: Student, name: str) -> Time:
    late = student.draw("late", name).random() < 0.05
    return Time(COURSE.units[name].due + datetime.timedelta(hours=5 if late else -20), "push")


def _unit(student: Student, name: str, time: datetime.datetime, is_begun: bool) -> Unit:
    exercises = {one: _exercise(student, name, one, is_begun) for one in COURSE.units[name].exercises}
    if not is_begun:
        made = unit(exercises, path=None, remarks=[missing_file(name)], quiz=_quiz(student, name, time, is_begun))
    else:
        made = unit(exercises, path=f"{name}.py", quiz=_quiz(student, name, time, is_begun))
    answers = hashlib.sha256(f"{student.student} {name} {is_begun}".encode()).hexdigest()
    return made.model_copy(update={"answers": answers})


def _exercise(student: Student, unit_name: str, name: str, is_begun: bool) -> Exercise:
    of_exercise = random.Random(name)
    difficulty, count = of_exercise.gauss(-0.6, 1.0), of_exercise.randrange(3, 9)
    if not is_begun or student.draw("writes", name).random() < 0.02:
        return unwritten(count)
    if student.can(difficulty, name):
        return exercise(count)
    draw = student.draw("mistake", name)
    passed, known = draw.randrange(1, count), _mistakes_of(unit_name).get(name, [])
    rank = int(draw.paretovariate(1.2)) - 1
    found = [known[rank % len(known)]] if known and draw.random() < 0.7 else []
    return exercise(passed, count - passed).model_copy(update={"misconceptions": found})


@cache
def _mistakes_of(unit_name: str) -> dict[str, list[Named]]:
    build(COURSE, [unit_name])
    found: dict[str, list[Named]] = {}
    for one in misconceptions_of(COURSE, unit_name):
        found.setdefault(one.exercise, []).append(Named(name=one.name, sentence=one.sentence))
    return found


@cache
def _quizzes() -> dict[str, Source]:
    return load_quizzes(COURSE.solutions, COURSE.quizzes)


def _quiz(student: Student, name: str, time: datetime.datetime, is_begun: bool) -> Quiz | None:
    if name not in _quizzes():
        return None
    source, variant = _quizzes()[name], student.draw("variant", name).randrange(VARIANTS)
    given = {one: _answer(student, one, item, variant) for one, item in source.items.items() if is_begun}
    answers = {one: raw for one, raw in given.items() if raw is not None}
    return marked(source, answers, variant, is_over=COURSE.is_over(name, time))


def _answer(student: Student, name: str, item: Item, variant: int) -> str | None:
    """Return a right answer, a wrong one as students give it, or none."""
    draw = student.draw("answer", name)
    if draw.random() < 0.03:
        return None
    right = student.can(random.Random(name).gauss(-0.5, 0.9), name)
    if isinstance(item, ChoiceItem | BugItem):
        return _letters(draw, item, right)
    if isinstance(item, OrderItem):
        steps = item.answer.split()
        return " ".join(steps if right else draw.sample(steps, len(steps)))
    row = item.row(variant)
    slips = [row[column] for column in item.slips]
    value = row["answer"] if right else draw.choice([*slips, *slips, 12345 if item.kind == "number" else [9, 9, 9]])
    return rendered(value)


def _letters(draw: random.Random, item: ChoiceItem | BugItem, is_right: bool) -> str:
    rights = right_letters(item)
    if is_right:
        return " ".join(rights)
    others = [letter for letter in item.options() if letter not in rights]
    wrong = others[int(draw.random() ** 2 * len(others))]
    return f"{rights[0]} {wrong}" if len(rights) > 1 else wrong
