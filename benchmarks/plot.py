"""Draws the plot of bench.py: how fast each side grades, and how time and memory grow with the class."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from figures import Figures, Grown
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

# Text stays text, in the fonts of whoever reads it, and the same figures give the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "speed", "font.family": "sans-serif"})


def draw(figures: Figures, path: Path) -> None:
    """Draw the submissions per second of each side above the growth of time and memory, as an SVG file."""
    picture = Figure(figsize=(8, 6), layout="constrained")
    [above], [below] = picture.subfigures(2, 1, squeeze=False)
    draw_sides(figures, above.subplots())
    panels = below.subplots(1, 2)
    sizes = [one.size for one in figures.growth]
    for panel, title, values in (
        (panels[0], "seconds per submission", [seconds_each(one) for one in figures.growth]),
        (panels[1], "memory of the command, MB", [one.memory for one in figures.growth]),
    ):
        panel.loglog(sizes, values, marker="o")
        panel.set(title=title, xlabel="submissions", xlim=(sizes[0] / 2, sizes[-1] * 2))
        panel.set_ylim(min(values) / 2, max(values) * 2)
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        for size, value in zip(sizes, values, strict=True):
            panel.annotate(f"{value:.3g}", (size, value), (0, 7), textcoords="offset points", ha="center")
        panel.xaxis.set_minor_formatter(NullFormatter())
        # The points have their values. Close to each other, ticks would overlap.
        panel.yaxis.set_major_formatter(NullFormatter())
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.grid(visible=True, alpha=0.3)
    picture.savefig(path, metadata={"Date": None})


def draw_sides(figures: Figures, panel: Axes) -> None:
    """Draw a bar for cold pytest and each side that is compared with it."""
    rows = [row for key, row in figures.sides.items() if "pytest" in (key, row.beside)]
    names = [f"{row.name.replace('`', '')}: {row.size} per command" for row in rows]
    bars = panel.barh(names, [1 / row.median("wall") for row in rows])
    panel.bar_label(bars, fmt="%.2f", padding=4)
    panel.set(title="submissions per second, one unit")
    panel.invert_yaxis()  # the first row of the table on top
    panel.margins(x=0.15)


def seconds_each(one: Grown) -> float:
    return one.seconds / one.size
