"""Grades a large class on Dask workers of this machine: time, memory, and whether every report is complete.

    python benchmarks/cluster.py --submissions 10000 --workers 2

The submissions are of one unit: copies of right answers, of answers with a mistake, and of unfinished ones, each with
small changes, so that no two are the same. The scheduler and each worker are processes of their own, started by `dask`.
With --compare, the same class is graded once more without a cluster, and each report has to be the same to the byte
except for its times. It needs Linux, because it reads /proc. On two cores, 10,000 submissions take a quarter of an
hour to an hour, and with --compare twice as long.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from answers import COURSE, ROOT, make, write_scripts
from measuring import descendants, memory, processor_time

SAMPLE_SECONDS = 0.5
TIMES = re.compile(rb'"started": ".*",\n +"seconds": .*')


# -- the cluster ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and workers. Yields the scheduler's address, and the processes, the scheduler first."""
    place = folder / "scheduler.json"
    started = [start("scheduler", folder, "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place))]
    try:
        while not place.is_file():
            if started[0].poll() is not None:
                raise SystemExit(f"The scheduler did not start:\n{(folder / 'scheduler.log').read_text()}")
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        for _ in range(workers):
            started.append(start("worker", folder, address, "--no-nanny", "--nthreads", "1"))
        yield address, [process.pid for process in started]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def start(program: str, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *options]
    if program == "worker":
        command += ["--local-directory", str(folder / "scratch")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open(folder / f"{program}.log", "ab") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


# -- measuring -----------------------------------------------------------------------------------------------------


@dataclass
class Measured:
    """What grading took: seconds, and the most memory of each part, in MB.

    `first` is when the first report was there, and `processor` the time of the command itself.
    """

    wall: float = 0.0
    first: float = 0.0
    processor: float = 0.0
    memory: dict[str, float] = field(default_factory=dict)

    def sample(self, parts: dict[str, list[int]]) -> None:
        for part, pids in parts.items():
            self.memory[part] = max(self.memory.get(part, 0.0), sum(map(memory, pids)))


def grade(submissions: Path, into: Path, unit: str, options: list[str], parts: dict[str, list[int]]) -> Measured:
    """Grade the class, and sample the memory of the command and of the processes in `parts` with their children."""
    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--unit", unit, "--out", str(into), *options]
    found, begun = Measured(), time.perf_counter()
    log = into.with_suffix(".log")
    with open(log, "wb") as output:
        program = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    while program.poll() is None:
        found.processor = processor_time(program.pid)[0]
        if not found.first and next(into.glob("*.json"), None):
            found.first = time.perf_counter() - begun
        trees = {part: [one for pid in pids for one in (pid, *descendants(pid))] for part, pids in parts.items()}
        found.sample({"the command": [program.pid], **trees})
        time.sleep(SAMPLE_SECONDS)
    found.wall = time.perf_counter() - begun
    if program.returncode:
        raise SystemExit(f"{' '.join(command)} ended with code {program.returncode}:\n{log.read_text()[-4000:]}")
    return found


# -- checking ------------------------------------------------------------------------------------------------------


def check(students: list[str], reports: Path, unit: str) -> str:
    """Return how many reports are complete. Exit if one is missing or wrong, or if there is one too many."""
    found = {path.stem: path for path in reports.glob("*.json")}
    if found.keys() != set(students):
        raise SystemExit(
            f"{len(students)} students and {len(found)} reports: {sorted(found.keys() ^ set(students))[:9]}"
        )
    for student, path in found.items():
        exercises = json.loads(path.read_text(encoding="utf-8"))["units"][unit]["exercises"].values()
        points, possible = (sum(one[what] for one in exercises) for what in ("points", "possible"))
        kind = student.partition("-")[0]
        right = {"right": points == possible, "mistaken": 0 < points < possible, "unfinished": points == 0}
        if not right[kind]:
            raise SystemExit(f"{student} has {points} of {possible} points.")
    return f"{len(found)} of {len(students)} reports are complete, with the points that their kind of answer has"


def same(first: Path, second: Path) -> str:
    """Return how many reports are the same to the byte except for times. Exit if one is not."""
    for path in first.glob("*.json"):
        contents = [TIMES.sub(b"", (folder / path.name).read_bytes()) for folder in (first, second)]
        if contents[0] != contents[1]:
            raise SystemExit(f"{path.name} differs without the cluster.")
    return "without the cluster, every report is the same to the byte, except for its times"


def show(what: str, found: Measured, size: int) -> None:
    print(f"{what}: {found.wall:.0f} s, {found.wall / size:.3f} s for each submission")
    print(f"  the first report after {found.first:.1f} s")
    print(f"  processor time of the command: {1000 * found.processor / size:.1f} ms for each submission")
    for part, most in found.memory.items():
        print(f"  memory of {part}, at most: {most:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--unit", default=next(iter(COURSE.units)), choices=list(COURSE.units))
    parser.add_argument("--compare", action="store_true", help="Grade once more without a cluster, and compare.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        a_class = make([options.unit], options.submissions)
        students = list(a_class)
        write_scripts(a_class, folder / "class")
        with cluster(folder, options.workers) as (address, (scheduler, *workers)):
            parts = {"the scheduler": [scheduler], f"{options.workers} workers and all that they start": workers}
            reports = folder / "reports"
            took = grade(folder / "class", reports, options.unit, ["--scheduler", address], parts)
        print(f"{len(students)} submissions of {options.unit}, {options.workers} workers with one thread each")
        show("grader grade --scheduler", took, len(students))
        print(f"  {check(students, reports, options.unit)}")
        size = sum(path.stat().st_size for path in reports.rglob("*") if path.is_file())
        print(f"  size of the reports: {size / 2**20:.0f} MB")
        if options.compare:
            alone = grade(folder / "class", folder / "alone", options.unit, ["--jobs", str(options.workers)], {})
            show(f"grader grade --jobs {options.workers}", alone, len(students))
            print(f"  {same(reports, folder / 'alone')}")


if __name__ == "__main__":
    main()
