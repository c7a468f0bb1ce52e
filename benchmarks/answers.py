"""Makes classes for the benchmarks: students with right, mistaken and unfinished answers, no two of them the same."""

from __future__ import annotations

import ast
import functools
import itertools
import sys
from collections.abc import Container, Sequence
from pathlib import Path

from grader.audit.cases import in_style, needed_by, styles_of
from grader.course.model import load_course
from grader.sandbox.pieces import split
from grader.testing.misconceptions import Misconception, build, misconceptions_of

ROOT = Path(__file__).resolve().parents[1]
COURSE = load_course(ROOT)
UNITS = list(COURSE.units)
# Of every ten students, six are right, three made mistakes, and one has not finished.
RIGHT, MISTAKEN = 6, 9
# It needs a `generate` that gives the model the whole text. In unit 6 the last token is enough.
FITS_FEW = ("small_gpt", "one_on_another")

Answers = dict[str, dict[str, str]]
"""A student's answers, by unit and exercise."""


def make(units: Sequence[str], size: int) -> dict[str, Answers]:
    """Return the answers of each student. A student's name says what the answers are."""
    build(COURSE, units)
    made = [_answers(units, number) for number in range(size)]
    return {f"{kind}-{number:06}": answers for number, (kind, answers) in enumerate(made)}


def _answers(units: Sequence[str], number: int) -> tuple[str, Answers]:
    place, turn = number % 10, number // 10
    if place < RIGHT:
        kind, answers = "right", {unit: right_answer(unit, turn + place + at) for at, unit in enumerate(units)}
    elif place < MISTAKEN:
        kind, answers = "mistaken", {unit: right_answer(unit, 0) for unit in units}
        nth = turn * (MISTAKEN - RIGHT) + place
        # One mistake, then one in each of two units, and so on.
        for more in range(1 + nth % len(units)):
            add_mistake(answers, units[(nth + more) % len(units)], nth)
    else:
        # The first has not begun; each of the next has finished one unit more.
        finished = units[: turn % len(units)]
        kind = "unfinished"
        answers = {unit: right_answer(unit, 0) if unit in finished else stubs(unit) for unit in units}
    for exercises in answers.values():
        last = next(reversed(exercises))
        # As another student could have written it: other blank lines, a remark and a name.
        exercises[last] += "\n" * (number % 3 + 1) + f"\n# Student {number}.\nNUMBER_{number} = {number}\n"
    return kind, answers


def right_answer(unit: str, number: int) -> dict[str, str]:
    """Return one of the right answers of a unit, by exercise."""
    answers = _right_answers(unit)
    return dict(answers[number % len(answers)])


@functools.cache
def _right_answers(unit: str) -> list[dict[str, str]]:
    """Return those in the order of the exercises: in a notebook, what one calls must be defined in a cell above."""
    exercises = COURSE.units[unit].exercises
    split_up = [pieces(text, exercises) for text in accepted_answers(unit)]
    return [answers for answers in split_up if list(answers) == list(exercises)]


def stubs(unit: str) -> dict[str, str]:
    """Return the exercises of a unit as students receive them."""
    return pieces(read("exercises", unit), COURSE.units[unit].exercises)


def add_mistake(answers: Answers, unit: str, number: int) -> None:
    """Put a mistake of a unit below the right answer of its exercise."""
    known = misconceptions_of(COURSE, unit)
    mistake = known[number % len(known)]
    answers[unit][mistake.exercise] += f"\n\n\n{source_of(mistake)}"


def write_scripts(students: dict[str, Answers], folder: Path) -> None:
    """Write a folder for each student, with a script for each unit."""
    for student, answers in students.items():
        (folder / student).mkdir(parents=True)
        for unit, exercises in answers.items():
            (folder / student / f"{unit}.py").write_text("\n\n\n".join(exercises.values()), encoding="utf-8")


def read(folder: str, unit: str) -> str:
    return (ROOT / folder / f"{unit}.py").read_text(encoding="utf-8")


def accepted_answers(unit: str) -> list[str]:
    """Return the solution, and right answers in other styles that fit those of the other units."""
    fitting = [style for style in styles_of(COURSE, unit) if (unit, style) != FITS_FEW]
    return [read("solutions", unit), *(in_style(COURSE, unit, style) for style in fitting)]


def source_of(mistake: Misconception) -> str:
    """Return a mistake as a student would write it: its definition, what it uses, and the exercise's name."""
    path = Path(sys.modules[mistake.implementation.__module__].__file__ or "")
    name = mistake.implementation.__name__
    return "\n\n\n".join([*needed_by(path, name), f"{mistake.exercise} = {name}\n"])


def pieces(text: str, exercises: Container[str]) -> dict[str, str]:
    """Split a unit's file into one piece per exercise. A piece ends with its definition; the last has the rest.

    The examples of a file are left out: they would run in the kernel of a notebook only.
    """
    lines = text.splitlines()
    for node in ast.parse(text).body[::-1]:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            del lines[node.lineno - 1 : node.end_lineno]
    # Remove the solution's markers, and its text cells, which are comments.
    lines = [line for line in lines if not (line.startswith("#") or line.strip().startswith("###"))]
    ends = {
        name: piece.tree.body[0].end_lineno
        for piece in split("\n".join(lines))
        for name in piece.names
        if piece.tree and name in exercises
    }
    *cuts, _ = ends.values()
    spans = itertools.pairwise([0, *cuts, None])
    return {name: "\n".join(lines[begin:end]).strip() for name, (begin, end) in zip(ends, spans, strict=True)}
