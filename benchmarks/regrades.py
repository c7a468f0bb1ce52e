"""Checks that a grade is the same every time: python benchmarks/regrades.py [--times 200].

Grades the solutions and ten partly right submissions many times, in student processes as usual, and counts the outcomes
that differ from the first time. A partly right submission is the solution of one unit with two wrong exercises, each
with a misconception. Exercises with random numbers are among them.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from grader.audit.cases import cases_of
from grader.course.model import Course, load_course
from grader.engine.engine_client import Engine
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

ROOT = Path(__file__).resolve().parents[1]

PARTLY_RIGHT = 10


def solutions(course: Course) -> dict[str, UnitSource]:
    return {
        unit: source(unit, (ROOT / "solutions" / f"{unit}.py").read_text(encoding="utf-8")) for unit in course.units
    }


def source(unit: str, text: str) -> UnitSource:
    return UnitSource(f"{unit}.py", (text,))


def partly_right(course: Course) -> Iterator[Submission]:
    """Yield ten submissions: one for each unit, then more with other mistakes and other exercises."""
    units = list(course.units)
    for number in range(PARTLY_RIGHT):
        unit, turn = units[-1 - number % len(units)], number // len(units)
        exercises = list(course.units[unit].exercises)
        # Every second one, because a neighbour is often needed by the next.
        exercises = exercises[-1 - turn :: -2 if len(exercises) > 2 else -1][:2]
        mistakes = [case for case in cases_of(course, unit) if case.kind == "misconception"]
        files = solutions(course)
        text = files[unit].cells[0]
        for exercise in exercises:
            known = [case for case in mistakes if case.exercise == exercise]
            case = known[(7 * number) % len(known)]
            *beside, wrong = case.sources.items()
            for name, needed in beside:
                files[f"{name}_{exercise}"] = source(f"{name}_{exercise}", needed)
            text += f"\n\n{wrong[1].replace('from mistakes ', f'from mistakes_{exercise} ')}"
        siblings = {name: one for name, one in files.items() if name != unit}
        yield Submission(
            f"partly right {number + 1}: {unit}", None, {unit: UnitSubmission(source(unit, text))}, siblings
        )


def main(
    times: Annotated[int, typer.Option(min=2)] = 200,
    jobs: Annotated[int, typer.Option(min=1)] = os.cpu_count() or 1,
) -> None:
    course = load_course(ROOT)
    whole = {unit: UnitSubmission(one) for unit, one in solutions(course).items()}
    submissions = [Submission("solutions", None, whole), *partly_right(course)]
    first: dict[str, tuple[list[bool], list[str]]] = {}
    others: dict[str, int] = {}
    rounds = itertools.count(1)
    with Engine(course) as engine:
        versions = engine.handshake().versions
        for submission, result in engine.turns(jobs).all(one for _ in range(times) for one in submissions):
            if isinstance(result, str):
                sys.exit(f"{submission.student}: {result}")
            passed = [one.passed for one in result.outcomes]
            shown = passed, [one.name for one in result.misconceptions]
            known = first.setdefault(submission.student, shown)
            others[submission.student] = others.get(submission.student, 0) + (shown != known)
            if submission is submissions[-1]:
                print(f"{next(rounds)} times: {sum(others.values())} other outcomes", file=sys.stderr)
    print(f"torch {versions['torch']}, Python {versions['python']}: each graded {times} times")
    for student, (passed, names) in first.items():
        points = f"{sum(passed)} of {len(passed)} criteria"
        print(f"{student:42} {points:>20}  {len(names)} named  {others[student]} other outcomes")
    if any(others.values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
