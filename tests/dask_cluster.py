"""A Dask cluster for tests: a scheduler and workers, each a process that `dask` starts as on any machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import courses
from processes import until

# What differs between two runs: when and for how long a submission was graded.
TIMES = re.compile(rb'"started": ".*",\n +"seconds": .*')


class DaskCluster:
    """A scheduler that only this machine reaches, and its workers."""

    def __init__(self, folder: Path, course: Path, tls: Sequence[str] = ()) -> None:
        """Start the scheduler with the grader in the folder of a course. `tls` are the options for encryption."""
        self.folder, self.tls = folder, tls
        self._started: list[subprocess.Popen[bytes]] = []
        place = folder / "scheduler.json"
        protocol = ["--protocol", "tls"] if tls else []
        self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", place, *protocol, course=course
        )
        self.address: str = until(lambda: _address(place))

    def start(self, program: str, *options: object, course: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *self.tls]
        with open(self.folder / f"{program}.log", "ab") as log:
            process = subprocess.Popen(
                [*command, *map(str, options)],
                cwd=course,
                env=courses.environment(course),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def worker(self, course: Path, *options: object) -> subprocess.Popen[bytes]:
        """Start a worker in the folder of a course, with the grader there."""
        scratch = self.folder / "scratch"
        return self.start("worker", self.address, "--local-directory", scratch, *options, course=course)

    def close(self) -> None:
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def dask_cluster(folder: Path, course: Path, tls: Sequence[str] = ()) -> Iterator[DaskCluster]:
    folder.mkdir(parents=True, exist_ok=True)
    cluster = DaskCluster(folder, course, tls)
    try:
        yield cluster
    finally:
        cluster.close()


def steady_reports(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each report, without its times."""
    reports = {path.stem: path.read_bytes() for path in folder.glob("*.json")}
    assert all(len(TIMES.findall(content)) == 1 for content in reports.values())
    return {name: TIMES.sub(b"", content) for name, content in reports.items()}


def _address(place: Path) -> str:
    try:
        return str(json.loads(place.read_text())["address"])
    except (OSError, ValueError):
        return ""
