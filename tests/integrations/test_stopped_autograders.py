"""A signal that stops an autograder, while it starts another program and while it waits for one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import grader.integrations

TEMPLATES = Path(grader.integrations.__file__).parent / "release" / "templates"
SIGNALLED = """
import os, runpy, subprocess, sys, time

script, sys.executable, moment, number = sys.argv[1:]
owner, name = {"start": (subprocess.Popen, "__init__"), "wait": (time, "sleep")}[moment]
original = getattr(owner, name)

def then_signalled(*arguments, **options):
    original(*arguments, **options)
    if os.path.exists("begun"):
        with open("begun"):
            os.remove("begun")
        os.kill(os.getpid(), int(number))

setattr(owner, name, then_signalled)
runpy.run_path(script, run_name="__main__")
"""
"""Runs a script and sends it one signal, when the program that it starts has opened the FIFO `begun`."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["start", "wait"])
@pytest.mark.parametrize("template", ["classroom50/autograder.py", "gradescope/run_autograder.py"])
def test_it_leaves_no_process_and_no_folder(template: str, moment: str, number: int, tmp_path: Path) -> None:
    script, temporary, begun = tmp_path / Path(template).name, tmp_path / "temporary", tmp_path / "begun"
    shutil.copy(TEMPLATES / template, script)
    for folder in ("results", "source", "temporary", "venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "grader.whl").touch()
    os.mkfifo(begun)
    program = tmp_path / "venv" / "bin" / "python"
    program.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/number\n: >{begun}\nexec tail -f /dev/null\n", encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(temporary), "USERNAME": "chen"}
    command = [sys.executable, "-c", SIGNALLED, str(script), str(program), moment, str(number)]
    done = subprocess.run(command, cwd=tmp_path, env=environment)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text("utf-8")), signal.SIGKILL)
    assert done.returncode == 128 + number
    assert not [*temporary.iterdir(), *(tmp_path / "results").iterdir()]
