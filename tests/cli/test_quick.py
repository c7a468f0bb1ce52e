"""`grader check NAME` by the spare process of an earlier check, without loading the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import processes
import pytest
from courses import COURSE, REPOSITORY

from grader.cli.quick import Command, Terminal, done_by_spare, run_quickly
from grader.practice import spare

UNIT = "simple_attention"
LOADED = ("typer", "rich", "pydantic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A student's folder with the solution of unit 1, and one mistake. A spare process is started."""
    folder = tmp_path_factory.mktemp("quick") / "ada"
    folder.mkdir()
    text = (REPOSITORY / "solutions" / f"{UNIT}.py").read_text(encoding="utf-8")
    (folder / f"{UNIT}.py").write_text(text.replace("return inputs @ query", "return 2 * inputs @ query"))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI")
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        spare.start("grader.cli.commands", COURSE.root)
        yield folder
        spare.stop()


def is_ready() -> bool:
    return any(b"address" in path.read_bytes() for path in spare._folder().glob("spare-*.json"))


def grader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as soon as the spare process is ready. Standard error lists what Python imports."""
    processes.until(is_ready)
    command = [sys.executable, "-X", "importtime", "-m", "grader", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the libraries that a command imported."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


def test_the_result_is_the_same_as_without_it_and_the_next_spare_process_draws_what_is_next(folder: Path) -> None:
    quick = grader(folder, "check", "attention_scores")
    slow = grader(folder, "check", "attention_scores", "--no-background")
    assert (quick.returncode, quick.stdout) == (slow.returncode, slow.stdout)
    assert quick.returncode == 1
    assert imported(slow).issuperset(LOADED)
    assert imported(quick).isdisjoint(LOADED)
    drawn = grader(folder, "show")
    assert drawn.stdout.startswith(f"{UNIT}\n  ✗ attention_scores ")
    assert imported(drawn).isdisjoint(LOADED)


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


# -- with a spare process that is only made ------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the spare process is asked for. It always answers that there is no such exercise."""
    asked: list[dict[str, Any]] = []

    def ask(_root: Path, message: dict[str, Any]) -> dict[str, Any]:
        asked.append(message)
        return {"code": 2, "error": "None."}

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(spare, "ask", ask)
    monkeypatch.setattr(spare, "start", lambda *_: None)
    return asked


def test_an_error_is_printed_and_is_the_exit_code(
    asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_quickly(["check", "no_such"]) == 2
    assert capsys.readouterr() == ("", "None.\n")
    assert [message["command"]["name"] for message in asked] == ["no_such"]


@pytest.mark.parametrize(
    "arguments", [["check", "--html", "page.html"], ["check", "--help"], ["check", "a", "b"], ["--version"], ["quiz"]]
)
def test_other_command_lines_are_left_to_the_whole_program(asked: list[dict[str, Any]], arguments: list[str]) -> None:
    assert run_quickly(arguments) is None
    assert asked == []


@pytest.mark.parametrize("option", ["into", "html", "picture"])
def test_a_file_that_is_named_is_written_by_the_command_itself_which_has_the_users_open_files(
    asked: list[dict[str, Any]], option: str
) -> None:
    named: dict[str, Any] = {option: "/dev/stdout"}
    command = Command("check", str(REPOSITORY), str(REPOSITORY), **named)
    assert done_by_spare(command, Terminal("utf-8", False, 80, None)) is None
    assert asked == []
