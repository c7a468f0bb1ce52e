"""Draws the plot of bench.py: how time and memory grow with the class."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from figures import Figures, Grown
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

# Text stays text, in the fonts of whoever reads it, and the same figures give the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "speed", "font.family": "sans-serif"})


def draw(figures: Figures, path: Path) -> None:
    """Draw seconds per submission, and memory of the command, beside the number of submissions, as an SVG file."""
    picture = Figure(figsize=(8, 3), layout="constrained")
    panels = picture.subplots(1, 2)
    sizes = [one.size for one in figures.growth]
    for panel, title, values in (
        (panels[0], "seconds per submission", [seconds_each(one) for one in figures.growth]),
        (panels[1], "memory of the command, MB", [one.memory for one in figures.growth]),
    ):
        panel.loglog(sizes, values, marker="o")
        panel.set(title=title, xlabel="submissions", ylim=(min(values) / 2, max(values) * 2))
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.set_yticks(values, [f"{value:.3g}" for value in values])
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        panel.grid(visible=True, alpha=0.3)
    picture.savefig(path, metadata={"Date": None})


def seconds_each(one: Grown) -> float:
    return one.seconds / one.size
