"""`grader watch` in a real terminal: a stub is edited, and the verdict changes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import processes
import pytest
from courses import REPOSITORY

UNIT = "simple_attention"
STUB = (REPOSITORY / "exercises" / f"{UNIT}.py").read_text(encoding="utf-8")
SOLUTION = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
ENDLESS = STUB.replace("    raise NotImplementedError()", "    while True:\n        pass", 1)


class Terminal:
    """A program in a pseudo-terminal, with what it has printed so far."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.controller, terminal = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C reaches it
        )
        os.close(terminal)
        self.printed = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while text := os.read(self.controller, 2**16):
                self.printed += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode("utf-8", "replace"))
        except OSError:  # the program has ended
            pass

    def until(self, *wanted: str) -> None:
        """Wait until all of these were printed, and forget what was printed."""
        try:
            processes.until(lambda: all(text in self.printed for text in wanted))
        except AssertionError:
            raise AssertionError(f"{wanted} was not printed: {self.printed}") from None
        self.printed = ""

    def press(self, key: str) -> None:
        os.write(self.controller, key.encode())


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """The stub of unit 1 in a student's repository."""
    shutil.copytree(REPOSITORY / "exercises", tmp_path / "exercises", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "exercises" / f"{UNIT}.py"


@pytest.fixture
def terminal(answers: Path) -> Iterator[Terminal]:
    """`grader watch`, after its first check."""
    terminal = Terminal([sys.executable, "-m", "grader", "watch"], answers.parent)
    terminal.until("· dot_product", "not written yet", "q quit")
    yield terminal
    terminal.process.kill()
    terminal.process.wait()
    os.close(terminal.controller)


def test_the_verdict_changes_with_each_save_and_no_process_is_left(answers: Path, terminal: Terminal) -> None:
    answers.write_text(SOLUTION.replace("total + x * y", "total + x + y"), encoding="utf-8")
    terminal.until("✗ dot_product", "Next: fix dot_product (exercises/simple_attention.py, line ", "q quit")
    answers.write_text(SOLUTION, encoding="utf-8")
    terminal.until("✓ dot_product                      5 of 5 rules tried", "7 of 53 exercises pass", "q quit")
    answers.write_text(SOLUTION.replace("return inputs @ query", "return inputs @"), encoding="utf-8")
    terminal.until("It is not valid Python", "✗ attention_scores", "q quit")
    answers.write_text(SOLUTION, encoding="utf-8")
    terminal.until("✓ attention_scores", "q quit")
    pids = processes.descendants(terminal.process.pid)
    assert pids
    terminal.press("l")
    terminal.until("simple_attention  7 of 7", "self_attention  0 of 6")
    terminal.press("n")
    terminal.until("· project_qkv", "not written yet", "q quit")
    terminal.press("q")
    assert terminal.process.wait(processes.PATIENCE_SECONDS) == 0
    processes.until_ended(pids)


def test_a_save_while_a_check_hangs_starts_a_new_one(answers: Path, terminal: Terminal) -> None:
    answers.write_text(ENDLESS, encoding="utf-8")
    processes.until(lambda: any(_is_busy(pid) for pid in processes.descendants(terminal.process.pid)))
    answers.write_text(SOLUTION, encoding="utf-8")
    terminal.until("✓ dot_product", "q quit")
    assert "Stopped after" not in terminal.printed


def _is_busy(pid: int) -> bool:
    """Return whether a process runs student code: it was renamed by nobody and uses the processor."""
    return processes.status(pid).get("State", "").startswith("R")


def test_ctrl_c_quits(terminal: Terminal) -> None:
    pids = processes.descendants(terminal.process.pid)
    terminal.press("\x03")
    assert terminal.process.wait(processes.PATIENCE_SECONDS) == 0
    processes.until_ended(pids)
