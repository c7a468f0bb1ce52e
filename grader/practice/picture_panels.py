"""What every form of a picture shows of a panel: numbers as text, shades, and sentences on what differs."""

from __future__ import annotations

import math
from typing import Any

from grader.testing.drawings import Drawing, Panel
from grader.text import plain

MOST_LISTED = 4


def decimals_of(panel: Panel) -> int:
    """Return with how many decimals a panel's numbers are written: enough to tell wrong ones from the expected ones."""
    pairs = [(panel.grids[n][row][column], panel.expected_grids[n][row][column]) for n, row, column in _both(panel)]
    return 4 if any(number(one, 2) == number(other, 2) for one, other in pairs) else 2


def _both(panel: Panel) -> list[tuple[int, int, int]]:
    """Return the wrong cells that both the student and the solution have."""
    grids = panel.grids, panel.expected_grids
    return [(n, row, column) for n, row, column in panel.wrong if all(column < len(grid[n][row]) for grid in grids)]


def number(value: Any, decimals: int) -> str:
    """Return a cell's number as text."""
    if isinstance(value, bool | int):
        return str(value)
    if not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{decimals}f}" if abs(value) < 1000 else f"{value:.4g}"


def shade_of(panel: Panel, value: Any) -> float:
    """Return how dark a cell is, from 0 to 1: its share of the largest number of the panel, or of 1 for weights."""
    if isinstance(value, bool):
        return float(value)
    if not math.isfinite(value):
        return 0.0
    if panel.kind in ("weights", "mask"):
        return min(1.0, float(abs(value)))
    return float(abs(value) / (largest(panel) or 1.0))


def largest(panel: Panel) -> float:
    """Return the largest finite number of a panel, without its sign."""
    found = [abs(one) for grids in (panel.grids, panel.expected_grids) for grid in grids for row in grid for one in row]
    return float(max((one for one in found if math.isfinite(one)), default=0.0))


def label(labels: list[str], place: int) -> str:
    """Return the label of a row, a column or a grid; by default its number."""
    return labels[place] if place < len(labels) else str(place)


def title(panel: Panel) -> str:
    """Return a panel's name, and in a sentence how it compares with what is expected, if anything is."""
    return ": ".join(filter(None, [panel.name, _verdict(panel)]))


def _verdict(panel: Panel) -> str:
    if panel.shape is None:
        return "Your code gives no numbers here yet. This is expected:" if panel.expected is not None else ""
    if panel.has_other_shape and panel.kind != "steps":
        return f"Your shape is {_shape(panel.shape)}; expected is {_shape(panel.expected_shape)}."
    if panel.values is None:
        return f"Your shape is {_shape(panel.shape)}: too many numbers to draw."
    if panel.expected is None:
        return ""
    what = {"steps": "shape", "mask": "cell"}.get(panel.kind, "number")
    count = len(panel.grids[0]) if panel.kind == "steps" else panel.count
    wrong = len({place[:2] for place in panel.wrong}) if panel.kind == "steps" else len(panel.wrong)
    if not wrong:
        return f"All {count} {what}s are as expected." if count > 1 else f"The {what} is as expected."
    return f"{wrong} of {count} {what}{'s' if count > 1 else ''} {'differs' if wrong == 1 else 'differ'}."


def problem_of(drawing: Drawing) -> str:
    """Say why a picture ends early."""
    return f"The rest cannot be drawn: {plain(drawing.problem)}"


def needs_expected(panel: Panel) -> bool:
    """Return whether the expected numbers are drawn too, because the student's differ or are missing."""
    return panel.expected is not None and (panel.values is None or bool(panel.wrong) or panel.has_other_shape)


def differences(panel: Panel) -> str:
    """List the first wrong cells in a sentence, for readers who do not see the picture; "" if there are none."""
    decimals, wrong = decimals_of(panel), sorted(_both(panel))
    places = [
        f"{_place(panel, *place)} is {number(panel.grids[place[0]][place[1]][place[2]], decimals)}, expected "
        f"{number(panel.expected_grids[place[0]][place[1]][place[2]], decimals)}"
        for place in wrong[:MOST_LISTED]
    ]
    more = f"; and {len(wrong) - MOST_LISTED} more" if len(wrong) > MOST_LISTED else ""
    return f"{'; '.join(places)}{more}." if places else ""


def _place(panel: Panel, group: int, row: int, column: int) -> str:
    parts = [label(panel.groups, group)] if len(panel.grids) > 1 else []
    parts += [f"row {label(panel.rows, row)}"] if len(panel.grids[group]) > 1 else []
    parts += [f"column {label(panel.columns, column)}"] if len(panel.grids[group][row]) > 1 else []
    return ", ".join(parts) or panel.name


def _shape(sizes: list[int]) -> str:
    return str(tuple(sizes))
