"""What is in work, and for how long: a bar in a terminal, and lines in a log."""

from __future__ import annotations

import re
import sys

import pexpect
import pytest
from courses import REPOSITORY, without_seconds
from processes import until

from grader.cli import console
from grader.cli.console import progress

IN_A_TERMINAL = """\
from grader.cli.console import progress
with progress(3, "grading") as shown:
    for name in ("[ada]", "bela", "chen"):
        shown.begin(name)
    shown.advance("bela", "graded")
    input()
"""


@pytest.fixture(autouse=True)
def in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)


def test_a_log_has_a_line_for_each_that_is_done_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(4, "grading") as found:
        found.begin("ada")
        found.begin("bela")
        found.advance("ada", "graded")
        found.advance("[chen]", "skipped")  # never in work
        found.advance("bela", "could not grade", 2)
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"graded ada in \d+ s \(1 of 4\)", lines[0])
    assert [without_seconds(line) for line in lines] == [
        "graded ada (1 of 4)",
        "skipped [chen] (2 of 4)",
        "could not grade bela (4 of 4)",
    ]


def test_a_log_that_was_silent_says_what_is_in_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SILENT_SECONDS", 0.01)
    with progress(9, "grading") as found:
        for number in range(6):
            found.begin(f"student-{number}")
        text = until(lambda: capsys.readouterr().err)
    first = " ".join(f"student-{number} (0 s)," for number in range(4)).removesuffix(",")
    assert text.splitlines()[0] == f"still grading {first} and 2 more"


def test_a_log_says_nothing_of_what_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SILENT_SECONDS", 0.01)
    with progress(2, "grading") as found:
        found.begin("ada")
        found.begin("bela")
        found.advance("ada", "graded")
        text = until(lambda: re.findall("still .*", capsys.readouterr().err))
    assert text[-1] == "still grading bela (0 s)"


def test_a_terminal_has_a_bar_with_the_names_in_work() -> None:
    terminal = pexpect.spawn(sys.executable, ["-c", IN_A_TERMINAL], cwd=REPOSITORY, dimensions=(24, 120))
    terminal.expect(r"grading .*1/3.* \[ada\] \(\d+ s\), chen \(\d+ s\)")
    terminal.sendline("")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
