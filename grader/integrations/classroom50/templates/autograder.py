"""Grades a student's checkout for Classroom 50, by the visible tests of the wheel beside this file.

Classroom 50 runs this file in the checkout. It leaves result.json and release-body.md there, and ends with 0 whatever
the score. Any other end is a fault of the machine or of the setting: one sentence says which, and there is no
result.json. All of it ends within the 15 minutes that Classroom 50 gives a job.

The bundle is published, so whoever finds its address can read all of it. It holds nothing that students have not
got already: neither hidden tests nor solutions. Its scores tell students where they stand; grades are made elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

BUNDLE = Path(__file__).resolve().parent
RESULTS = "result.json", "release-body.md"

# The CPU build of torch; the plain one on Linux brings gigabytes of CUDA along.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"

# Of the 15 minutes, two remain for what Classroom 50 does before and after.
ALL_SECONDS = 13 * 60
INSTALL_SECONDS = 5 * 60
WRITE_SECONDS = 20


class Fault(Exception):
    """Why there is no result; one sentence for the student and the teacher."""


def main() -> None:
    """Grade the checkout, and write what Classroom 50 reads."""
    checkout = Path.cwd()
    try:
        # What a student has committed under these names is no result of ours.
        for name in RESULTS:
            remove(checkout / name)
        with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
            grade(checkout, Path(folder))
    except (Fault, OSError, zipfile.BadZipFile) as fault:
        for name in RESULTS:
            with contextlib.suppress(OSError):
                remove(checkout / name)
        sys.exit(f"This submission was not graded, and that is no fault of its author: {fault}")


def grade(checkout: Path, work: Path) -> None:
    """Leaves the results of `checkout` in it. `work` lies outside, so nothing that a student wrote is found there."""
    end = time.monotonic() + ALL_SECONDS
    student = os.environ.get("USERNAME") or os.environ.get("OWNER")
    if not student:
        raise Fault("neither USERNAME nor OWNER is set. Classroom 50 sets both.")
    wheel = the_wheel()
    python = install(wheel, work, min(end, time.monotonic() + INSTALL_SECONDS))

    reports = work / "reports"
    grader = [python, "-I", "-m", "grader"]
    check = [
        *grader,
        "check",
        *unit_of(os.environ.get("ASSIGNMENT", ""), wheel),
        "--student",
        student,
        "--out",
        reports,
    ]
    # Exit 1 is a grade as well: something is not right yet.
    run(check, "Grading", end - WRITE_SECONDS, cwd=checkout, of_student=True, good=(0, 1))
    export = [*grader, "export", "classroom50", reports / f"{student}.json"]
    run(export, "Writing the result", end, cwd=checkout)


def the_wheel() -> Path:
    """The student's part of the grader."""
    wheels = sorted(BUNDLE.glob("*.whl"))
    if len(wheels) != 1:
        raise Fault(f"beside autograder.py there should be one wheel, not {len(wheels)}. Copy the whole bundle anew.")
    return wheels[0]


def unit_of(assignment: str, wheel: Path) -> list[str]:
    """The unit that the assignment is named after; none where it is not, and then every unit counts."""
    unit = assignment.replace("-", "_")
    with zipfile.ZipFile(wheel) as archive:
        # Each unit has its visible tests there.
        return [unit] if f"grader/received/exercises/test_{unit}.py" in archive.namelist() else []


def install(wheel: Path, work: Path, end: float) -> Path:
    """Makes an environment with the grader in it, and gives its Python."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the image's Python may be any
        raise Fault('Python 3.11 or later is needed. Set "python" in the assignment\'s runtime.')
    environment = work / "environment"
    # What the image already has in the versions of constraints.txt need not come again.
    make = [sys.executable, "-I", "-m", "venv", "--system-site-packages", environment]
    run(make, "Making an environment", end, cwd=work)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = BUNDLE / "constraints.txt"
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
    with contextlib.suppress(Fault):  # then torch comes with the rest
        of_torch = ["--no-deps", "--retries", "0", "--index-url", TORCH_INDEX, "torch"]
        run([*pip, *of_torch], "Installing torch", end, cwd=work)
    run([*pip, wheel], "Installing the grader", end, cwd=work)
    return python


def run(
    command: list[object], what: str, end: float, cwd: Path, of_student: bool = False, good: tuple[int, ...] = (0,)
) -> None:
    """Runs a program to its end, and says nothing of it unless it fails. Raises Fault."""
    # No variable may steer Python; and a student's own code has no use for what GitHub tells its steps.
    hidden = ("PYTHON", "GITHUB_", "RUNNER_", "ACTIONS_") if of_student else ("PYTHON",)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            stop(process)
            raise Fault(f"{what} took too long and was stopped. Run the job again.") from None
        if code not in good:
            log.seek(0)
            show(log.read().decode(errors="replace"))
            raise Fault(f"{what} failed (exit {code}). The lines above say why.")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the program, and what it has started."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def show(text: str) -> None:
    """Prints the end of a program's output, so that no line of it can be a workflow command."""
    for line in text.splitlines()[-40:]:
        print("  |", "".join(c if c.isprintable() else " " for c in line).replace("##[", "## ["), file=sys.stderr)


def remove(path: Path) -> None:
    """Removes whatever lies there, and nothing that it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
