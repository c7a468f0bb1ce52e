"""The lines above the title of a quiz's sheet: they name the quiz and the variant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST_LINE = 200
"""The most characters of a heading, or of a line above the title, that are read."""
_MOST_FRONT_LINES = 20

# A formatter that does not know front matter may have turned it into `## quiz: … variant: …`.
_FRONT = re.compile(r"\b(quiz|variant)[ \t]*:[ \t]*(\S*)", re.IGNORECASE)


def front_matter(lines: Sequence[str], is_item: Callable[[str], bool] = lambda _: False) -> dict[str, tuple[str, int]]:
    """Return the values above the title of a sheet by key, each with its line's number.

    is_item: Whether a line is the heading of an item, which ends them where the title is missing.
    """
    front: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[:_MOST_FRONT_LINES], start=1):
        if line.startswith("# ") or is_item(line):
            break
        text = line[:LONGEST_LINE].lstrip("# \t")
        if _FRONT.match(text):
            for key, value in _FRONT.findall(text):
                front.setdefault(key.casefold(), (value.strip("\"'"), number))
    return front


def quiz_of(text: str) -> str:
    """Return the unit whose quiz a sheet says it is; "" if it says none."""
    return front_matter(text.split("\n", _MOST_FRONT_LINES)).get("quiz", ("", 0))[0]


def written_lines(text: str) -> list[str]:
    """Return the lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]
