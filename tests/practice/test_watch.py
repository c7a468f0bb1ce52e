"""`grader watch`: in a real terminal, where a stub is edited and the verdict changes; and step by step."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pexpect
import processes
import pytest
import watchfiles
from courses import COURSE, REPOSITORY
from made_reports import exercise, report, unit
from rich.console import Console

from grader.cli import watch
from grader.cli.watch import Checked, Event, Pressed, Saved
from grader.engine.grading import Graded
from grader.practice.check import Answers

UNIT = "simple_attention"
EXERCISES = sum(len(one.exercises) for one in COURSE.units.values())
STUB = (REPOSITORY / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8")
SOLUTION = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
ENDLESS = STUB.replace("    raise NotImplementedError()", "    while True:\n        pass", 1)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """The stub of unit 1 in a student's repository."""
    shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "exercises" / f"{UNIT}.py"


@contextlib.contextmanager
def watching(answers: Path, *prefix: str) -> Iterator[pexpect.spawn]:
    """Run `grader watch` in a terminal; `prefix` is a command that runs another one."""
    command = [*prefix, sys.executable, "-m", "grader", "watch"]
    # A dumb terminal has no colours, so that what is printed can be compared.
    environment = {**os.environ, "TERM": "dumb"}
    terminal = pexpect.spawn(
        command[0], command[1:], cwd=answers.parent, env=environment, encoding="utf-8", dimensions=(40, 100)
    )
    terminal.timeout = processes.PATIENCE_SECONDS
    yield terminal
    terminal.close(force=True)


@pytest.fixture
def terminal(answers: Path) -> Iterator[pexpect.spawn]:
    """`grader watch`, after its first check."""
    with watching(answers) as terminal:
        verdict(terminal, "· dot_product", "not written yet")
        yield terminal


def verdict(terminal: pexpect.spawn, *lines: str) -> None:
    """Wait for the next screen, and expect these texts on it in this order."""
    terminal.expect_exact("q quit")
    screen = terminal.before
    for line in lines:
        assert line in screen
        screen = screen.partition(line)[2]


def test_the_verdict_changes_with_each_save_and_no_process_is_left(answers: Path, terminal: pexpect.spawn) -> None:
    answers.write_text(SOLUTION.replace("total + x * y", "total + x + y"), encoding="utf-8")
    verdict(terminal, "✗ dot_product", "yours is 3.2000", "Next: fix dot_product (exercises/simple_attention.py, line ")
    answers.write_text(SOLUTION, encoding="utf-8")
    verdict(terminal, "✓ dot_product                      5 of 5 rules tried", f"7 of {EXERCISES} exercises pass")
    answers.write_text(SOLUTION.replace("return inputs @ query", "return inputs @"), encoding="utf-8")
    verdict(terminal, "It is not valid Python", "✗ attention_scores")
    answers.write_text(SOLUTION, encoding="utf-8")
    verdict(terminal, "✓ attention_scores")
    pids = processes.descendants(terminal.pid)
    assert pids
    terminal.send("l")
    verdict(terminal, "simple_attention  7 of 7", "self_attention  0 of 6")
    terminal.send("n")
    verdict(terminal, "· project_qkv", "not written yet")
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 0
    processes.until_ended(pids)


def is_busy(pid: int) -> bool:
    """Return whether a process uses the processor, as one does in an endless loop."""
    return processes.status(pid).get("State", "").startswith("R")


# Runs a program that ignores the signal of Ctrl-C: Python can miss it.
IGNORING = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_save_while_a_check_hangs_starts_a_new_one_and_ctrl_c_quits(answers: Path) -> None:
    with watching(answers, sys.executable, "-c", IGNORING) as terminal:
        verdict(terminal, "· dot_product")
        answers.write_text(ENDLESS, encoding="utf-8")
        processes.until(lambda: any(is_busy(pid) for pid in processes.descendants(terminal.pid)))
        answers.write_text(SOLUTION, encoding="utf-8")
        verdict(terminal, "✓ dot_product")
        pids = processes.descendants(terminal.pid)
        assert pids
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        assert terminal.wait() == 0
        processes.until_ended(pids)


# Runs a program to which the system refuses to say when a file changes.
UNWATCHED = """\
import errno, os, sys
import pyseccomp
rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(getattr(errno, sys.argv[2])), sys.argv[1])
rules.load()
os.execv(sys.argv[3], sys.argv[3:])
"""


@pytest.mark.proof(part="students")
@pytest.mark.parametrize(("call", "error"), [("inotify_init1", "EMFILE"), ("inotify_add_watch", "ENOSPC")])
def test_the_watchers_own_error_is_shown_and_saves_are_seen_all_the_same(answers: Path, call: str, error: str) -> None:
    with watching(answers, sys.executable, "-c", UNWATCHED, call, error) as terminal:
        verdict(terminal, "Your files cannot be watched (", "· dot_product")
        answers.write_text(SOLUTION, encoding="utf-8")
        verdict(terminal, f"Saved {UNIT}.py; checking dot_product", "✓ dot_product")


# -- step by step, without a terminal and without an engine --------------------------------------------------------


def test_a_folder_that_the_system_does_not_watch_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Path, force_polling: bool | None, **_options: Any) -> Iterator[set[tuple[Any, str]]]:
        if not force_polling:
            raise OSError("too many watches")
        yield {(watchfiles.Change.modified, str(tmp_path / "a.py"))}

    (tmp_path / "a.py").touch()
    monkeypatch.setattr(watchfiles, "watch", refuse)
    events: list[Event] = []
    with watch.saves([tmp_path], {"a.py"}, events.append):
        processes.until(lambda: len(events) == 2)
    assert events == [
        watch.Unwatched("Your files cannot be watched (too many watches): they are read every 100 ms instead."),
        Saved(["a.py"]),
    ]


class Session:
    """A session of `grader watch` in a student's folder. Instead of an engine, a test says what a check finds."""

    def __init__(self, answers: Path) -> None:
        self.file = answers
        self.asked: list[tuple[Answers, Sequence[str]]] = []
        self.printed = io.StringIO()
        console = Console(file=self.printed, width=100, highlight=False)
        self._session = watch._WatchSession(COURSE, answers.parents[1], self, console)  # type: ignore[arg-type]
        self._session.begin()

    def check(self, answers: Answers, names: Sequence[str], drawn: Sequence[str] = ()) -> None:  # noqa: ARG002
        self.asked.append((answers, names))

    def save(self, text: str) -> str:
        self.file.write_text(text, encoding="utf-8")
        return self.react(Saved([self.file.name]))

    def finish(self, number: int = -1, **passed: bool) -> str:
        """End a check, by default the last one that was asked for. Exercises pass if they are not named."""
        answers, names = self.asked[number]
        exercises = {name: exercise(1, not passed.get(name, True)) for name in names}
        found = report({UNIT: unit(exercises)})
        return self.react(Checked(answers, names, Graded(found, None)))

    def react(self, event: Event) -> str:
        """Return what is printed."""
        start = self.printed.tell()
        assert self._session.react(event)
        return self.printed.getvalue()[start:]


@pytest.fixture
def session(answers: Path) -> Session:
    """A session after its first check."""
    session = Session(answers)
    assert [names for _, names in session.asked] == [["dot_product"]]
    assert "Checking dot_product …" in session.printed.getvalue()
    session.finish(dot_product=False)
    return session


def test_a_save_is_confirmed_at_once_and_no_key_hides_the_verdict(session: Session) -> None:
    assert session.save(ENDLESS) == f"Saved {UNIT}.py; checking dot_product …\n"
    hint, listed, later = [session.react(Pressed(key)) for key in "hln"]
    assert hint.startswith("dot_product: hint 1 of 3")
    assert listed.startswith(f"{UNIT}  0 of 7")
    assert hint.endswith("Checking dot_product …\n")
    assert listed.endswith("Checking dot_product …\n")
    assert later == "The next exercise follows this verdict.\n"
    shown = session.finish(dot_product=False)
    assert shown.index("✗ dot_product") < shown.index("Next: fix dot_product") < shown.index("Checking attention_scor")


def test_a_save_during_a_check_hides_no_verdict_either(session: Session) -> None:
    session.save(ENDLESS)
    last = "# TODO: Divide by the sum.\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert "checking normalize_by_sum, dot_product …" in session.save(
        ENDLESS.replace(last, "return scores / scores.sum()")
    )
    assert session.finish(-2) == ""  # it ended just before the newer one began
    shown = session.finish(dot_product=False)
    assert ("✗ dot_product" in shown, "✓ normalize_by_sum" in shown) == (True, True)


def test_a_save_without_a_change_is_confirmed_too_and_a_key_checks_again(session: Session) -> None:
    assert session.save(f"{STUB}\n# a comment\n") == f"Saved {UNIT}.py; no code that is checked has changed.\n"
    assert session.react(Pressed("r")) == "Checking dot_product …\n"
    assert session.asked[-1][1] == ["dot_product"]
