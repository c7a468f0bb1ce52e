"""Short reports for tests, and the commands that GitHub would read in a workflow's log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from grader.reports.report_model import (
    NOT_WRITTEN,
    Exercise,
    Isolation,
    Message,
    Named,
    Quiz,
    QuizItem,
    Report,
    Suites,
    Test,
    Timing,
    Unit,
)


def exercise(
    passed: int,
    failed: int = 0,
    *,
    reason: str | None = "The values are wrong.",
    sentence: str | None = "They should be right.",
    weight: int = 1,
    line: int | None = 12,
    mistake: str | None = None,
    waiting_for: str | None = None,
    remarks: Iterable[str] = (),
) -> Exercise:
    """An exercise with this many tests passed and failed; `mistake` is the sentence of its misconception."""
    outcomes: list[Literal["passed", "failed"]] = [*["passed"] * passed, *["failed"] * failed]  # type: ignore[list-item]
    tests = [
        Test(
            name=f"rule_{number}",
            outcome=outcome,
            points=weight if outcome == "passed" else 0,
            possible=weight,
            sentence=sentence,
            reason=reason if outcome == "failed" else None,
        )
        for number, outcome in enumerate(outcomes, 1)
    ]
    return Exercise(
        points=passed * weight,
        possible=(passed + failed) * weight,
        tests=tests,
        misconceptions=[Named(name="a_mistake", sentence=mistake)] if mistake else [],
        waiting_for=waiting_for,
        line=line,
        remarks=list(remarks),
    )


def unwritten(tests: int = 3) -> Exercise:
    return exercise(0, tests, reason=NOT_WRITTEN)


def quiz(
    points: int | None,
    possible: int,
    *,
    answered: bool = True,
    problem: str | None = None,
    remarks: Iterable[str] = (),
    sentences: Iterable[str] = (),
    answer: str | None = None,
    explanation: str | None = None,
) -> Quiz:
    item = QuizItem(
        answered=answered and problem is None,
        points=points,
        possible=possible,
        problem=problem,
        sentences=list(sentences),
        answer=answer,
        explanation=explanation,
    )
    summary = f"{item.answered:d} of 1 answered"
    return Quiz(
        points=points, possible=possible, summary=summary, variant=0, remarks=list(remarks), items={"an_item": item}
    )


def unit(
    exercises: Mapping[str, Exercise],
    *,
    path: str | None = "exercises/sums.py",
    remarks: Iterable[str] = (),
    quiz: Quiz | None = None,
) -> Unit:
    counted = quiz.points if quiz and quiz.points is not None else None
    return Unit(
        points=sum(one.points for one in exercises.values()) + (counted or 0),
        possible=sum(one.possible for one in exercises.values())
        + (quiz.possible if quiz and counted is not None else 0),
        feedback="misconception",
        path=path,
        remarks=list(remarks),
        exercises=dict(exercises),
        quiz=quiz,
        digest="0" * 64,
        answers="0" * 64,
    )


def report(
    units: Mapping[str, Unit],
    messages: Iterable[Message] = (),
    *,
    suites: Suites = "visible",
    isolated: bool = True,
    handed_in: bool = True,
) -> Report:
    return Report(
        schema="attention-from-scratch/report/v1",
        course="Sums from scratch",
        student="ada",
        commit="0" * 40,
        suites=suites,
        handed_in=handed_in,
        points=sum(one.points for one in units.values()),
        possible=sum(one.possible for one in units.values()),
        units=dict(units),
        messages=list(messages),
        timing=Timing(started="2027-01-20T12:00:00+00:00", seconds=1.5),
        isolation=Isolation(enough=isolated, layers={"limits": isolated}),
        versions={"course": "2026.1"},
        digest="0" * 64,
    )


def of_exercises(**exercises: Exercise) -> Report:
    """Make a report of one unit, `sums`, in exercises/sums.py."""
    return report({"sums": unit(exercises)})


def raised(exercise: str | None, text: str, line: int | None, file: str | None = "sums.py") -> Message:
    kind: Literal["raised", "not run"] = "raised" if exercise else "not run"
    return Message(unit="sums", exercise=exercise, kind=kind, text=text, file=file, line=line)


class Command(NamedTuple):
    """A workflow command, as a GitHub runner reads it."""

    name: str
    properties: dict[str, str]
    data: str


def commands_in(log: str) -> list[Command]:
    """Return the commands that a runner obeys in a log.

    `::name key=value,…::data` begins a line, except for spaces. In other lines the older `##[name key=value;…]data` may
    be anywhere.
    """
    found = []
    for line in log.splitlines():
        text = line.lstrip()
        if text.startswith("::") and "::" in text[2:]:
            head, _, data = text[2:].partition("::")
            name, _, rest = head.partition(" ")
            pairs = [pair.partition("=") for pair in rest.split(",") if pair.strip()]
            properties = {key.strip(): _decoded(value, ("%3A", ":"), ("%2C", ",")) for key, _, value in pairs}
            found.append(Command(name, properties, _decoded(data)))
        elif "##[" in line and "]" in line.partition("##[")[2]:
            head, _, data = line.partition("##[")[2].partition("]")
            found.append(Command(head.split(" ")[0], {}, data))
    return found


def _decoded(text: str, *more: tuple[str, str]) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(code, character)
    return text


def strings_replaced(value: Any, text: str, *, kept: frozenset[str]) -> Any:
    """A report's JSON with this text in place of every string, except under the keys `kept`."""
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [strings_replaced(one, text, kept=kept) for one in value]
    if isinstance(value, dict):
        return {key: one if key in kept else strings_replaced(one, text, kept=kept) for key, one in value.items()}
    return value
