"""A class of any size with made reports on this course: abilities, mistakes, quiz answers, late work, and a week ago.

Nothing is run. The names of tests and the misconceptions are read from the hidden suites, and answers are marked by the
quizzes' own sources.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import math
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from courses import COURSE
from made_reports import exercise, report, unit, unwritten

from grader.classes.decisions import Decisions
from grader.classes.times import Time
from grader.quizzes.items import BugItem, ChoiceItem, Item, OrderItem, VariedItem, mark, right_letters
from grader.quizzes.questions import VARIANTS, rendered
from grader.quizzes.quiz_source import QuizSource as Source
from grader.quizzes.quiz_source import load_quizzes
from grader.reports.folder import keep_earlier, write_report
from grader.reports.report_model import Exercise, Message, Named, Quiz, QuizItem, Report, Timing, Unit
from grader.submissions.submission import missing_file
from grader.testing.misconceptions import build, misconceptions_of

FIRST = (
    "Ada",
    "Bela",
    "Chen",
    "Dina",
    "Emil",
    "Farah",
    "Gus",
    "Hana",
    "Ivo",
    "Jana",
    "Kofi",
    "Lena",
    "Milo",
    "Nora",
    "Omar",
)
LAST = (
    "Adeyemi",
    "Berger",
    "Costa",
    "Dahl",
    "Eriksen",
    "Fischer",
    "Garcia",
    "Haddad",
    "Ito",
    "Kim",
    "Lopez",
    "Novak",
    "Sato",
)
NOW = datetime.datetime(2027, 3, 20, 18, 0, tzinfo=datetime.UTC)
WEEK_AGO = NOW - datetime.timedelta(days=8)
HARD_VARIANT = 2
"""A variant in which the answer to the first item with numbers is mostly wrong."""


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
    count, difficulty = len(_tests_of(unit_name)[name]), random.Random(name).gauss(-0.6, 1.0)
    if not is_begun or student.draw("writes", name).random() < 0.02:
        return _made_exercise(unit_name, name, 0, None)
    if student.can(difficulty, name):
        return _made_exercise(unit_name, name, count, None)
    draw = student.draw("mistake", name)
    kind = int(draw.paretovariate(1.2)) - 1 if draw.random() < 0.7 else None
    return _made_exercise(unit_name, name, draw.randrange(1, max(2, count)), kind)


@cache
def _tests_of(unit_name: str) -> dict[str, list[str]]:
    """The names of the hidden tests of each exercise, as far as they are written out."""
    found: dict[str, list[str]] = {name: [] for name in COURSE.units[unit_name].exercises}
    for path in COURSE.hidden_tests(unit_name):
        written = ast.parse(path.read_text(encoding="utf-8")).body
        for item in (one for one in written if isinstance(one, ast.FunctionDef)):
            for call in item.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.exercise":
                    name = ast.literal_eval(call.args[0])
                    found[name].append(item.name.removeprefix("test_"))
    return {name: tests or ["shape", "values", "gradients"] for name, tests in found.items()}


@cache
def _mistakes_of(unit_name: str) -> dict[str, list[Named]]:
    build(COURSE, [unit_name])
    found: dict[str, list[Named]] = {}
    for one in misconceptions_of(COURSE, unit_name):
        found.setdefault(one.exercise, []).append(Named(name=one.name, sentence=one.sentence))
    return found


@cache
def _made_exercise(unit_name: str, name: str, passed: int, mistake: int | None) -> Exercise:
    tests = _tests_of(unit_name)[name]
    if not passed:
        return unwritten(len(tests))
    made = exercise(passed, len(tests) - passed)
    named = [test.model_copy(update={"name": one}) for test, one in zip(made.tests, tests, strict=True)]
    known = _mistakes_of(unit_name).get(name, [])
    found = [known[mistake % len(known)]] if known and mistake is not None else []
    return made.model_copy(update={"tests": named, "misconceptions": found})


@cache
def _quizzes() -> dict[str, Source]:
    return load_quizzes(COURSE.solutions, COURSE.quizzes)


def _quiz(student: Student, name: str, time: datetime.datetime, is_begun: bool) -> Quiz | None:
    if name not in _quizzes():
        return None
    variant = student.draw("variant", name).randrange(VARIANTS)
    is_over = COURSE.is_over(name, time)
    items = {}
    for item_name, item in _quizzes()[name].items.items():
        raw = _answer(student, item_name, item, variant) if is_begun else None
        marked = mark(item, raw, variant, 1) if raw is not None and is_over else None
        items[item_name] = QuizItem(
            answered=raw is not None,
            points=(marked.points if marked else 0) if is_over else None,
            possible=item.points,
            problem=None,
            sentences=marked.sentences if marked else [],
            answer=None,
            explanation=None,
        )
    return Quiz(
        points=sum(item.points or 0 for item in items.values()) if is_over else None,
        possible=sum(item.possible for item in items.values()),
        summary=f"{sum(item.answered for item in items.values())} of {len(items)} answered",
        variant=variant,
        remarks=[] if is_begun else [missing_file(name, is_quiz=True)],
        items=items,
    )


def _answer(student: Student, name: str, item: Item, variant: int) -> str | None:
    """Return a right answer, a wrong one as students give it, or none."""
    draw = student.draw("answer", name)
    is_hard = isinstance(item, VariedItem) and len(item.parameters()) > HARD_VARIANT and name == _hard_item()
    difficulty = random.Random(name).gauss(-0.5, 0.9)
    if is_hard and variant % len(item.variants) == HARD_VARIANT:  # type: ignore[union-attr]
        difficulty += 5
    if draw.random() < 0.03:
        return None
    right = student.can(difficulty, name)
    if isinstance(item, ChoiceItem | BugItem):
        return _letters(draw, item, right)
    if isinstance(item, OrderItem):
        steps = item.answer.split()
        return " ".join(steps if right else draw.sample(steps, len(steps)))
    row = item.row(variant)
    slips = [row[column] for column in item.slips]
    value = row["answer"] if right else draw.choice([*slips, *slips, 12345 if item.kind == "number" else [9, 9, 9]])
    return rendered(value)


@cache
def _hard_item() -> str:
    return next(
        name
        for quiz in _quizzes().values()
        for name, item in quiz.items.items()
        if isinstance(item, VariedItem) and item.parameters()
    )


def _letters(draw: random.Random, item: ChoiceItem | BugItem, is_right: bool) -> str:
    rights = right_letters(item)
    if is_right:
        return " ".join(rights)
    others = [letter for letter in item.options() if letter not in rights]
    wrong = others[int(draw.random() ** 2 * len(others))]
    return f"{rights[0]} {wrong}" if len(rights) > 1 else wrong
