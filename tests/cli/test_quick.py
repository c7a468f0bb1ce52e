"""`grader check NAME` by the spare process of an earlier check, without loading the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import processes
import pytest
from courses import COURSE, REPOSITORY

from grader.cli.quick import run_quickly
from grader.practice import spare

UNIT = "simple_attention"
LOADED = ("typer", "rich", "pydantic")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A student's folder with the solution of unit 1, and one mistake. The spare process is ready."""
    monkeypatch.delenv("CI")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / f"{UNIT}.py").write_text(text.replace("return inputs @ query", "return 2 * inputs @ query"))
    spare.start("grader.cli.commands", COURSE.root)
    yield folder
    spare.stop()


def is_ready() -> bool:
    return any(b"address" in path.read_bytes() for path in spare._folder().glob("spare-*.json"))


def grader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as soon as the spare process is ready. Standard error lists what Python imports."""
    processes.until(is_ready)
    command = [sys.executable, "-X", "importtime", "-m", "grader", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the libraries that a command imported."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(("exercise", "code"), [("dot_product", 0), ("attention_scores", 1), ("no_such", 2)])
def test_the_result_is_the_same_as_without_it(folder: Path, exercise: str, code: int) -> None:
    quick = grader(folder, "check", exercise)
    slow = grader(folder, "check", exercise, "--no-background")
    assert (quick.returncode, quick.stdout) == (slow.returncode, slow.stdout)
    assert quick.returncode == code
    assert imported(slow).issuperset(LOADED)
    if code != 2:  # printing what is wrong needs the terminal's library
        assert imported(quick).isdisjoint(LOADED)


def test_what_is_next_is_drawn_without_a_name(folder: Path) -> None:
    quick = grader(folder, "show")
    assert quick.stdout.startswith(f"{UNIT}\n  ✗ attention_scores ")
    assert imported(quick).isdisjoint(LOADED)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_file_that_is_named_is_written_by_the_command_itself_which_has_the_users_open_files(folder: Path) -> None:
    done = grader(folder, "check", "dot_product", "--html", "/dev/stdout")
    assert done.stdout.startswith("<!doctype html>")
    assert is_ready()  # it was not used


def test_in_a_terminal_it_prints_in_colours_and_asks_a_question(folder: Path) -> None:
    processes.until(is_ready)
    environment = os.environ | {"TERM": "xterm-256color"}
    command = ["-m", "grader", "check", "attention_scores"]
    shutil.copy(REPOSITORY / "solutions" / f"{UNIT}.py", folder)
    terminal = pexpect.spawn(sys.executable, command, cwd=folder, env=environment, encoding="utf-8")
    terminal.timeout = processes.PATIENCE_SECONDS
    terminal.expect_exact("\x1b[32m✓\x1b[0m attention_scores")
    terminal.expect_exact("A question on your own code:")
    terminal.expect_exact("[Enter to skip]")
    terminal.sendline()
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 0


@pytest.mark.parametrize("arguments", [["check", "--html", "page.html"], ["check", "a", "b"], ["--version"], ["quiz"]])
@pytest.mark.usefixtures("folder")
def test_other_command_lines_are_left_to_the_whole_program(arguments: list[str]) -> None:
    processes.until(is_ready)
    assert run_quickly(arguments) is None
    assert is_ready()
