"""The spare process, with a program that replies with what it was sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import processes
import pytest

from grader.practice import spare

PROGRAM = """
import os, sys, threading
from pathlib import Path
from grader.practice import spare

spare.LIFE_SECONDS = {life}


def reply_to(message):
    if "asked" in message:  # hang
        Path(message["asked"]).touch()
        threading.Event().wait()
    return message | {{"pid": os.getpid(), "folder": os.getcwd()}}


spare.serve(Path(sys.argv[2]), lambda: reply_to)
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module `echo`, a folder for key files of its own, and no process and no temporary file at the end."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(temporary))
    path = tmp_path / "echo.py"
    path.write_text(PROGRAM.format(life=300))
    yield path
    pids = spares(tmp_path)
    spare.stop()
    processes.until_ended(pids)
    assert not list(temporary.iterdir())


def key_file() -> Path | None:
    return next(spare._folder().glob("spare-*.json"), None)


def started(root: Path) -> Path:
    """Start a spare process, and return its key file as soon as it can be used."""
    spare.start("echo", root)
    path = processes.until(with_an_address)
    assert path
    return path


def with_an_address() -> Path | None:
    path = key_file()
    return path if path and "address" in json.loads(path.read_text() or "{}") else None


def spares(root: Path) -> list[int]:
    """Return the spare processes of this course."""
    lines = {path.parent.name: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")}
    return [int(pid) for pid, line in lines.items() if str(root).encode() in line.split(b"\0")]


def test_it_serves_one_message_in_a_folder_that_nobody_needs_and_ends(tmp_path: Path) -> None:
    assert started(tmp_path).stat().st_mode & 0o777 == 0o600  # only the user can read its key
    spare.start("echo", tmp_path)
    assert len(spares(tmp_path)) == 1  # one for a course, however often it is started
    reply = spare.ask(tmp_path, {"one": 1})
    assert reply
    assert reply["one"] == 1
    assert not Path(reply["folder"]).is_relative_to(tmp_path)
    processes.until_ended([reply["pid"]])
    assert spare.ask(tmp_path, {"two": 2}) is None


@pytest.mark.parametrize("is_ready", [True, False])
def test_stop_ends_it_also_when_it_has_just_started(tmp_path: Path, is_ready: bool) -> None:
    if is_ready:
        started(tmp_path)
    else:
        spare.start("echo", tmp_path)
    pids = processes.until(lambda: spares(tmp_path))  # a process has no command line for an instant
    assert len(pids) == 1
    assert spare.stop() == 1
    processes.until_ended(pids)
    assert spare.stop() == 0


def test_it_ends_when_nobody_has_used_it_for_its_lifetime(tmp_path: Path, program: Path) -> None:
    program.write_text(PROGRAM.format(life=0))
    spare.start("echo", tmp_path)
    assert key_file()
    processes.until(lambda: key_file() is None)
    processes.until_ended(spares(tmp_path))


def test_it_is_ended_and_not_used_when_the_course_has_changed(tmp_path: Path) -> None:
    started(tmp_path)
    pids = spares(tmp_path)
    (tmp_path / "autograder.yml").touch()
    assert spare.ask(tmp_path, {}) is None
    processes.until_ended(pids)


USER = """
import sys
from pathlib import Path
from grader.practice import spare

spare.ask(Path(sys.argv[1]), {"asked": sys.argv[2]})
"""


def test_it_ends_with_the_program_that_uses_it(tmp_path: Path) -> None:
    started(tmp_path)
    pids, asked = spares(tmp_path), tmp_path / "asked"
    user = subprocess.Popen([sys.executable, "-c", USER, str(tmp_path), str(asked)])
    processes.until(asked.exists)
    user.kill()
    user.wait()
    processes.until_ended(pids)


def test_a_key_file_of_a_process_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    started(tmp_path)
    pids = spares(tmp_path)
    for pid in pids:
        os.kill(pid, 9)
    processes.until_ended(pids)
    assert spare.ask(tmp_path, {}) is None
    started(tmp_path)
    assert spare.ask(tmp_path, {"again": 1})
