"""Installs the grader and what it needs into .venv, in the versions of requirements.lock, and says what it does.

`make` runs it: python3 install.py TORCH INDEX. It imports only what every Python has.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = Path(".venv")
PYTHON = VENV / "bin" / "python"
SILENT_SECONDS = 60
"""How long a step runs before a line says that it still does."""
LAST_LINES = 10
"""How much is shown of what a program says when it fails."""


def main() -> None:
    """Install everything, or exit with the reason why it fails."""
    torch, index = sys.argv[1:]
    begun = time.monotonic()
    uv = shutil.which("uv")
    if not uv and importlib.util.find_spec("ensurepip") is None:
        sys.exit("Python's venv module is missing: on Debian and Ubuntu, sudo apt-get install python3-venv")
    say(f"Installing into {VENV.absolute()}, with {'uv' if uv else 'pip'}. This takes a minute or two.")
    make_environment(uv)
    install = installer(uv)
    install_torch(install, torch, index)
    others = VENV / "requirements.txt"
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines(keepends=True)
    others.write_text("".join(line for line in lines if not line.startswith("torch==")), encoding="utf-8")
    require("the packages of requirements.lock", [*install, "--requirement", str(others)])
    require("the grader", [*install, "--no-deps", "--editable", str(ROOT)])
    say(f"Installed in {minutes(time.monotonic() - begun)}.")


def make_environment(uv: str | None) -> None:
    """Make .venv. With uv, one that is there already is kept."""
    if not uv:
        require("an environment", [sys.executable, "-m", "venv", str(VENV)])
    elif not os.access(PYTHON, os.X_OK):
        require("an environment", [uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(VENV)])


def installer(uv: str | None) -> list[str]:
    """Return the command that installs what is named behind it."""
    if uv:
        return [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON)]
    return [str(PYTHON), "-m", "pip", "install", "--quiet", "--retries", "1"]


def install_torch(install: list[str], torch: str, index: str) -> None:
    """Install the CPU build of torch, and another build only after a message and, in a terminal, a yes.

    torch: What to install, or the file of a wheel; what this needs comes from the same index as the other packages.
    """
    if Path(torch).is_file():
        require(torch, [*install, torch])
        return
    if torch.endswith(".whl"):
        sys.exit(f"The wheel {torch} does not exist: correct the name, `make TORCH=FILE ...`.")
    problem = run(f"{torch}, the CPU build", [*install, "--index-url", index, torch])
    if problem is None:
        return
    say(f"The CPU build of torch could not be installed from {index}:\n{problem}")
    if sys.platform == "linux":
        say(
            "The default build of torch has CUDA, which grading does not use: .venv takes 5.6 GB instead of 1.8.\n"
            "To install the CPU build, try again later, or name another index, `make TORCH_INDEX=ADDRESS ...`, or a "
            "wheel that you have, `make TORCH=FILE ...`."
        )
        if is_watched() and not is_yes("Install the default build now? [y/N] "):
            sys.exit("torch was not installed.")
    say("The default build is installed instead.")
    require(f"{torch}, the default build", [*install, torch])


def require(what: str, command: list[str]) -> None:
    """Run a step, or exit with what it says when it fails."""
    if problem := run(what, command):
        sys.exit(f"{what[0].upper()}{what[1:]} could not be installed:\n{problem}")


def run(what: str, command: list[str]) -> str | None:
    """Run a step, and say each minute that it still runs. Return what it says if it fails; None if it succeeds."""
    say(f"- {what}")
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        while True:
            try:
                code = process.wait(SILENT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                say(f"- {what}: still at it after {minutes(time.monotonic() - begun)}")
        log.seek(0)
        last = [f"  {line.rstrip()}" for line in log if line.strip()][-LAST_LINES:]
    return None if code == 0 else "\n".join(last) or f"  {command[0]} ended with code {code}."


def minutes(seconds: float) -> str:
    """Return a time in minutes and seconds."""
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s" if seconds >= 60 else f"{seconds:.0f} s"


def is_watched() -> bool:
    """Return whether someone sits at this terminal, who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")


def is_yes(question: str) -> bool:
    """Ask, and return whether the answer is yes."""
    try:
        return input(question).strip().casefold() in ("y", "yes")
    except EOFError:
        return False


def say(text: str) -> None:
    """Print a text at once."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped: the same command again goes on.")
