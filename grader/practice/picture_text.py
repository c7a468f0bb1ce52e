"""What a picture says in words and numbers, in each of its forms; and the picture as text.

A terminal may have 80 columns, no colours, and no blocks: then the picture is ASCII.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from grader.testing.drawings import Drawing, Panel
from grader.text import plain

DRAWS = "Pictures show what exercises return and what forward hooks see on named layers. Nothing else can be drawn."
INDENT = 4
MARK = "*"
MOST_ROWS = 48
MOST_LISTED = 4
BAR = 30
BLOCKS, ASCII = " ░▒▓█", " .:+#"


class _Style(NamedTuple):
    """The width of the terminal, and its characters from light to dark."""

    width: int
    shades: str


def print_pictures(drawings: Sequence[Drawing], console: Console) -> None:
    """Print pictures, each under the name of its exercise."""
    for drawing in drawings:
        console.print()
        console.print(Rule(drawing.exercise, align="left", characters="-"), width=min(console.width, 80))
        print_picture(drawing, console)
    console.print()
    console.print(DRAWS, style="dim")


def print_picture(drawing: Drawing, console: Console) -> None:
    """Print a picture with its caption; wrong numbers have a mark, and the expected ones below."""
    style = _Style(min(console.width, 100) - INDENT, BLOCKS if _has(BLOCKS, console.encoding) else ASCII)
    _say(console, drawing.caption, 2)
    for panel in drawing.panels:
        console.print()
        _say(console, title(panel), 2)
        for line in lines_of(panel, style.width, style.shades):
            line.pad_left(INDENT)
            console.print(line, no_wrap=True, overflow="crop", crop=True)
    if drawing.problem:
        console.print()
        _say(console, problem_of(drawing), 2)


def lines_of(panel: Panel, width: int, shades: str) -> list[Text]:
    """Return a panel as lines: the student's numbers and, where they differ or are missing, the expected ones."""
    style = _Style(width, shades)
    if panel.kind == "steps":
        return _steps(panel)
    if panel.kind == "bars":
        return _bars(panel, style)
    if panel.kind == "lines":
        return _waves(panel, style)
    lines = _side_by_side(panel, panel.grids, style)
    if needs_expected(panel):
        if panel.grids:
            lines.append(Text(f"{MARK} differs. Expected:" if panel.wrong else "Expected:", style="dim"))
        lines += _side_by_side(panel, panel.expected_grids, style)
    if panel.kind == "mask":
        lines.append(Text(f"{shades[-1]} True   . False", style="dim"))
    return lines


def _side_by_side(panel: Panel, grids: list[list[list[object]]], style: _Style) -> list[Text]:
    """Return grids beside each other as far as they fit, each under its label."""
    blocks = []
    for place, grid in enumerate(grids):
        head = [Text(label(panel.groups, place), style="bold")] if len(grids) > 1 else []
        blocks.append(head + _grid(panel, place, grid, style))
    rows: list[list[list[Text]]] = [[]]
    for block in blocks:
        if rows[-1] and sum(_width(one) + 3 for one in [*rows[-1], block]) > style.width + 3:
            rows.append([])
        rows[-1].append(block)
    return [line for row in rows for line in _joined(row)]


def _joined(blocks: list[list[Text]]) -> list[Text]:
    widths = [_width(block) for block in blocks]
    lines = []
    for parts in zip_longest(*blocks, fillvalue=Text()):
        line = Text()
        for part, width in zip(parts, widths, strict=True):
            line.append_text(part).append(" " * (width - part.cell_len + 3))
        line.rstrip()
        lines.append(line)
    return lines


def _width(block: list[Text]) -> int:
    return max((line.cell_len for line in block), default=0)


def _grid(panel: Panel, place: int, grid: list[list[object]], style: _Style) -> list[Text]:
    """Return one grid with the labels of its rows and columns."""
    write = _cell_writer(panel, style.shades)
    cells = [[write(value) for value in row] for row in grid[:MOST_ROWS]]
    count = max((len(row) for row in cells), default=0)
    heads = [label(panel.columns, column) for column in range(count)] if panel.columns or count > 1 else [""] * count
    widths = [max([len(heads[c]), *(len(row[c]) + 1 for row in cells if c < len(row))]) for c in range(count)]
    names = [label(panel.rows, row) if panel.rows or len(grid) > 1 else "" for row in range(len(cells))]
    margin = max(map(len, names), default=0)
    while sum(widths) + 2 * len(widths) + margin > style.width and len(widths) > 1:
        widths.pop()  # a wrong shape can have any number of columns
    end = " ..." if len(widths) < count else ""
    head = Text(" " * margin + "".join(f"  {heads[c]:>{w - 1}} " for c, w in enumerate(widths)) + end, style="dim")
    lines = [head] if any(heads) else []
    for number_, row in enumerate(cells):
        line = Text(f"{names[number_]:>{margin}}", style="dim")
        for column, (text, width) in enumerate(zip(row, widths, strict=False)):
            is_wrong = (place, number_, column) in panel.wrong
            shown = f"  {text:>{width - 1}}{MARK if is_wrong else ' '}"
            line.append(shown, style="bold red" if is_wrong else "not dim")
        line.append(end)
        lines.append(line)
    return lines


def _cell_writer(panel: Panel, shades: str) -> Callable[[object], str]:
    """Return what writes a value of this panel."""
    decimals = decimals_of(panel)
    if panel.kind == "mask":
        return lambda value: shades[-1] if value else "."
    if panel.kind == "weights":
        return lambda value: f"{number(value, decimals)} {shades[math.ceil(shade_of(panel, value) * 4 - 1e-6)]}"
    return lambda value: number(value, decimals)


def _bars(panel: Panel, style: _Style) -> list[Text]:
    """Return a bar for each number, and the expected number behind one that differs."""
    decimals, longest = decimals_of(panel), largest(panel) or 1.0
    yours = [row[0] for grid in panel.grids for row in grid]
    wanted = [row[0] for grid in panel.expected_grids for row in grid]
    names = [label(panel.rows, place) for place in range(max(len(yours), len(wanted)))]
    lines = []
    for place, name in enumerate(names[:MOST_ROWS]):
        value = yours[place] if place < len(yours) else wanted[place]
        is_wrong = (0, place, 0) in panel.wrong
        length = round(abs(value) / longest * BAR) if math.isfinite(value) else 0
        bar = (style.shades[-1] if value >= 0 else "-") * length
        line = Text(f"{name:>{max(map(len, names))}} ")
        line.append(f"{number(value, decimals):>9}{MARK if is_wrong else ' '} {bar}", "bold red" if is_wrong else "")
        if is_wrong:
            line.append(f"  expected {number(wanted[place], decimals)}")
        lines.append(line)
    return lines


def _waves(panel: Panel, style: _Style) -> list[Text]:
    """Return a strip for each column, in which each row has a dot where its number lies."""
    yours, wanted = (grids[0] if grids else [] for grids in (panel.grids, panel.expected_grids))
    shown = yours or wanted
    names = [label(panel.rows, row) for row in range(len(shown))][:MOST_ROWS]
    margin, count = max(map(len, names), default=0), max((len(row) for row in shown), default=1)
    wide = max(9, min(21, (style.width - margin) // count - 3))
    count = max(1, min(count, (style.width - margin) // (wide + 3)))
    most = largest(panel) or 1.0

    def place_of(value: float) -> int:
        return round((value / most + 1) / 2 * (wide - 1)) if math.isfinite(value) else 0

    head = Text(" " * margin, style="dim")
    for column in range(count):
        head.append(f"   {label(panel.columns, column)[:wide]:^{wide}}")
    lines = [head]
    for row, name in enumerate(names):
        line = Text(f"{name:>{margin}}", style="dim")
        for column, value in enumerate(shown[row][:count]):
            strip = [" "] * wide
            strip[wide // 2] = "|"
            is_wrong = (0, row, column) in panel.wrong
            if is_wrong:
                strip[place_of(wanted[row][column])] = "+"
            strip[place_of(value)] = MARK if is_wrong else "o"
            line.append("   " + "".join(strip), "bold red" if is_wrong else "not dim")
        lines.append(line)
    lines.append(Text(f"From {-most:.3g} on the left to {most:.3g} on the right; | is 0.", style="dim"))
    if panel.wrong:
        lines.append(Text(f"{MARK} is your number where it differs, and + the expected one.", style="dim"))
    return lines


def _steps(panel: Panel) -> list[Text]:
    """Return the shape at each step, and the expected one behind one that differs."""
    yours, wanted = (grids[0] if grids else [] for grids in (panel.grids, panel.expected_grids))
    widest = max(map(len, panel.rows), default=0)
    lines = []
    for row, name in enumerate(panel.rows):
        line = Text(f"{name:{widest}}  ", style="dim")
        right = str(tuple(wanted[row])) if row < len(wanted) else ""
        shape = str(tuple(yours[row])) if row < len(yours) else "-"
        if shape in (right, "") or not right:
            line.append(shape, style="not dim")
        else:
            line.append(f"{shape}{MARK}", style="bold red").append(f"  expected {right}", style="not dim")
        lines.append(line)
    return lines


def _has(characters: str, encoding: str) -> bool:
    """Return whether an encoding has these characters."""
    try:
        characters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _say(console: Console, sentence: str, indent: int) -> None:
    """Print a sentence in lines of readable length."""
    for line in Text(sentence).wrap(console, min(console.width, 100) - indent):
        line.pad_left(indent)
        console.print(line)


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
