"""Compares the time to grade a class on one core with a cold, in-process pytest of the same suites per submission.

    python benchmarks/class_throughput.py

There are two kinds of submissions: of all units of the course, and of one unit, as in a weekly class. There is a round
for each unit. In a round `grader grade` grades the whole class, start-up included, and the baseline grades its share of
the class, so that changes in the machine's speed affect both. The baseline has no isolation, no limits, no second run
with substitutes, no diagnosis and no report. The benchmark takes about 20 minutes. It needs Linux, because it reads
/proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from grader.audit.cases import completed, needed_by
from grader.course.model import load_course
from grader.testing.misconceptions import Misconception, build, misconceptions_of

ROOT = Path(__file__).resolve().parents[1]
COURSE = load_course(ROOT)
UNITS = list(COURSE.units)
RIGHT, MISTAKEN, UNFINISHED = 12, 9, 3
# It needs a `generate` that gives the model the whole text. In unit 6 the last token is enough.
FITS_FEW = COURSE.suites / "small_gpt" / "accepted_answers" / "one_on_another.py"


# -- the class -----------------------------------------------------------------------------------------------------


def make_class(folder: Path) -> list[str]:
    """Write the class and return its students' names: most are right, some made mistakes, some are unfinished."""
    right = {unit: accepted_answers(unit) for unit in UNITS}
    build(COURSE, UNITS)
    known = {unit: misconceptions_of(COURSE, unit) for unit in UNITS}
    students = {}
    for number in range(RIGHT):
        students[f"right-{number:02}"] = {
            unit: texts[(number + place) % len(texts)] for place, (unit, texts) in enumerate(right.items())
        }
    for number in range(MISTAKEN):
        texts = {unit: right[unit][0] for unit in UNITS}
        # One mistake, then one in each of two units, and so on; spread over each unit's list.
        for unit in (UNITS * 2)[number : number + 1 + number % len(UNITS)]:
            mistake = known[unit][len(known[unit]) * number // MISTAKEN]
            texts[unit] += f"\n\n{source_of(mistake)}"
        students[f"mistaken-{number:02}"] = texts
    for number in range(UNFINISHED):
        # The first has not begun; each of the next has finished one unit more.
        students[f"unfinished-{number:02}"] = {
            unit: right[unit][0] if place < number else read("exercises", unit) for place, unit in enumerate(UNITS)
        }
    for student, texts in students.items():
        (folder / student).mkdir(parents=True)
        for unit, text in texts.items():
            (folder / student / f"{unit}.py").write_text(text, encoding="utf-8")
    return list(students)


def read(folder: str, unit: str) -> str:
    return (ROOT / folder / f"{unit}.py").read_text(encoding="utf-8")


def accepted_answers(unit: str) -> list[str]:
    """Return the solution, and right answers in other styles that fit those of the other units."""
    others = sorted((COURSE.suites / unit / "accepted_answers").glob("[!_]*.py"))
    fitting = [path for path in others if path != FITS_FEW]
    return [read("solutions", unit), *(completed(COURSE, path, unit) for path in fitting)]


def source_of(mistake: Misconception) -> str:
    """Return a mistake as a student would write it: its definition, what it uses, and the exercise's name."""
    path = Path(sys.modules[mistake.implementation.__module__].__file__ or "")
    name = mistake.implementation.__name__
    return "\n\n\n".join([*needed_by(path, name), f"{mistake.exercise} = {name}\n"])


# -- the two sides -------------------------------------------------------------------------------------------------


@dataclass
class Took:
    """Seconds of wall-clock time, and of processor time in all processes together."""

    wall: float
    processor: float


def run(command: list[str], cwd: Path, allowed: tuple[int, ...], **environment: str) -> tuple[Took, str]:
    """Run a command. Returns the time of its process and all that it starts, and its output."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(command)} ended with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def grade_command(submissions: Path, into: Path, unit: str | None = None) -> list[str]:
    only = ["--unit", unit] if unit else []
    return [sys.executable, "-m", "grader", "grade", str(submissions), "--out", str(into), "--jobs", "1", *only]


def run_ours(submissions: Path, unit: str | None = None) -> tuple[Took, dict[str, dict[str, Any]]]:
    """Grade all submissions. Returns the time, and the report of each student."""
    with tempfile.TemporaryDirectory() as into:
        took, _ = run(grade_command(submissions, Path(into), unit), ROOT, (0,))
        return took, {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in Path(into).glob("*.json")}


def run_baseline(submission: Path, unit: str | None = None) -> tuple[Took, int]:
    """Run the suites on a submission in a new pytest process. Returns the time, and how many tests passed."""
    settings = ROOT / "grader" / "engine" / "pytest.ini"
    command = [
        sys.executable, "-m", "pytest", str(COURSE.suites / (unit or "")), "-c", str(settings), "--noconftest", "-q",
        "--tb=native", "-p", "in_process", "--submission", str(submission),
    ]  # fmt: skip
    paths = f"{ROOT}{os.pathsep}{Path(__file__).resolve().parent}"
    took, output = run(command, submission, (0, 1), PYTHONPATH=paths, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    passed = re.search(r"(\d+) passed", output)
    return took, int(passed[1]) if passed else 0


# -- where time and memory go --------------------------------------------------------------------------------------

STUDENTS, GRADERS = "students' processes", "grading processes"


def watch(submissions: Path) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Grade the class once. Returns seconds of processor time by part, and the peak memory of each process, in MB.

    Memory is what a process shares with no other: the pages that it wrote to after it was forked.
    """
    seconds: dict[str, float] = {}
    peaks: dict[str, dict[int, float]] = {STUDENTS: {}, GRADERS: {}}
    with tempfile.TemporaryDirectory() as into:
        command = grade_command(submissions, Path(into))
        program = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while program.poll() is None:
            for engine in children(program.pid):
                # The fork server is the engine's first child.
                server, *graders = children(engine) or [0]
                for name, pids in ((STUDENTS, children(server)), (GRADERS, graders)):
                    for pid in pids:
                        peaks[name][pid] = max(peaks[name].get(pid, 0.0), own_memory(pid))
                if graders:  # later the times of ended processes cannot be told apart
                    seconds["the command line and the reports"] = processor_time(program.pid)[0]
                    for parent, itself, name, pids in (
                        (engine, "the engine", GRADERS, graders),
                        (server, "the fork server", STUDENTS, children(server)),
                    ):
                        seconds[itself], ended = processor_time(parent)
                        seconds[name] = ended + sum(processor_time(pid)[0] for pid in pids)
            time.sleep(0.005)
    return seconds, {name: list(peak.values()) for name, peak in peaks.items()}


def children(pid: int) -> list[int]:
    """Return the child processes, oldest first."""
    with contextlib.suppress(OSError):
        return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    return []


def own_memory(pid: int) -> float:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return sum(map(int, re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", text, re.MULTILINE))) / 1024
    return 0.0


def processor_time(pid: int) -> tuple[float, float]:
    """Return the seconds of processor time of a process, and of its children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own, system, childrens, childrens_system = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
        return own + system, childrens + childrens_system
    return 0.0, 0.0


# -- the whole -----------------------------------------------------------------------------------------------------


def check(student: str, report: dict[str, Any], passed: int) -> None:
    """Exit if a right answer does not have full marks on both sides: the sides did not run the same tests."""
    # Exercises only: no submission here answers a quiz.
    exercises = [exercise for unit in report["units"].values() for exercise in unit["exercises"].values()]
    points, possible = (sum(exercise[what] for exercise in exercises) for what in ("points", "possible"))
    if student.startswith("right") and not points == passed == possible:
        raise SystemExit(f"{student} has {points} of {possible} points, and {passed} passed tests.")


def compare(submissions: Path, students: list[str], rounds: int, one_unit: bool) -> Iterator[tuple[Took, list[Took]]]:
    """Yield, for each round, the time of the whole class with the grader, and of each submission with the baseline."""
    for number in range(rounds):
        unit = UNITS[number % len(UNITS)] if one_unit else None
        ours, reports = run_ours(submissions, unit)
        baselines = []
        for student in students[number::rounds]:
            took, passed = run_baseline(submissions / student, unit)
            check(student, reports[student], passed)
            baselines.append(took)
        yield ours, baselines


def show(what: str, size: int, rounds: list[tuple[Took, list[Took]]]) -> None:
    print(f"{what:34}{'wall clock':>14}{'processor':>12}")
    columns = []
    for clock in (attrgetter("wall"), attrgetter("processor")):
        baseline = statistics.median(clock(took) for _, baselines in rounds for took in baselines)
        ours = statistics.median(clock(took) / size for took, _ in rounds)
        ratio = statistics.median(
            statistics.mean(map(clock, baselines)) * size / clock(took) for took, baselines in rounds
        )
        columns.append((baseline, ours, ratio))
    for name, values in zip(
        ("cold pytest", "grader grade", "times the throughput"), zip(*columns, strict=True), strict=True
    ):
        print(f"  {name:32}{values[0]:14.2f}{values[1]:12.2f}")


def main() -> None:
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    rounds = len(UNITS)
    with tempfile.TemporaryDirectory() as folder:
        submissions = Path(folder)
        students = make_class(submissions)
        run_baseline(submissions / students[0])  # fills the disk cache, and so does this:
        seconds, memory = watch(submissions)
        whole = compare(submissions, students, rounds, one_unit=False)
        single = compare(submissions, students, rounds, one_unit=True)
        # In turn, so that both kinds run under the same conditions.
        pairs = list(zip(whole, single, strict=True))
    size = len(students)
    print(f"{size} submissions on one core, {rounds} rounds; medians, in seconds per submission, start-up included")
    show(f"of all {len(UNITS)} units", size, [pair[0] for pair in pairs])
    show("of one unit each", size, [pair[1] for pair in pairs])
    print("processor time by part, for all units, in seconds per submission")
    for what, took in seconds.items():
        print(f"  {what:32}{took / size:14.3f}{took / sum(seconds.values()):12.0%}")
    print("memory of each process that it does not share, in MB")
    for what, peaks in memory.items():
        print(f"  {what:32}{f'median {statistics.median(peaks):.0f}':>14}{f'most {max(peaks):.0f}':>12}")


if __name__ == "__main__":
    main()
