"""The lines above the title of a quiz's sheet: they name the quiz and the variant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.submissions.names import SHEET_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grader.submissions.names import CourseFiles

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


def quiz_of(text: str, units: Iterable[str], course_files: CourseFiles) -> str:
    """Return the unit whose quiz a sheet is, by the lines above its title, or else by the title; "" if by neither."""
    lines = text.removeprefix("\ufeff").split("\n", _MOST_FRONT_LINES)[:_MOST_FRONT_LINES]
    named, title = front_matter(lines).get("quiz", ("", 0))[0], _title(lines)
    if named or not title:
        return named if named in units else ""
    sheets = {unit: course_files.text(f"{unit}{SHEET_SUFFIX}") or "" for unit in units}
    same = [unit for unit, sheet in sheets.items() if _title(sheet.split("\n", _MOST_FRONT_LINES)) == title]
    return same[0] if len(same) == 1 else ""


def _title(lines: Sequence[str]) -> str:
    return next((line.rstrip() for line in lines if line.startswith("# ")), "")


def written_lines(text: str) -> list[str]:
    """Return the lines of a sheet that are not blank."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]
