"""Lays pictures out as rectangles, texts and lines, and writes them as SVG or, with matplotlib, as PNG."""

from __future__ import annotations

import importlib.util
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.files import write_where_named
from grader.practice.picture_text import (
    decimals_of,
    differences,
    label,
    largest,
    needs_expected,
    number,
    problem_of,
    shade_of,
    title,
)
from grader.reports.exporters.html import Picture
from grader.testing.drawings import Drawing, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDTH = 500
"""In pixels: narrow enough for a telephone."""
CELL, LINE, GAP, MARGIN = 24, 18, 22, 12
CHARACTER = 7.3
"""The width of a character of a 12 px font with equal widths."""
BAR = 220
PLOT = 90
LETTERS = int((WIDTH - 2 * MARGIN) / CHARACTER)

DARKEST = 0.4
"""The opacity of a full shade: text in the same colour stays readable on it, in light and in dark."""
WRONG = "#d33"
DOTS_PER_INCH = 192
_POINTS = 72 / 96  # of a font whose size is in pixels
# `:root` is only a file of its own; in a page, the page has the colours.
_STYLE = f"""\
svg:root{{color:#1f2328;background:#fff}}\
@media(prefers-color-scheme:dark){{svg:root{{color:#e6edf3;background:#0d1117}}}}\
.drawn text{{fill:currentColor;font:12px ui-monospace,Consolas,monospace;white-space:pre}}\
.drawn .m{{text-anchor:middle}}.drawn .e{{text-anchor:end}}.drawn .b{{font-weight:bold}}\
.drawn rect{{fill:currentColor;stroke:currentColor;stroke-opacity:.35}}\
.drawn path{{fill:none;stroke:currentColor;stroke-width:2}}\
.drawn .x{{stroke:{WRONG};stroke-opacity:1;stroke-width:2.5}}.drawn .d{{stroke:{WRONG};stroke-dasharray:3 4}}"""
_CLASSES = {"middle": "m", "end": "e"}


@dataclass(frozen=True)
class Box:
    """A rectangle, filled from 0 (not at all) to 1; a wrong one has a coloured frame."""

    x: float
    y: float
    width: float
    height: float
    shade: float = 0.0
    is_wrong: bool = False


@dataclass(frozen=True)
class Label:
    """A text. anchor: which part of it is at x."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    is_bold: bool = False


@dataclass(frozen=True)
class Curve:
    """A line through points; a dotted one shows what is expected."""

    points: list[tuple[float, float]]
    is_expected: bool = False


@dataclass
class Canvas:
    """The shapes of pictures, their size, and the same in words."""

    shapes: list[Box | Label | Curve] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    width: float = WIDTH
    height: float = MARGIN

    def say(self, sentence: str, x: float = MARGIN, is_bold: bool = False) -> None:
        """Add a sentence below everything else."""
        for line in textwrap.wrap(sentence, LETTERS):
            self.height += LINE
            self.shapes.append(Label(x, self.height - 5, line, is_bold=is_bold))
        self.words.append(sentence)


def canvas_of(drawings: Sequence[Drawing]) -> Canvas:
    """Lay pictures out, one below the other."""
    canvas = Canvas()
    for drawing in drawings:
        canvas.say(drawing.caption, is_bold=True)
        for panel in drawing.panels:
            canvas.height += GAP / 2
            canvas.say(title(panel))
            canvas.words += filter(None, [differences(panel)])
            canvas.height += 6
            match panel.kind:
                case "bars":
                    _bars(canvas, panel)
                case "lines":
                    _curves(canvas, panel)
                case "steps":
                    _steps(canvas, panel)
                case _:
                    _grids(canvas, panel)
        if drawing.problem:
            canvas.height += GAP / 2
            canvas.say(problem_of(drawing))
        canvas.height += GAP
    return canvas


def _grids(canvas: Canvas, panel: Panel) -> None:
    """Add the student's grids side by side, and the expected ones where they differ or are missing."""
    parts = [(panel.grids, "yours")]
    if needs_expected(panel):
        parts.append((panel.expected_grids, "expected"))
    x = float(MARGIN)
    bottom = canvas.height
    for grids, whose in parts:
        for place, grid in enumerate(grids):
            width = _grid_width(panel, grid)
            if x + width > WIDTH and x > MARGIN:
                x, canvas.height = float(MARGIN), bottom + GAP / 2
            heading = " ".join(
                filter(None, [label(panel.groups, place) if len(grids) > 1 else "", whose if len(parts) > 1 else ""])
            )
            canvas.width = max(canvas.width, x + width + MARGIN)  # a wrong shape can be wide
            bottom = max(bottom, _grid(canvas, panel, grid, place, (x, canvas.height), heading, whose == "yours"))
            x += width + GAP
    canvas.height = bottom


def _texts(panel: Panel) -> tuple[int, float]:
    """Return the decimals of a panel's numbers, and the width of its cells."""
    decimals = decimals_of(panel)
    numbers = [one for grids in (panel.grids, panel.expected_grids) for grid in grids for row in grid for one in row]
    widths = [len(_text(panel, one, decimals)) + 2 for one in numbers] + [len(one) + 1 for one in panel.columns]
    return decimals, max(widths, default=1) * CHARACTER


def _text(panel: Panel, value: Any, decimals: int) -> str:
    return ("1" if value else "0") if panel.kind == "mask" else number(value, decimals)


def _margin(panel: Panel, grid: list[list[Any]]) -> float:
    names = [label(panel.rows, row) for row in range(len(grid))] if panel.rows or len(grid) > 1 else []
    return max((len(name) for name in names), default=0) * CHARACTER + 6


def _grid_width(panel: Panel, grid: list[list[Any]]) -> float:
    return _margin(panel, grid) + max((len(row) for row in grid), default=0) * _texts(panel)[1]


def _grid(
    canvas: Canvas,
    panel: Panel,
    grid: list[list[Any]],
    place: int,
    corner: tuple[float, float],
    title: str,
    is_yours: bool,
) -> float:
    """Add one grid with its labels, and return where it ends."""
    (x, y), margin = corner, _margin(panel, grid)
    decimals, width = _texts(panel)
    shapes = canvas.shapes
    if title:
        shapes.append(Label(x + margin, y + 12, title, is_bold=True))
        y += LINE
    count = max((len(row) for row in grid), default=0)
    if panel.columns or count > 1:
        shapes += [
            Label(x + margin + (column + 0.5) * width, y + 12, label(panel.columns, column), "middle")
            for column in range(count)
        ]
        y += LINE
    for row, cells in enumerate(grid):
        top = y + row * CELL
        if panel.rows or len(grid) > 1:
            shapes.append(Label(x + margin - 6, top + 16, label(panel.rows, row), "end"))
        for column, value in enumerate(cells):
            is_wrong = is_yours and (place, row, column) in panel.wrong
            left = x + margin + column * width
            shapes.append(Box(left, top, width, CELL, shade_of(panel, value), is_wrong))
            mark = "≠" if is_wrong else ""
            shapes.append(Label(left + width / 2, top + 16, mark + _text(panel, value, decimals), "middle", is_wrong))
    return y + len(grid) * CELL


def _bars(canvas: Canvas, panel: Panel) -> None:
    decimals, longest = decimals_of(panel), largest(panel) or 1.0
    yours, wanted = ([row[0] for grid in grids for row in grid] for grids in (panel.grids, panel.expected_grids))
    margin = MARGIN + max([len(label(panel.rows, place)) for place in range(len(yours or wanted))]) * CHARACTER + 8
    for place, value in enumerate(yours or wanted):
        is_wrong = (0, place, 0) in panel.wrong
        length = abs(value) / longest * BAR if math.isfinite(value) else 0
        text = f"≠{number(value, decimals)}, expected {number(wanted[place], decimals)}" if is_wrong else None
        canvas.shapes += [
            Label(margin - 8, canvas.height + 14, label(panel.rows, place), "end"),
            Box(margin, canvas.height + 3, length, CELL - 8, 1.0, is_wrong),
            Label(margin + length + 6, canvas.height + 14, text or number(value, decimals), "start", is_wrong),
        ]
        canvas.height += CELL - 2


def _curves(canvas: Canvas, panel: Panel) -> None:
    """Add a plot for each column, in which the rows run from left to right."""
    yours, wanted = (grids[0] if grids else [] for grids in (panel.grids, panel.expected_grids))
    shown = yours or wanted
    count, most = max((len(row) for row in shown), default=0), largest(panel) or 1.0
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    for column in range(count):
        x = MARGIN + column % 2 * (width + GAP)
        y = canvas.height + LINE

        def points(rows: list[list[Any]], column: int = column, x: float = x, y: float = y) -> list[Any]:
            step = width / max(1, len(rows) - 1)
            values = [(place, row[column]) for place, row in enumerate(rows) if column < len(row)]
            return [
                (round(x + place * step, 1), round(y + PLOT / 2 - value / most * PLOT / 2, 1))
                for place, value in values
                if math.isfinite(value)
            ]

        is_wrong = any(place[2] == column for place in panel.wrong)
        canvas.shapes += [
            Label(x, y - 5, f"{'≠' if is_wrong else ''}{label(panel.columns, column)}", is_bold=is_wrong),
            Box(x, y, width, PLOT, 0.0, is_wrong),
            Curve(points(shown), is_expected=not yours),
        ]
        if is_wrong:
            canvas.shapes.append(Curve(points(wanted), is_expected=True))
        if column % 2 or column == count - 1:
            canvas.height += PLOT + LINE + GAP / 2


def _steps(canvas: Canvas, panel: Panel) -> None:
    """Add a box for each step with the shape there."""
    yours, wanted = (grids[0] if grids else [] for grids in (panel.grids, panel.expected_grids))
    margin = MARGIN + max(map(len, panel.rows), default=0) * CHARACTER + 10
    for row, name in enumerate(panel.rows):
        right = str(tuple(wanted[row])) if row < len(wanted) else ""
        shape = str(tuple(yours[row])) if row < len(yours) else "-"
        is_wrong = bool(right) and shape != right
        width = (len(shape) + 3) * CHARACTER
        canvas.shapes += [
            Label(margin - 10, canvas.height + 16, name, "end"),
            Box(margin, canvas.height, width, CELL, 0.2, is_wrong),
            Label(margin + width / 2, canvas.height + 16, f"{'≠' if is_wrong else ''}{shape}", "middle", is_wrong),
        ]
        if is_wrong:
            canvas.shapes.append(Label(margin + width + 8, canvas.height + 16, f"expected {right}"))
        canvas.height += CELL + 4


def require_picture(path: Path) -> None:
    """Raise GraderError if a picture cannot be written to a file of this name: in SVG, or in PNG with matplotlib."""
    if path.suffix.lower() not in (".svg", ".png"):
        raise GraderError(f"--out: {path} is no picture's name: let it end in .svg or .png.")
    if path.suffix.lower() == ".png" and importlib.util.find_spec("matplotlib") is None:
        raise GraderError(
            "--out: a PNG needs matplotlib: run `pip install matplotlib`, or let the file's name end in .svg."
        )


def write_picture(drawings: Sequence[Drawing], path: Path) -> None:
    """Write pictures to a file that `require_picture` accepts. Raises OSError."""
    write_where_named(path, to_svg(*drawings) if path.suffix.lower() == ".svg" else _to_png(*drawings))


def to_svg(*drawings: Drawing) -> str:
    """Return pictures as one SVG element, readable on light and dark pages, whose label says what they show."""
    canvas = canvas_of(drawings)
    width, height = round(canvas.width), round(canvas.height)
    words = escape(" ".join(canvas.words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawn" role="img" aria-label="{words}" width="{width}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto"><style>{_STYLE}</style>'
        f"{''.join(map(_element, canvas.shapes))}</svg>\n"
    )


def _element(shape: Box | Label | Curve) -> str:
    match shape:
        case Box():
            opacity = f"{shape.shade * DARKEST:.2f}".lstrip("0") if shape.shade else "0"
            place = f'x="{shape.x:.0f}" y="{shape.y:.0f}" width="{shape.width:.0f}" height="{shape.height:.0f}"'
            return f'<rect {place} fill-opacity="{opacity}"{_class("x" if shape.is_wrong else "")}/>'
        case Label():
            kind = _class(_CLASSES.get(shape.anchor, ""), "b" if shape.is_bold else "")
            return f'<text x="{shape.x:.0f}" y="{shape.y:.0f}"{kind}>{escape(shape.text)}</text>'
        case Curve():
            points = "L".join(f"{x:g} {y:g}" for x, y in shape.points)
            return f'<path d="M{points}"{_class("d" if shape.is_expected else "")}/>' if points else ""


def _class(*names: str) -> str:
    found = " ".join(filter(None, names))
    return f' class="{found}"' if found else ""


def _to_png(*drawings: Drawing) -> bytes:
    """Return pictures as PNG."""
    from matplotlib.figure import Figure

    canvas = canvas_of(drawings)
    figure = Figure(figsize=(canvas.width / 96, canvas.height / 96), dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, canvas.width), ylim=(canvas.height, 0))
    axes.set_axis_off()
    _paint(canvas, axes)
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _paint(canvas: Canvas, axes: Axes) -> None:
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import Rectangle

    for shape in canvas.shapes:
        match shape:
            case Box():
                fill, edge = (0, 0, 0, shape.shade * DARKEST), WRONG if shape.is_wrong else (0, 0, 0, 0.35)
                size = (shape.x, shape.y), shape.width, shape.height
                axes.add_patch(Rectangle(*size, facecolor=fill, edgecolor=edge, linewidth=2 if shape.is_wrong else 0.8))
            case Label():
                anchor = {"middle": "center", "end": "right"}.get(shape.anchor, "left")
                weight = "bold" if shape.is_bold else "normal"
                font = FontProperties(family="monospace", size=12 * _POINTS, weight=weight)
                axes.text(shape.x, shape.y, shape.text, ha=anchor, va="baseline", font=font, parse_math=False)
            case Curve() if shape.points:
                across, down = zip(*shape.points, strict=True)
                colour, style = (WRONG, ":") if shape.is_expected else ("black", "-")
                axes.plot(across, down, color=colour, linestyle=style, linewidth=1.5)


def pictures_of(drawings: Sequence[Drawing]) -> dict[str, Picture]:
    """Return pictures for a page, by the name of their exercise."""
    found: dict[str, list[Drawing]] = {}
    for drawing in drawings:
        found.setdefault(drawing.exercise, []).append(drawing)
    return {name: Picture(to_svg(*own), " ".join(one.caption for one in own)) for name, own in found.items()}
