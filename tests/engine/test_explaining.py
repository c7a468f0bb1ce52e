"""No point depends on an explanation: if one cannot be given, each test keeps its own outcome."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from courses import COURSE, REPOSITORY

from grader.engine import plugin, runner
from grader.engine.criteria import Criterion
from grader.engine.engine_client import Engine
from grader.engine.grading_processes import LimitExceeded
from grader.engine.outcomes import Outcome
from grader.engine.runner import Runner
from grader.engine.source_lines import SourceLines
from grader.reports.report_model import Result
from grader.sandbox.processes import ForkServer
from grader.submissions.submission import Submission, UnitSource, UnitSubmission
from grader.testing.student import Student

UNIT, EXERCISE = next((unit, next(iter(one.exercises))) for unit, one in COURSE.units.items())
STRAY, UNREAD = "my_note_here\n", "x = (1\n"
RIGHT = "def f():\n    return 1\n"
WRONG = "def f():\n    return nothing\n"
STEPS = ("hint_for_statement", "lacks_import", "explained", "advice", "hint_on_characters")


@pytest.mark.parametrize(
    "deep",
    [
        "if " + "1+" * 400 + "1 == 5: pass",
        "if __name__ == 'me' and " + "1+" * 400 + "1: pass",
        "y = STRAY" + ".a()" * 200,
        "y = not_there(" + "[" * 80 + "]" * 80 + ")",
        "if 0: pass\n" + "elif 0: pass\n" * 300,
    ],
)
def test_code_that_is_nested_deeply_costs_no_point(engine: Engine, deep: str) -> None:
    solution = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    answer = UnitSubmission(UnitSource(f"{UNIT}.py", (f"{solution}\n{deep}\n{STRAY}",)))
    [(_, result)] = engine.turns(1).all([Submission("ada", None, {UNIT: answer})])
    assert isinstance(result, Result)
    assert [(one.name, one.reason) for one in result.outcomes if not one.passed] == []


def criterion_of(student: Student) -> None:
    student.f()


CRITERION = Criterion(UNIT, EXERCISE, "calls_f", "", (), criterion_of, COURSE.version)


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Make each step of an explanation raise this error."""

    def breaks(error: Exception) -> None:
        def step(*_: object) -> None:
            raise error

        for name in STEPS:
            monkeypatch.setattr(runner, name, step)
        monkeypatch.setattr(SourceLines, "needing_newer_python", step)

    return breaks


@pytest.mark.parametrize(
    ("source", "kind", "reason", "messages"),
    [
        (RIGHT, "passed", "", ["not run", "not run"]),
        (WRONG, "raised", "It raised a NameError.", ["not run", "not run", "raised"]),
    ],
)
def test_without_an_explanation_each_test_keeps_its_outcome_and_the_messages_are_there(
    server: ForkServer, breaks: Callable[[Exception], None], source: str, kind: str, reason: str, messages: list[str]
) -> None:
    breaks(RecursionError())
    graded = Runner(COURSE, server, {UNIT: UnitSource(f"{UNIT}.py", (f"{STRAY}{source}{UNREAD}",))})
    with closing(graded.client):
        graded.run(CRITERION)
    outcome = graded.outcomes[CRITERION]
    assert (outcome.kind, outcome.reason) == (kind, reason)
    assert [one.kind for one in graded.messages] == messages


def test_a_limit_of_the_grading_process_applies_to_explanations(
    server: ForkServer, breaks: Callable[[Exception], None]
) -> None:
    breaks(LimitExceeded("It took too long."))
    graded = Runner(COURSE, server, {UNIT: UnitSource(f"{UNIT}.py", (WRONG,))})
    with closing(graded.client), pytest.raises(LimitExceeded):
        graded.run(CRITERION)


@pytest.mark.parametrize("known", [{}, {CRITERION: Outcome(True)}])
def test_a_limit_of_the_grading_process_applies_after_the_outcome_too(known: dict[Criterion, Outcome]) -> None:
    def run() -> None:
        raise LimitExceeded("It took too long.")

    config = SimpleNamespace(stash={plugin.RUNNER: SimpleNamespace(outcomes=known)})
    item: Any = SimpleNamespace(obj=criterion_of, stash={plugin.CRITERION: CRITERION}, config=config)
    with pytest.raises(LimitExceeded):
        next(plugin.pytest_runtest_makereport(item, pytest.CallInfo.from_call(run, when="call")))
