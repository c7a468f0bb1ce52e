"""What all HTML pages share: templates in which text is escaped and printable, and a style that a policy allows."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from grader.text import printable

if TYPE_CHECKING:
    from pathlib import Path


class Style(NamedTuple):
    """The text of a style sheet, and its digest, by which the page's policy allows it and no other."""

    text: Markup
    digest: str


def style(*paths: Path) -> Style:
    """Return the style of a page: these files, one after the other."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return Style(Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())


def environment(folder: Path) -> Environment:
    """Return an environment for the templates of a folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _visible(value: Any) -> Any:
    """Make the text of an expression printable; what is HTML already was made so before."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
