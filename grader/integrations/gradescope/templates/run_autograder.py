#!/usr/bin/env python3
"""Grades one submission for Gradescope, which copies this file from source/ to the parent folder of source/.

Whatever happens, it writes a complete results/results.json. Only instructors see what it prints.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE / "venv" / "bin" / "python"
RESULTS = HERE / "results" / "results.json"

# Gradescope stops a run after ten minutes, unless an instructor asks for more.
GRADING_SECONDS = 9 * 60
WRITING_SECONDS = 20

NOT_GRADED = (
    "Your submission could not be graded. This is a fault of the autograder and not of your work: "
    "please tell your instructor, who can have it graded again."
)


class Fault(Exception):
    """There is no grade; the text says why, for the instructor."""


def main() -> None:
    """Grade, and write results.json."""
    try:
        results = json.loads(graded())
    except Exception as fault:  # noqa: BLE001 - every submission gets a result
        print(f"This submission was not graded: {type(fault).__name__}: {fault}", file=sys.stderr)
        results = {"score": 0, "output": NOT_GRADED, "stdout_visibility": "hidden"}
    # Renaming a complete file shows a reader all of it or nothing.
    RESULTS.parent.mkdir(exist_ok=True)
    partial = RESULTS.with_name("results.json.partial")
    partial.write_text(json.dumps(results), encoding="utf-8")
    partial.replace(RESULTS)


def graded() -> str:
    """Grade the submission, and return the text of results.json. Raises Fault."""
    with tempfile.TemporaryDirectory(prefix="reports-") as reports:
        grade = ["grade", HERE / "submission", "--student", "submission", "--out", reports]
        sys.stdout.write(run(grade, GRADING_SECONDS))
        return run(["export", "gradescope", Path(reports, "submission.json")], WRITING_SECONDS)


def run(arguments: list[object], seconds: int) -> str:
    """Run a command of the grader, and return its output. Raises Fault."""
    # No variable may configure Python.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(part) for part in (PYTHON, "-I", "-m", "grader", *arguments)]
    process = subprocess.Popen(
        command, cwd=HERE / "source", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        text=True, encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Fault(f"grader {arguments[0]} took more than {seconds} seconds.") from None
    if process.returncode:
        sys.stdout.write(output)
        raise Fault(f"grader {arguments[0]} ended with exit code {process.returncode}.")
    return output


if __name__ == "__main__":
    main()
