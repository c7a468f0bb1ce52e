"""Measures how long a student waits for a verdict, beside `python -c "import torch"`.

    python benchmarks/checks.py [--runs 9] [--exercise NAME]

It runs in turns, as whole processes: the import alone; a first check, without a spare process; a second check, which a
spare process does; and a save while `grader watch` runs. It prints the medians and, for each, the median of the ratios
to the import in the same turn. Between two measurements it waits until the processes that prepare the next check are
done.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect

ROOT = Path(__file__).resolve().parent.parent
GRADER = [sys.executable, "-m", "grader"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "dumb"}
QUIET_SECONDS = 1.0
PATIENCE_SECONDS = 60


def seconds(*command: str, folder: Path) -> float:
    """Wall time of one process, in seconds."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def processor_ticks() -> int:
    """Processor time of all processes of the grader."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"grader" in (path / "cmdline").read_bytes():
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:  # it has ended
            pass
    return total


def wait_until_quiet() -> None:
    """Wait until no process of the grader has used the processor for QUIET_SECONDS."""
    before = -1
    while (now := processor_ticks()) != before:
        before = now
        time.sleep(QUIET_SECONDS)


class Watched:
    """`grader watch` in a pseudo-terminal, and the file that it watches."""

    def __init__(self, folder: Path, unit: str) -> None:
        self.file = folder / "exercises" / f"{unit}.py"
        self.text = self.file.read_text(encoding="utf-8")
        self.saves = 0
        self.terminal = pexpect.spawn(GRADER[0], [*GRADER[1:], "watch"], cwd=folder, env=ENVIRONMENT, encoding="utf-8")
        self.terminal.timeout = PATIENCE_SECONDS
        self.terminal.expect_exact("q quit")

    def seconds(self, exercise: str) -> float:
        """Time from a save that changes an exercise to its verdict, in seconds."""
        self.saves += 1
        head, name, tail = self.text.partition(f"def {exercise}(")
        body = tail.replace("    ### BEGIN SOLUTION\n", f"    _ = {self.saves}\n", 1)
        begun = time.perf_counter()
        self.file.write_text(head + name + body, encoding="utf-8")
        self.terminal.expect_exact(f"✓ {exercise}")
        duration = time.perf_counter() - begun
        self.terminal.expect_exact("q quit")
        return duration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--unit", default="simple_attention")
    parser.add_argument("--exercise", default="attention_scores")
    asked = parser.parse_args()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ENVIRONMENT.update({f"XDG_{kind}_HOME": f"{folder}/{kind}" for kind in ("CACHE", "STATE")})
        shutil.copytree(ROOT / "exercises", folder / "exercises")
        shutil.copy(ROOT / "solutions" / f"{asked.unit}.py", folder / "exercises")
        check = [*GRADER, "check", asked.exercise]
        watched = Watched(folder, asked.unit)
        for number in range(asked.runs + 1):
            measured = {}
            wait_until_quiet()
            measured["import torch"] = seconds(sys.executable, "-c", "import torch", folder=folder)
            measured["first check"] = seconds(*check, folder=folder)
            wait_until_quiet()
            measured["second check"] = seconds(*check, folder=folder)
            seconds(*GRADER, "stop", folder=folder)
            wait_until_quiet()
            measured["save to verdict"] = watched.seconds(asked.exercise)
            for what, duration in measured.items() if number else ():  # the first turn only fills the disk cache
                found.setdefault(what, []).append(duration)
        watched.terminal.send("q")
        watched.terminal.expect(pexpect.EOF)
    imports = found["import torch"]
    print(f"{asked.runs} turns, {asked.exercise}: medians, and the ratio to the import")
    for what, durations in found.items():
        ratios = [duration / imported for duration, imported in zip(durations, imports, strict=True)]
        print(f"  {what:16} {statistics.median(durations):.2f} s  {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
