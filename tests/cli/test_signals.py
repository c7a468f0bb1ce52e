"""SIGTERM, Ctrl-C and a closed terminal end a command as a shell expects it, and leave nothing half written behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import courses
import pytest
from processes import descendants, until, until_ended

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
ENDLESS = RIGHT.replace("    hidden_in", "    while True:\n        pass\n    hidden_in")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
TERMINAL_CLOSED = getattr(signal, "SIGHUP", signal.SIGTERM)
STOPPED = (signal.SIGTERM, 143), (signal.SIGINT, 130)


@pytest.fixture(autouse=True)
def ctrl_c_arrives() -> Iterator[None]:
    """Handle Ctrl-C even if the tests ignore it because they run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Waits in the middle of a file, as long as nothing is sent to it.
WRITES = """\
import os, pathlib, sys
import typer
from grader.cli.console import Program, run, write_named
os.fsync = lambda _: print("writing", flush=True) or sys.stdin.read()
app = typer.Typer(cls=Program)
app.command("write")(lambda: write_named(pathlib.Path("grades.csv"), "new", "--out"))
app.callback()(lambda: None)
run(app)
"""


def writing(folder: Path, *before: str) -> subprocess.Popen[bytes]:
    """Start a program that is in the middle of a file."""
    command = [*before, sys.executable, "-c", WRITES, "write"]
    program = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout
    assert program.stdout.readline() == b"writing\n"
    return program


@pytest.mark.parametrize(("number", "code"), [*STOPPED, (TERMINAL_CLOSED, 129)])
def test_a_file_that_is_being_written_stays_as_it_was(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "grades.csv").write_text("old")
    with writing(tmp_path) as program:
        program.send_signal(number)
        assert program.wait() == code
    assert [path.name for path in tmp_path.iterdir()] == ["grades.csv"]
    assert (tmp_path / "grades.csv").read_text() == "old"


def test_with_nohup_it_goes_on_without_the_terminal(tmp_path: Path) -> None:
    with writing(tmp_path, "nohup") as program:
        program.send_signal(TERMINAL_CLOSED)
        program.communicate()
    assert program.returncode == 0
    assert (tmp_path / "grades.csv").read_text() == "new"


# Waits for a process of its own that never ends, as a release and an audit wait for theirs.
COMPUTES = """\
import concurrent.futures, multiprocessing, os
import typer
from grader.cli.console import Program, run
def compute():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        endless = [pool.submit(exec, "while True: pass") for _ in range(2)]
        print("computing", flush=True)
        endless[0].result()
app = typer.Typer(cls=Program)
app.command("compute")(compute)
app.callback()(lambda: None)
run(app)
"""


@pytest.mark.parametrize(("number", "code"), STOPPED)
def test_a_process_that_computes_is_ended_and_not_waited_for(number: signal.Signals, code: int) -> None:
    command = [sys.executable, "-c", COMPUTES, "compute"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout
        assert program.stdout.readline() == b"computing\n"
        if number == signal.SIGINT:  # a terminal sends it to all processes
            os.killpg(program.pid, number)
        else:
            program.send_signal(number)
        assert program.wait() == code


def test_a_class_that_is_being_graded_keeps_its_reports(
    small_course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    courses.hand_in(tmp_path / "class" / "ada", RIGHT)
    courses.hand_in(tmp_path / "class" / "bob", ENDLESS)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    command = courses.grader_command("grade", tmp_path / "class", "--out", tmp_path / "reports", "--jobs", "2")
    with subprocess.Popen(
        command,
        cwd=small_course,
        env=courses.environment(small_course),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stderr
        assert any(line.startswith("graded ada") for line in program.stderr)
        processes = descendants(program.pid)
        assert processes
        program.send_signal(signal.SIGTERM)
        assert program.wait() == 143
    until_ended(processes)
    files = sorted(path.relative_to(tmp_path / "reports").as_posix() for path in (tmp_path / "reports").rglob("*"))
    assert files == ["ada.json", "instructor", "instructor/ada.pytest.json"]
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.proof(part="releases")
@pytest.mark.parametrize(("number", "code"), STOPPED)
def test_a_release_that_is_being_written_leaves_no_folder(tmp_path: Path, number: signal.Signals, code: int) -> None:
    command = courses.grader_command("release", "gradescope", tmp_path / "out" / "release")
    with subprocess.Popen(
        command, cwd=courses.REPOSITORY, env=courses.environment(courses.REPOSITORY), start_new_session=True
    ) as program:
        until(lambda: list((tmp_path / "out").glob(".release.*")))
        program.send_signal(number)
        assert program.wait() == code
    assert not list((tmp_path / "out").iterdir())
