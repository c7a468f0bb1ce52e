"""Run git without hooks, prompts or anybody's settings, and within limits."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from grader.errors import GraderError

_SECONDS = 300
_LARGEST_FILE = 2**30
_MOST_MEMORY = 2**30
_LONGEST_ERROR = 10_000

# A repository's own settings apply too, so those that would run a program are overridden.
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.bigFileThreshold": "16m",  # larger files stay out of memory
    "credential.helper": "",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "log.showSignature": "false",
    "pack.threads": "1",
}
_VARIABLES = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Done(NamedTuple):
    """What git printed, and its exit code; negative if it was stopped."""

    code: int
    output: bytes
    error: str


def run_git(
    arguments: Sequence[str],
    folder: Path,
    content: bytes = b"",
    *,
    output: IO[bytes] | None = None,
    settings: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    as_user: bool = False,
) -> Done:
    """Run git in a folder.

    Args:
        arguments: The arguments of `git`.
        folder: The working directory.
        content: The standard input.
        output: A file for git's output, which is then not in the result.
        settings: More settings of git. Processes of other users cannot see them.
        variables: More environment variables.
        as_user: Whether the settings of this machine, its user and the environment apply too.

    Raises:
        GraderError: Git is not installed.
    """
    if shutil.which("git") is None:
        raise GraderError("git is not installed: install it first.")
    given = {**_SETTINGS, **(settings or {})}
    hidden = () if as_user else ("GIT_", "GITHUB_TOKEN")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment |= {**_VARIABLES, **({} if as_user else _ALONE), "GIT_CONFIG_COUNT": str(len(given))}
    for number, (name, value) in enumerate(given.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    environment |= variables or {}
    # Files, because a pipe could fill up while git waits for its output to be read.
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        asked.write(content)
        asked.seek(0)
        process = subprocess.Popen(
            [*_command(), *arguments],
            cwd=folder,
            env=environment,
            stdin=asked,
            stdout=output or printed,
            stderr=errors,
            start_new_session=True,
        )
        code = _wait(process)
        printed.seek(0)
        errors.seek(0)
        return Done(code, printed.read(), errors.read(_LONGEST_ERROR).decode("utf-8", "replace").strip())


def _command() -> list[str]:
    if sys.platform == "win32":
        return ["git"]
    # The first limit applies to all files that git writes, including its output (in blocks of 512 bytes). Memory is
    # limited too, if the system can: a small pack may unpack to something huge that git keeps in memory.
    limits = f"ulimit -f {_LARGEST_FILE // 512}; ulimit -v {_MOST_MEMORY // 1024} 2>/dev/null"
    return ["sh", "-c", f'{limits}; exec git "$@"', "git"]


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(_SECONDS)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)  # git starts helper processes
        code = process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return code
        raise
