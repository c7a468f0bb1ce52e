#!/usr/bin/env python3
"""Grades one submission for Gradescope, which copies this file from source/ to the parent folder of source/.

It writes results/results.json. After a fault of the grader there is no such file: Gradescope then says that the
autograder failed, and gives no score. Only instructors see what this prints.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE / "venv" / "bin" / "python"
RESULTS = HERE / "results" / "results.json"

# The options of `grader grade`: none, or one unit of the course.
OPTIONS = ["@OPTIONS@"]

# After ten minutes, unless an instructor asks for more, Gradescope stops a run and scores it 0.
GRADING_SECONDS = 9 * 60
WRITING_SECONDS = 20

# The signals to stop that came. They raise nothing: while a process is being started, that would leave it behind.
STOPPED: list[int] = []


class Fault(Exception):
    """There is no grade; the text says why, for the instructor."""


def main() -> None:
    """Grade, and write results.json; or exit with 1 and a sentence that says why not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: STOPPED.append(number))
    try:
        RESULTS.unlink(missing_ok=True)  # that of an earlier run
        with tempfile.TemporaryDirectory(prefix="reports-", ignore_cleanup_errors=True) as reports:
            run(GRADING_SECONDS, "grade", HERE / "submission", *OPTIONS, "--student", "submission", "--out", reports)
            run(WRITING_SECONDS, "export", "gradescope", Path(reports, "submission.json"), RESULTS)
    except (Fault, OSError) as fault:
        sys.exit(
            f"This submission was not graded, and has no score: {fault}\n"
            "That is no fault of its author. Remove the cause, and run the autograder on this submission again."
        )


def run(seconds: int, *arguments: object) -> None:
    """Run a command of the grader. Raises Fault, or OSError if it cannot be started."""
    # No variable may configure Python.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(part) for part in (PYTHON, "-I", "-m", "grader", *arguments)]
    process = subprocess.Popen(
        command, cwd=HERE / "source", env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    )
    end = time.monotonic() + seconds
    try:
        while (code := process.poll()) is None:
            if STOPPED:
                sys.exit(128 + STOPPED[0])
            if time.monotonic() > end:
                raise Fault(f"grader {arguments[0]} took more than {seconds} seconds.")
            time.sleep(0.05)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code < 0:
        raise Fault(f"grader {arguments[0]} was killed by signal {-code}. For 9, give the container more memory.")
    if code:
        raise Fault(f"grader {arguments[0]} ended with exit code {code}, for the reason above.")


if __name__ == "__main__":
    main()
