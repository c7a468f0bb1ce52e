"""Where the time and the memory of `grader grade` go: processor time by part, and the own memory of its processes."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from answers import ROOT
from measuring import children, own_memory, processor_time
from sides import grade_command

STUDENTS, GRADERS = "student processes", "grading processes"


def watch(submissions: Path, size: int) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Grade a class of all units once.

    Returns:
        Seconds of processor time per submission, by part. And the most own memory of each process, in MB, as the median
        and the most of all: what it shares with no other process, the pages that it wrote to after it was forked.
    """
    seconds: dict[str, float] = {}
    peaks: dict[str, dict[int, float]] = {STUDENTS: {}, GRADERS: {}}
    with tempfile.TemporaryDirectory() as into:
        command = grade_command(submissions, Path(into), 1, None)
        program = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while program.poll() is None:
            for engine in children(program.pid):
                sample(program.pid, engine, seconds, peaks)
            time.sleep(0.005)
    if program.returncode:
        raise SystemExit(f"{' '.join(command)} ended with code {program.returncode}.")
    memory = {part: (statistics.median(all_of.values()), max(all_of.values())) for part, all_of in peaks.items()}
    return {part: took / size for part, took in seconds.items()}, memory


def sample(program: int, engine: int, seconds: dict[str, float], peaks: dict[str, dict[int, float]]) -> None:
    """Read the times and the memory of the command's processes."""
    # The fork server is the engine's first child.
    server, *graders = children(engine) or [0]
    students = children(server)
    # Before the first submission the server only tries whether processes can be isolated, and after the last one the
    # times of ended processes cannot be told apart.
    if not graders:
        return
    for part, pids in ((STUDENTS, students), (GRADERS, graders)):
        for pid in pids:
            peaks[part][pid] = max(peaks[part].get(pid, 0.0), own_memory(pid))
    seconds["command line, reading submissions, marking quizzes, writing reports"] = processor_time(program)[0]
    for parent, itself, part, pids in (
        (engine, "start of the engine: torch, pytest, the suites", GRADERS, graders),
        (server, "start of the fork server: what student code may import", STUDENTS, students),
    ):
        seconds[itself], ended = processor_time(parent)
        seconds[part] = ended + sum(processor_time(pid)[0] for pid in pids)
