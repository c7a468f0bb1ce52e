"""The figures of bench.py: what was measured, in benchmarks/speed.json, and the tables and goals made of it."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).with_name("speed.json")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
PLOT = PAGE.with_suffix(".svg")
# Each night the ratio has to be more than this part of the committed one.
LEAST = 0.75
CLOCKS = {"wall": "clock", "processor": "processor"}


@dataclass(frozen=True)
class Measured:
    """What one submission took in one round, in seconds, and the most memory of its command, in MB."""

    wall: float
    processor: float
    memory: float


@dataclass(frozen=True)
class Row:
    """What was measured of one side: how many submissions a command grades, on how many cores, and each round.

    `beside` is the side of which the table shows a multiple, if there is one.
    """

    name: str
    size: int
    cores: int
    beside: str
    rounds: list[Measured]

    def median(self, what: str) -> float:
        return statistics.median(getattr(one, what) for one in self.rounds)


@dataclass(frozen=True)
class Grown:
    """What a class of one size took: seconds, and the most memory of the command, in MB."""

    size: int
    seconds: float
    memory: float


@dataclass(frozen=True)
class Figures:
    """All that one run measured.

    parts: processor time per submission of all units, by part. memory: the median and the most that a process shares
    with no other, by part.
    """

    where: str
    sides: dict[str, Row]
    growth: list[Grown] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)

    def ratio(self, key: str, beside: str, clock: str) -> float:
        """Return how many times the time of a side another one takes: the median of the ratios within a round."""
        pairs = zip(self.sides[beside].rounds, self.sides[key].rounds, strict=True)
        return statistics.median(getattr(other, clock) / getattr(one, clock) for other, one in pairs)

    def grown(self, size: int) -> Grown | None:
        return next((one for one in self.growth if one.size == size), None)

    def save(self) -> None:
        FILE.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")


def load(text: str) -> Figures:
    """Read the figures as `Figures.save` writes them."""
    found = json.loads(text)
    sides = {
        key: Row(**{**row, "rounds": [Measured(**one) for one in row["rounds"]]}) for key, row in found["sides"].items()
    }
    memory = {name: (median, most) for name, (median, most) in found["memory"].items()}
    return Figures(found["where"], sides, [Grown(**one) for one in found["growth"]], found["parts"], memory)


def committed() -> Figures | None:
    """Return the figures of the last full run, if there was one."""
    return load(FILE.read_text(encoding="utf-8")) if FILE.is_file() else None


# -- tables --------------------------------------------------------------------------------------------------------


def table(figures: Figures) -> str:
    """Return the table of all sides."""
    lines = [
        "| medians per submission | submissions per command | cores | submissions per second | seconds | "
        "processor seconds | MB, at most | times cold pytest: clock | processor |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key, row in figures.sides.items():
        seconds = row.median("wall")
        times = [f"{figures.ratio(key, row.beside, clock):.1f}" if row.beside else "" for clock in CLOCKS]
        cells = [
            row.name, str(row.size), str(row.cores), f"{1 / seconds:.2f}", f"{seconds:.2f}",
            f"{row.median('processor'):.2f}", f"{row.median('memory'):.0f}", *times,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@dataclass(frozen=True)
class Goal:
    """A bound on a figure: the least value if `least`, otherwise the greatest."""

    name: str
    bound: float
    value: float
    least: bool = False

    def row(self) -> str:
        reached = self.value >= self.bound if self.least else self.value <= self.bound
        word = "at least" if self.least else "at most"
        return f"| {self.name} | {word} {self.bound:g} | {self.value:.3g} | {'yes' if reached else '**no**'} |"


# A speed-up: the goal's name, its bound, the side, and the side that it is compared with.
SPEED_UPS = (
    ("one unit, 1 job: times cold pytest; 20 is the aim", 12, "warm_1", "pytest"),
    ("all units, 1 job: times cold pytest", 5, "whole_1", "whole_pytest"),
)


def goals(figures: Figures) -> Iterator[Goal]:
    """Yield the goals whose figures were measured."""
    sides = figures.sides
    for name, bound, key, beside in SPEED_UPS:
        if key in sides:
            for clock, by in CLOCKS.items():
                yield Goal(f"{name} (by {by})", bound, figures.ratio(key, beside, clock), least=True)
    if "in_nbgrader" in sides:
        for clock, by in CLOCKS.items():
            share = figures.ratio("nbgrader", "in_nbgrader", clock)
            yield Goal(f"nbgrader with our preprocessor, as a part of its own time (by {by})", 0.1, share)
    if "imports" in sides:
        for key, cores in (("cold_1", "one core"), ("cold_2", "two cores")):
            beside_imports = figures.ratio("imports", key, "wall")
            yield Goal(f"one cold grade on {cores}, in times of `import torch, pytest`", 1.25, beside_imports)
    yield from memory_goals(figures)


def memory_goals(figures: Figures) -> Iterator[Goal]:
    """Yield the goals of memory, and of the largest class."""
    hundred, thousand = figures.grown(100), figures.grown(1000)
    if "student processes" in figures.memory:
        median, most = figures.memory["student processes"]
        yield Goal("MB of a student's process alone, median", 50, median)
        yield Goal("MB of a student's process alone, most", 200, most)
    if thousand:
        yield Goal("seconds for 1,000 submissions, 2 jobs", 120, thousand.seconds)
    if hundred and thousand:
        yield Goal("memory of a batch of 1,000 beside one of 100", 1.1, thousand.memory / hundred.memory)


def goals_table(figures: Figures) -> str:
    lines = ["| goal | | measured | reached |", "|---|---:|---:|---|"]
    return "\n".join([*lines, *(goal.row() for goal in goals(figures))])


def parts_table(figures: Figures) -> str:
    """Return the tables of processor time and of memory by part."""
    total = sum(figures.parts.values())
    lines = ["| all units | processor seconds per submission | share |", "|---|---:|---:|"]
    lines += [f"| {part} | {seconds:.3f} | {seconds / total:.0%} |" for part, seconds in figures.parts.items()]
    lines += ["", "| MB that a process shares with no other | median | most |", "|---|---:|---:|"]
    lines += [f"| {part} | {median:.0f} | {most:.0f} |" for part, (median, most) in figures.memory.items()]
    return "\n".join(lines)


def growth_table(figures: Figures) -> str:
    lines = ["| submissions, 2 jobs | seconds | seconds per submission | MB, at most |", "|---:|---:|---:|---:|"]
    lines += [
        f"| {one.size:,} | {one.seconds:.1f} | {one.seconds / one.size:.3f} | {one.memory:.0f} |"
        for one in figures.growth
    ]
    return "\n".join(lines)


# -- the page ------------------------------------------------------------------------------------------------------


def written(page: str, figures: Figures | None) -> str:
    """Return the page with the figures between its markers, or with a sentence if there are none."""
    blocks = {"figures": "Not measured yet: `make bench` fills this in.", "parts": "As above."}
    if figures:
        plot = f"![How fast each side grades; seconds and memory by the size of the class]({PLOT.name})"
        blocks["figures"] = "\n\n".join([f"{figures.where}:", table(figures), goals_table(figures), plot])
        blocks["parts"] = parts_table(figures)
    for name, text in blocks.items():
        before, begin, rest = page.partition(f"<!-- make bench: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        page = f"{before}{begin}\n{text}\n\n{end}{after}"
    return page


# -- each night ----------------------------------------------------------------------------------------------------


def committed_ratio(size: int) -> Figures:
    """Return the figures of the last full run. Exit if there are none with the ratio of a class of this size."""
    before = committed()
    if before is None or before.sides["few"].size != size:
        raise SystemExit(f"benchmarks/{FILE.name} has no ratio for a class of {size}: run `make bench` and commit it.")
    return before


def compared(figures: Figures, before: Figures) -> str:
    """Compare the ratio to cold pytest with that of the last full run. Returns what was found.

    Raises:
        SystemExit: The ratio has fallen by a quarter or more.
    """
    found = []
    for clock, name in CLOCKS.items():
        now, then = (one.ratio("few", "pytest", clock) for one in (figures, before))
        if now <= LEAST * then:
            raise SystemExit(
                f"By {name}, grader grade is {now:.1f} times as fast as cold pytest. It was {then:.1f} times in "
                f"benchmarks/{FILE.name}: find what made it slower, or run `make bench` and commit the new figures."
            )
        found.append(f"{now:.1f} by {name} (committed: {then:.1f})")
    return f"grader grade is faster than cold pytest by a factor of {' and '.join(found)}"
