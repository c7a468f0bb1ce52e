"""A question on the student's own code, after an exercise passes."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import courses
import pexpect
import processes
import pytest
from courses import REPOSITORY
from rich.console import Console

from grader.cli.console import can_ask
from grader.practice.exercise_help import answers, ask, right_answer
from grader.testing.drawings import OwnQuestion

NUMBER = OwnQuestion("softmax", "number", "How many times?", 2.71828, "e", decimals=2)
WHOLE = OwnQuestion("mask", "number", "How many?", 10.0, "4 + 3 + 2 + 1")
SHAPE = OwnQuestion("scores", "shape", "What shape?", [2, 4], "B, T")
CHOICE = OwnQuestion("weights", "one_choice", "Which?", "journey", "It is long.", ["Your", "journey"])


@pytest.mark.parametrize(
    ("question", "typed", "is_right"),
    [
        (NUMBER, "2.72", True),
        (NUMBER, "2.7183", True),
        (NUMBER, "2.7", False),
        (WHOLE, "10", True),
        (WHOLE, "11", False),
        (SHAPE, "(2, 4)", True),
        (SHAPE, "torch.Size([2, 4])", True),
        (SHAPE, "(4, 2)", False),
        (CHOICE, "B", True),
        (CHOICE, "a", False),
    ],
)
def test_an_answer_is_right_if_it_is_what_the_code_gave(question: OwnQuestion, typed: str, is_right: bool) -> None:
    assert answers(question, typed) is is_right


def test_the_right_answer_is_written_as_it_is_asked_for() -> None:
    assert [right_answer(one) for one in (NUMBER, WHOLE, SHAPE, CHOICE)] == ["2.72", "10", "(2, 4)", '"journey"']


def test_what_cannot_be_read_is_asked_again_and_a_question_can_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    typed, printed = iter(["many", ""]), io.StringIO()
    monkeypatch.setattr("builtins.input", lambda: next(typed))
    ask([WHOLE], Console(file=printed, width=80))
    assert "'many' is not a number" in printed.getvalue()
    assert "No:" not in printed.getvalue()


def test_nobody_is_asked_where_ci_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    found = []
    for environment in ({}, {"CI": "true"}):
        monkeypatch.setattr(os, "environ", environment)
        found.append(can_ask(Console(file=io.StringIO(), force_terminal=True)))
    assert found == [True, False]


def test_in_a_terminal_a_wrong_answer_gets_the_answer_and_the_explanation(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    shutil.copy(REPOSITORY / "solutions" / "causal_attention.py", tmp_path / "exercises")
    program, *arguments = courses.grader_command("check", "causal_mask", "--course", REPOSITORY)
    environment = {**os.environ, "TERM": "dumb"}
    environment.pop("CI", None)
    terminal = pexpect.spawn(program, arguments, cwd=tmp_path, env=environment, encoding="utf-8")
    terminal.timeout = processes.PATIENCE_SECONDS
    terminal.expect_exact("1 of 1 exercise passes the visible tests.")
    terminal.expect(r"A question on your own code: How many entries of your\s+causal_mask\(5\)\s+are\s+True\?")
    terminal.expect_exact("[Enter to skip]")
    terminal.sendline("15")
    terminal.expect(r"No: your code gives 10\.\s+4\s\+\s3\s\+\s2\s\+\s1\s\+\s0\s=\s10")
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 0
