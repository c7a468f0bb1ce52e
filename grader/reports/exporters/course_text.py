"""Text of the course as HTML: sentences with `code`, and Markdown with formulas, which become MathML."""

from __future__ import annotations

import html
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_FORMULA = 500
# Links, classes and styles are not among them.
_ATTRIBUTES = {"display", "stretchy", "mathvariant", "linethickness", "columnalign", "width", "accent", "fence"}


def inline(text: str) -> Markup:
    """Return a sentence as HTML: `code` in it is code, and all else is text, because a star may be a product."""
    return Markup(_sentences().renderInline(printable(text)))


def blocks(text: str) -> Markup:
    """Return Markdown as HTML: paragraphs, lists, code, emphasis and formulas, but no links, pictures or headings."""
    return Markup(_texts().render(printable(text)))


def formula(latex: str, options: Mapping[str, Any]) -> str:
    """Return a formula as MathML; if it is not understood or is too long, as code.

    Args:
        latex: The formula, without its dollar signs.
        options: `display_mode` says whether it has a line of its own.
    """
    from latex2mathml.converter import convert_to_element

    if len(latex) > LONGEST_FORMULA:
        return _as_code(latex)
    try:
        made = convert_to_element(latex, display="block" if options["display_mode"] else "inline")
    except Exception:  # noqa: BLE001 -- it has no base exception, and a text must stay readable
        return _as_code(latex)
    # The library leaves "<" in a text as it is, and it lets a formula have links and styles.
    for element in made.iter():
        element.text = html.unescape(element.text) if element.text else None
        element.attrib = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    return ElementTree.tostring(made, encoding="unicode")


def _as_code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


@cache
def _sentences() -> MarkdownIt:
    return MarkdownIt("zero").enable("backticks")


@cache
def _texts() -> MarkdownIt:
    allowed = ["backticks", "emphasis", "escape", "list", "fence", "newline"]
    return (
        MarkdownIt("zero")
        .enable(allowed)
        .use(dollarmath_plugin, allow_digits=False, allow_labels=False, renderer=formula)
    )
