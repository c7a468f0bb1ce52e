"""Draws the plot of bench.py: how time and memory grow with the class."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from figures import Figures, Grown
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

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


def seconds_each(one: Grown) -> float:
    return one.seconds / one.size
