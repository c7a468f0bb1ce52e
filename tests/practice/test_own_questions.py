"""A question on the student's own code, after an exercise passes."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import courses
import pytest
from courses import REPOSITORY
from rich.console import Console

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


# -- a real terminal -------------------------------------------------------------------------------------------------

PROMPT = b"[Enter to skip]"
CheckIn = Callable[..., tuple[subprocess.Popen[bytes], int]]


@pytest.fixture
def check(tmp_path: Path) -> Iterator[CheckIn]:
    """Starts `grader check` of an exercise that passes in a terminal, and returns the process and our side of it."""
    pty = pytest.importorskip("pty")
    (tmp_path / "exercises").mkdir()
    shutil.copy(REPOSITORY / "solutions" / "causal_attention.py", tmp_path / "exercises")
    ours, theirs = pty.openpty()
    started: list[subprocess.Popen[bytes]] = []

    def check(**environment: str) -> tuple[subprocess.Popen[bytes], int]:
        known = {name: value for name, value in os.environ.items() if name != "CI"}
        process = subprocess.Popen(
            courses.grader_command("check", "causal_mask", "--course", REPOSITORY),
            cwd=tmp_path,
            env={**known, "TERM": "xterm", **environment},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        started.append(process)
        return process, ours

    yield check
    for process in started:
        process.kill()
        process.wait()
    os.close(ours)


def read_until(terminal: int, *ends: bytes) -> str:
    """Return what the terminal shows until one of these texts, or until the program ends."""
    shown = b""
    while not any(end in shown for end in ends):
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # on Linux, when the other side is closed
            break
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode("utf-8", "replace")).split())


def test_a_wrong_answer_gets_the_answer_and_the_explanation(check: CheckIn) -> None:
    process, terminal = check()
    text = read_until(terminal, PROMPT)
    assert "1 of 1 exercise passes the visible tests." in text
    assert "A question on your own code: How many entries of your causal_mask(5) are True?" in text
    os.write(terminal, b"15\n")
    assert "No: your code gives 10. 4 + 3 + 2 + 1 + 0 = 10" in read_until(terminal)
    assert process.wait() == 0


def test_nothing_is_asked_where_ci_is_set(check: CheckIn) -> None:
    process, terminal = check(CI="true")
    text = read_until(terminal)
    assert "1 of 1 exercise passes the visible tests." in text
    assert "A question" not in text
    assert process.wait() == 0
