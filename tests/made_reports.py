"""Short reports for tests, courses for them, and texts that attack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from courses import SMALL_COURSE

from grader.course.model import Course, load_course
from grader.quizzes.items import mark
from grader.quizzes.quiz_source import QuizSource
from grader.reports.report_model import (
    NOT_WRITTEN,
    Change,
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
from grader.submissions.submission import missing_file


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


RIGHT_ANSWERS = {
    "order_of_terms": "b", "even_sums": "a c", "is_larger": "b", "mean_of_two": "2.75", "how_many_terms": "12",
    "sum_over_rows": "(4,)", "long_addition": "b c a d", "no_sum": "d",
}  # fmt: skip
"""All answers to the quiz of the small course, in its second variant."""


def marked(source: QuizSource, answers: Mapping[str, str], variant: int = 0, *, is_over: bool = True) -> Quiz:
    """The quiz of a source with these answers, none if it is not handed in; it has points only when it is over."""
    items = {}
    for name, item in source.items.items():
        raw = answers.get(name)
        found = mark(item, raw, variant, 1) if raw is not None and is_over else None
        items[name] = QuizItem(
            answered=raw is not None,
            points=(found.points if found else 0) if is_over else None,
            possible=item.points,
            problem=None,
            sentences=found.sentences if found else [],
            answer=None,
            explanation=None,
        )
    return Quiz(
        points=sum(one.points or 0 for one in items.values()) if is_over else None,
        possible=sum(one.possible for one in items.values()),
        summary=f"{len(answers)} of {len(items)} answered",
        variant=variant,
        remarks=[] if answers else [missing_file(source.unit, is_quiz=True)],
        items=items,
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


def made_course(
    root: Path,
    units: Mapping[str, Mapping[str, int]],
    due: str = "2025-01-01T00:00:00+00:00",
    rules: str = "",
    quizzes: Iterable[str] = (),
) -> Course:
    """A course of units with the weights of their exercises, some with the quiz of the small course; to be read only.

    `rules` is added to autograder.yml.
    """
    settings = SMALL_COURSE["autograder.yml"].partition("units:")[0]
    lines = ""
    (root / "solutions").mkdir(parents=True)
    for name, own in units.items():
        quiz = ", quiz: 1" if name in quizzes else ""
        lines += f"  {name}: {{title: {name.capitalize()}, due: {due}, exercises: {dict(own)}{quiz}}}\n"
        (root / "solutions" / f"{name}.py").write_text("".join(f"def {one}(a): ...\n" for one in own))
        (root / "solutions" / f"{name}_quiz.yml").write_text(SMALL_COURSE["solutions/sums_quiz.yml"])
    (root / "autograder.yml").write_text(f"{settings}{rules}units:\n{lines}", encoding="utf-8")
    return load_course(root)


LINK = re.compile(r"@\w|://|#\d|(?<![^\W_])(?:www\.|GH-\d)")
"""What GitHub turns into a link, though it is plain text."""
# What the grader itself writes, and no student can.
OURS = frozenset(
    {
        *("schema", "outcome", "kind", "suites", "feedback", "digest", "answers", "unit", "exercise", "student"),
        *("started", "commit"),
    }
)
ATTACKS = [
    "::set-output name=points::100",
    "word\n::error::forged\r\n::add-mask::a\n  ::stop-commands::x\n##[add-mask]b\nword",
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href='https://a.example'>a</a><!-- ",
    "</details></summary></code></table></blockquote><h1>100 of 100</h1>",
    "</title></style></svg></details></section><h1>100 of 100</h1>",
    '" onload="alert(1)" x="',
    "{{ 7 * 7 }}{% raw %}",
    "[a](https://a.example) ![b](https://b.example/c.png) <https://c.example> [d]: https://d.example",
    "@ada @class/team ada@b.example #1 GH-1 https://a.example www.a.example",
    "```\n| a | b |\n|---|---|\n| c | d |\n\n# heading\n- item\n1. item\n> quote\n~~~",
    "` `` ``` a|b \\| \\` `",
    "$`\\href{https://a.example}{a}`$ $$x$$",
    "\x1b[31mred\x1b[0m \u202eevil\u2066 \x00 \u2028::error::a \x85::error::b",
    "name<<END\nforged=1\nEND\nrunners=forged",
    "a_www.a.example _GH-1 (www.a.example",
    "[bold]a[/] [/] \\[red]b [link=https://a.example]c[/link]",
]
WHOLE = report(
    {
        "sums": unit(
            {
                "total": exercise(1, 2, mistake="word", remarks=["word"]),
                "mean": exercise(0, 1, reason="word"),
                "mode": exercise(0, 1, waiting_for="word"),
            },
            remarks=["word"],
            quiz=quiz(2, 4, problem="word", remarks=["word"], sentences=["word"], answer="word", explanation="word"),
        ).model_copy(
            update={
                "changes": [
                    Change(kind="adjustment", points=-1.0, reason="word", exercise=None, by="word"),
                    Change(kind="comment", points=0, reason="word", exercise="total", by="word"),
                ]
            }
        ),
        "lost": unit({"gone": exercise(0, 1)}, path=None, remarks=["word"]),
    },
    [
        raised("total", "word", 3),
        raised(None, "word", 4),
        *(
            Message(unit="sums", exercise=None, kind=kind, text="word", file="word", line=5)
            for kind in ("printed", "attempted")
        ),
    ],
)


def with_text(text: str) -> Report:
    """A report in which every text that a student or an instructor can write is this one."""
    replaced = _replaced(WHOLE.model_dump(by_alias=True), text)
    for name, made in replaced["units"].items():
        # Digests; the keys have texts elsewhere.
        made |= {digest: getattr(WHOLE.units[name], digest) for digest in ("tests", "key")}
    for message in replaced["messages"]:
        message["text"] = f"{text} {text}"  # as for an error: the reason of its test, and the text of the error
    return Report.model_validate(replaced)


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [_replaced(one, text) for one in value]
    if isinstance(value, dict):
        return {key: one if key in OURS else _replaced(one, text) for key, one in value.items()}
    return value
