"""`grader watch` in a real terminal: a stub is edited, and the verdict changes."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import processes
import pytest
from courses import REPOSITORY

UNIT = "simple_attention"
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
    verdict(terminal, "✓ dot_product                      5 of 5 rules tried", "7 of 55 exercises pass")
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


def test_a_save_while_a_check_hangs_starts_a_new_one(answers: Path, terminal: pexpect.spawn) -> None:
    answers.write_text(ENDLESS, encoding="utf-8")
    processes.until(lambda: any(is_busy(pid) for pid in processes.descendants(terminal.pid)))
    answers.write_text(SOLUTION, encoding="utf-8")
    verdict(terminal, "✓ dot_product")


def test_a_save_is_confirmed_at_once_and_no_key_hides_the_verdict(answers: Path, terminal: pexpect.spawn) -> None:
    answers.write_text(ENDLESS, encoding="utf-8")
    terminal.expect_exact(f"Saved {UNIT}.py; checking dot_product …")
    terminal.send("hln")
    terminal.expect_exact("dot_product: hint 1 of 3")
    terminal.expect_exact("Checking dot_product …")
    terminal.expect_exact(f"{UNIT}  0 of 7")
    terminal.expect_exact("Checking dot_product …")
    verdict(terminal, "The next exercise follows this verdict.", "✗ dot_product", "Is there a loop that never ends?")
    verdict(terminal, "Checking attention_scores …", "· attention_scores")


def test_a_save_during_a_check_hides_no_verdict_either(answers: Path, terminal: pexpect.spawn) -> None:
    answers.write_text(ENDLESS, encoding="utf-8")
    terminal.expect_exact("checking dot_product …")
    last = "# TODO: Divide by the sum.\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    answers.write_text(ENDLESS.replace(last, "return scores / scores.sum()"), encoding="utf-8")
    verdict(terminal, "checking normalize_by_sum, dot_product …", "✗ dot_product", "✓ normalize_by_sum")


def test_a_save_without_a_change_is_confirmed_too_and_a_key_checks_again(
    answers: Path, terminal: pexpect.spawn
) -> None:
    answers.write_text(f"{STUB}\n# a comment\n", encoding="utf-8")
    terminal.expect_exact(f"Saved {UNIT}.py; no code that is checked has changed.")
    terminal.send("r")
    verdict(terminal, "Checking dot_product …", "· dot_product")


# Runs a program to which the system refuses to say when a file changes.
UNWATCHED = """\
import errno, os, sys
import pyseccomp
rules = pyseccomp.SyscallFilter(defaction=pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(getattr(errno, sys.argv[2])), sys.argv[1])
rules.load()
os.execv(sys.argv[3], sys.argv[3:])
"""


@pytest.mark.parametrize(("call", "error"), [("inotify_init1", "EMFILE"), ("inotify_add_watch", "ENOSPC")])
def test_the_watchers_own_error_is_shown_and_saves_are_seen_all_the_same(answers: Path, call: str, error: str) -> None:
    with watching(answers, sys.executable, "-c", UNWATCHED, call, error) as terminal:
        verdict(terminal, "Your files cannot be watched (", "· dot_product")
        answers.write_text(SOLUTION, encoding="utf-8")
        verdict(terminal, f"Saved {UNIT}.py; checking dot_product", "✓ dot_product")


def is_busy(pid: int) -> bool:
    """Return whether a process uses the processor, as one does in an endless loop."""
    return processes.status(pid).get("State", "").startswith("R")


# Runs a program that ignores the signal of Ctrl-C: Python can miss it.
IGNORING = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_ctrl_c_quits(answers: Path) -> None:
    with watching(answers, sys.executable, "-c", IGNORING) as terminal:
        verdict(terminal, "· dot_product")
        pids = processes.descendants(terminal.pid)
        assert pids
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
        assert terminal.wait() == 0
        processes.until_ended(pids)
