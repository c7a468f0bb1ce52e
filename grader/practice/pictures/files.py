"""Writes pictures as SVG, which needs no library, and as PNG, which needs matplotlib."""

from __future__ import annotations

import importlib.util
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.files import write_where_named
from grader.practice.pictures.canvas import Box, Canvas, Curve, Label, canvas_of
from grader.reports.exporters.html import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from grader.testing.drawings import Drawing

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
