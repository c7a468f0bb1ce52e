"""Grades a student's checkout for Classroom 50 by the visible tests of the wheel beside this file.

Classroom 50 runs this file in the checkout. It writes result.json and release-body.md there, and exits with 0 whatever
the score. Any other exit code is a fault of the machine or of the configuration: one sentence says which, and there is
no result.json. It ends within the 15 minutes that Classroom 50 gives a job.

The bundle is public, so it holds only what students have already: neither hidden tests nor solutions. Its scores show
students their progress; they are not the grades.
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

# The versions of Python that the grader supports. Classroom 50 has 3.14, unless the assignment's runtime names another.
OLDEST, NEWEST = (3, 11), (3, 14)

# The CPU build of torch. The default build for Linux includes gigabytes of CUDA.
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"

# Two of the 15 minutes remain for what Classroom 50 does before and after.
ALL_SECONDS = 13 * 60
INSTALL_SECONDS = 5 * 60
WRITE_SECONDS = 20

# The signals to stop that came. They raise nothing: while a process is being started, that would leave it behind.
STOPPED: list[int] = []


class Fault(Exception):
    """There is no result; the text says why, for the student and the teacher."""


def main() -> None:
    """Grade the checkout, and write what Classroom 50 reads."""
    checkout = Path.cwd()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: STOPPED.append(number))
    try:
        # A student may have committed files with these names.
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
    """Write the results to `checkout`. `work` is outside of it, so the student has no files there."""
    end = time.monotonic() + ALL_SECONDS
    student = os.environ.get("USERNAME") or os.environ.get("OWNER")
    if not student:
        raise Fault("neither USERNAME nor OWNER is set. Classroom 50 sets both.")
    wheel = the_wheel()
    python = install(wheel, work, min(end, time.monotonic() + INSTALL_SECONDS))

    reports = work / "reports"
    grader = [python, "-I", "-m", "grader"]
    unit = unit_of(os.environ.get("ASSIGNMENT", ""), wheel)
    check = [*grader, "check", *unit, "--student", student, "--out", reports]
    # Exit 1 is a grade, too: some exercises do not pass yet.
    run(check, "Grading", end - WRITE_SECONDS, cwd=checkout, of_student=True, good=(0, 1))
    export = [*grader, "export", "classroom50", reports / f"{student}.json"]
    run(export, "Writing the result", end, cwd=checkout)


def the_wheel() -> Path:
    """Return the wheel with the student's part of the grader."""
    wheels = sorted(BUNDLE.glob("*.whl"))
    if len(wheels) != 1:
        raise Fault(f"beside autograder.py there should be one wheel, not {len(wheels)}. Copy the whole bundle anew.")
    return wheels[0]


def unit_of(assignment: str, wheel: Path) -> list[str]:
    """Return the unit that the assignment is named after; nothing if there is none, so that every unit counts."""
    unit = assignment.replace("-", "_")
    with zipfile.ZipFile(wheel) as archive:
        # The wheel has the visible tests of each unit.
        return [unit] if f"grader/received/exercises/checks/test_{unit}.py" in archive.namelist() else []


def install(wheel: Path, work: Path, end: float) -> Path:
    """Install the grader in an environment of its own, and return its Python."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        wanted = " to ".join("{}.{}".format(*one) for one in (OLDEST, NEWEST))
        raise Fault(f'Python {wanted} is needed. Set "python" in the assignment\'s runtime.')
    environment = work / "environment"
    # Packages that the image has in the versions of constraints.txt are not installed again.
    make = [sys.executable, "-I", "-m", "venv", "--system-site-packages", environment]
    run(make, "Making an environment", end, cwd=work)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = BUNDLE / "constraints.txt"
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
    of_torch = ["--no-deps", "--retries", "0", "--index-url", TORCH_INDEX, "torch"]
    try:
        run([*pip, *of_torch], "Installing torch", end, cwd=work)
    except Fault as fault:
        print(f"{fault} So the default build is installed, which may have CUDA and takes longer.", flush=True)
    run([*pip, wheel], "Installing the grader", end, cwd=work)
    return python


def run(
    command: list[object], what: str, end: float, cwd: Path, of_student: bool = False, good: tuple[int, ...] = (0,)
) -> None:
    """Run a program to its end, and print its output only if it fails. Raises Fault."""
    # No variable may configure Python, and a student's code must not see the variables of GitHub's steps.
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
            while (code := process.poll()) is None:
                if STOPPED:
                    sys.exit(128 + STOPPED[0])
                if time.monotonic() > end:
                    raise Fault(f"{what} took too long and was stopped. Run the job again.")
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                stop(process)
        if code not in good:
            log.seek(0)
            show(log.read().decode(errors="replace"))
            raise Fault(f"{what} failed (exit {code}). The lines above say why.")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the program and its children."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def show(text: str) -> None:
    """Print the end of a program's output, so that no line can be a workflow command."""
    for line in text.splitlines()[-40:]:
        print("  |", "".join(c if c.isprintable() else " " for c in line).replace("##[", "## ["), file=sys.stderr)


def remove(path: Path) -> None:
    """Remove a file, folder or link, but not the target of a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
