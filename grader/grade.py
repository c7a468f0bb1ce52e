"""From one submission's outcomes to its report: points, feedback by level, and text that is safe to show."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from typing import Any

from grader import __version__, report
from grader.course import FILENAME, ROOT, Course, Level
from grader.sandbox.lockdown import LAYERS, NEEDED
from grader.submission import Submission

MAX_TEXT = 4000
# Everything but tab and newline that steers a terminal or hides text, bidirectional marks included; and halves
# of surrogate pairs, which no file can hold.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
# Where the grader and Python lie, and what is around the grader, but for the outermost folder: /home tells nothing.
PRIVATE_FOLDERS = [str(ROOT), sys.prefix, sys.base_prefix, *(str(folder) for folder in ROOT.parents[:-2])]


class Rubric:
    """Every criterion of the course, by unit and exercise, as the engine collected them from the suites."""

    def __init__(self, criteria: list[dict[str, str]]) -> None:
        self.criteria: dict[tuple[str, str], list[dict[str, str]]] = {}
        for criterion in criteria:
            self.criteria.setdefault((criterion["unit"], criterion["exercise"]), []).append(criterion)

    def of(self, unit: str, exercise: str) -> list[dict[str, str]]:
        return self.criteria.get((unit, exercise), [])

    def possible(self, course: Course) -> dict[str, dict[str, int]]:
        """The possible points of each exercise of each unit: its criteria times its weight."""
        return {
            name: {exercise: len(self.of(name, exercise)) * weight for exercise, weight in unit.exercises.items()}
            for name, unit in course.units.items()
        }


def make_report(
    submission: Submission,
    result: dict[str, Any],
    rubric: Rubric,
    course: Course,
    missing: dict[str, str],
    versions: dict[str, str],
    now: datetime.datetime,
) -> report.Report:
    """The report of one submission, on the units that were read or could not be.

    result: what the engine gave for it. missing: the layers that this system lacks. now: decides the feedback.
    """
    names = [name for name in course.units if name in submission.units or name in submission.problems]
    units = {name: _unit(name, submission, result, rubric, course, now) for name in names}
    layers = result["layers"] or {layer: layer not in missing for layer in LAYERS}
    return report.Report(
        schema="attention-from-scratch/report/v1",
        student=submission.student,
        commit=submission.commit,
        points=sum(unit.points for unit in units.values()),
        possible=sum(unit.possible for unit in units.values()),
        units=units,
        messages=[
            report.Message(**{**message, "text": visible(message["text"]), "file": visible(message["file"])})
            for message in result["messages"]
        ],
        timing=report.Timing(started=now.isoformat(timespec="seconds"), seconds=result["seconds"]),
        isolation=report.Isolation(enough=all(layers[layer] for layer in NEEDED), layers=layers),
        versions={"grader": __version__, "course": course.version, **versions},
        digest=_digest(submission),
    )


def still_holds(made: report.Report, submission: Submission, course: Course, now: datetime.datetime) -> bool:
    """Whether grading the submission now would give this report again, but for what may differ in any case."""
    names = {*submission.units, *submission.problems}
    return (
        (made.student, made.commit, made.digest) == (submission.student, submission.commit, _digest(submission))
        # The date alone can change how much is told.
        and {name: unit.feedback for name, unit in made.units.items()}
        == {name: course.feedback_level(name, now) for name in names}
    )


def _unit(
    name: str,
    submission: Submission,
    result: dict[str, Any],
    rubric: Rubric,
    course: Course,
    now: datetime.datetime,
) -> report.Unit:
    level = course.feedback_level(name, now)
    problem = submission.problems.get(name)
    exercises = {
        exercise: _exercise(name, exercise, weight, problem, result, rubric, level)
        for exercise, weight in course.units[name].exercises.items()
    }
    return report.Unit(
        points=sum(exercise.points for exercise in exercises.values()),
        possible=sum(exercise.possible for exercise in exercises.values()),
        feedback=level,
        remarks=[problem] if problem else list(submission.units[name].remarks),
        exercises=exercises,
    )


def _exercise(
    unit: str,
    exercise: str,
    weight: int,
    problem: str | None,
    result: dict[str, Any],
    rubric: Rubric,
    level: Level,
) -> report.Exercise:
    def mine(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry for entry in entries if (entry["unit"], entry["exercise"]) == (unit, exercise)]

    outcomes = {outcome["name"]: outcome for outcome in mine(result["outcomes"])}
    tests = []
    for criterion in rubric.of(unit, exercise):
        # What did not come back scores zero.
        outcome = outcomes.get(criterion["name"], {"passed": False, "reason": problem or "It could not be tested."})
        tests.append(
            report.Test(
                name=criterion["name"],
                outcome="passed" if outcome["passed"] else "failed",
                points=weight if outcome["passed"] else 0,
                possible=weight,
                sentence=criterion["sentence"] if level != "points" else None,
                reason=visible(outcome["reason"] or None) if level != "points" and not outcome["passed"] else None,
            )
        )
    found = mine(result["misconceptions"]) if level == "misconception" else []
    waiting = _names(outcome for outcome in outcomes.values() if outcome["waiting"])
    stood_in = _names(outcome for outcome in outcomes.values() if outcome["passed"])
    remarks = list(dict.fromkeys(remark for outcome in outcomes.values() for remark in outcome["remarks"]))
    if stood_in:
        remarks.append(f"It was tested with a stand-in for your {stood_in}, so that mistakes there cost nothing here.")
    return report.Exercise(
        points=sum(test.points for test in tests),
        possible=sum(test.possible for test in tests),
        tests=tests,
        misconceptions=[report.Named(name=one["name"], sentence=one["sentence"]) for one in found],
        waiting_for=f"It builds on {waiting}: mend that first." if waiting and level != "points" else None,
        remarks=remarks,
    )


def _names(outcomes: Iterable[dict[str, Any]]) -> str:
    """The other exercises that had a part in these outcomes, as a list in words."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome["stand_ins"]))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def visible(text: str | None) -> Any:
    """Text of a student's making, fit to be shown: cut, without control characters or this machine's paths."""
    if text is None:
        return None
    for folder in PRIVATE_FOLDERS:
        text = text.replace(folder, "…")
    text = CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"


def _digest(submission: Submission) -> str:
    """Of the submission's sources, the suites and the rest of the grader, and autograder.yml."""
    handed_in = {
        "units": {name: asdict(source) for name, source in submission.units.items()},
        "siblings": {name: asdict(source) for name, source in submission.siblings.items()},
        "problems": submission.problems,
    }
    total = hashlib.sha256(json.dumps(handed_in, sort_keys=True).encode())
    total.update(_grader_digest())
    return total.hexdigest()


@cache
def _grader_digest() -> bytes:
    total = hashlib.sha256()
    for path in [ROOT / FILENAME, *sorted((ROOT / "grader").rglob("*.py")), *sorted((ROOT / "grader").rglob("*.ini"))]:
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.digest()
