"""Measures how fast a class is graded, beside cold pytest, nbgrader, otter-grader and check50: `make bench`.

    python benchmarks/bench.py

All sides grade the same answers with the same tests. They take turns in each round, so that changes of the machine's
speed affect all, and ratios are of the same round. It prints one table, and writes it to docs/speed.md with a plot, and
the figures to benchmarks/speed.json. With other sizes than the full ones it only prints:

    python benchmarks/bench.py --submissions 20 --rounds 1

It needs Linux, because it reads /proc, and should have the machine to itself. On two cores a full run takes half an
hour to an hour and a half. A run of 2 submissions takes two to five minutes.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import figures
import parts
import plot
from answers import make, write_scripts
from figures import FILE, PAGE, PLOT, Figures, Grown, Measured, Row
from sides import FEW, UNIT, Side, Sides, check, full_marks, run_ours

SUBMISSIONS, ROUNDS = 200, 3
# The largest is five times the class of the other measurements.
GROWTH = (10, 30, 100, 300, 1000)


def measure(sides: Sequence[Side], rounds: int) -> dict[str, Row]:
    """Measure every side once in each round. Every second round begins with the last side."""
    measured: dict[str, list[Measured]] = {side.key: [] for side in sides}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            print(f"round {number + 1} of {rounds}: {side.name}", file=sys.stderr)
            measured[side.key].append(side.measure())
    return {side.key: Row(side.name, side.size, side.cores, side.beside, measured[side.key]) for side in sides}


def grow(folder: Path, sizes: Sequence[int], cores: Sequence[int]) -> list[Grown]:
    """Grade a class of each size with two jobs."""
    students = make([UNIT], max(sizes))
    found = []
    for size in sizes:
        print(f"a class of {size}", file=sys.stderr)
        a_class = folder / str(size)
        write_scripts(dict(list(students.items())[:size]), a_class)
        took, reports = run_ours(a_class, UNIT, 2, cores[:2])
        check(f"{size} submissions", sorted(a_class.iterdir()), full_marks(reports))
        found.append(Grown(size, took.wall, took.memory))
    return found


def where(submissions: int, rounds: int, cores: int) -> str:
    """Return the sentence above the table: when, on what and how it was measured."""
    today, python = datetime.date.today(), platform.python_version()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "pytest", "nbgrader"))
    return (
        f"Measured on {today} on a machine with {cores} cores, with Python {python}, {packages}; a class of "
        f"{submissions}, {rounds} {'round' if rounds == 1 else 'rounds'}"
    )


def full_run(submissions: int, rounds: int, downloads: bool, cores: Sequence[int]) -> Figures:
    """Measure all sides, how a class grows, and where time and memory go."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = Sides(folder, submissions, cores)
        others = sides.peers() if downloads else []
        rows = measure(sides.all(others), rounds)
        growth = grow(folder / "growth", [size for size in GROWTH if size <= 5 * submissions] or GROWTH[:1], cores)
        seconds, memory = parts.watch(folder / "whole", sides.whole_size)
    sentence = where(submissions, rounds, len(cores))
    if not others:
        sentence += "; otter-grader and check50 were left out, because they were not installed"
    return Figures(sentence, rows, growth, seconds, memory)


def show(found: Figures) -> None:
    tables = figures.table, figures.goals_table, figures.growth_table, figures.parts_table
    print(found.where, *(make_table(found) for make_table in tables), sep="\n\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=SUBMISSIONS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--offline", action="store_true", help="Leave out otter-grader and check50.")
    parser.add_argument("--compare", action="store_true", help="Only compare the ratio to cold pytest with speed.json.")
    chosen = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    if chosen.compare:
        with tempfile.TemporaryDirectory() as folder:
            before = figures.committed_ratio(min(chosen.submissions, FEW))
            sides = Sides(Path(folder), chosen.submissions, cores).ratio()
            print(figures.compared(Figures("", measure(sides, chosen.rounds)), before))
        return
    if len(cores) < 2:
        raise SystemExit("This process may use one core only: two jobs need two.")
    found = full_run(chosen.submissions, chosen.rounds, not chosen.offline, cores)
    show(found)
    if (chosen.submissions, chosen.rounds, chosen.offline) == (SUBMISSIONS, ROUNDS, False):
        found.save()
        plot.draw(found, PLOT)
        PAGE.write_text(figures.written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
        print(f"\nWritten: {FILE}, {PLOT} and {PAGE}")


if __name__ == "__main__":
    main()
