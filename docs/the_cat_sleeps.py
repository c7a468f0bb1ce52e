"""Draws docs/the_cat_sleeps.svg, the weights of unit 4's ten steps, by running the unit as a student would."""

from __future__ import annotations

import contextlib
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    matplotlib.use("svg")  # which opens no window
    # Words stay words, and the same drawing is the same file.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "the cat sleeps"}
    unit = ROOT / "solutions" / "multi_head_attention.py"
    sys.path.insert(0, str(unit.parent))
    # Elsewhere, because the unit leaves a picture of its own where it runs.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        runpy.run_path(str(unit), run_name="__main__")
    plt.gcf().savefig(ROOT / "docs" / "the_cat_sleeps.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
