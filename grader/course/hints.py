"""The hints of each exercise: the idea, the shapes and the call. Students receive the file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.course.model import Course

FILENAME = "hints.json"
TAG = "hints"
"""The tag of a cell with the hints of the exercise above it."""
LEVELS = ("the idea", "the shapes", "the call")
"""What the hints of an exercise are about, in this order."""

Hints = dict[str, dict[str, list[str]]]
"""By unit and exercise: one hint for each level."""

_ITEM = re.compile(r"(\d+)\. (.*)")


def read_hints(course: Course) -> Hints:
    """Return the hints that `grader build` has written for a course. Without the file there are none."""
    path = course.exercises / FILENAME
    hints: Hints = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return hints


def to_json(hints: Hints) -> str:
    """Return the text of the file."""
    return json.dumps(hints, indent=1, ensure_ascii=False) + "\n"


def parse_list(lines: Sequence[str]) -> list[str] | None:
    """Return the items of a numbered list, one for each level, from the lines of a text cell; None if it differs."""
    items: list[str] = []
    for line in filter(None, (line.strip() for line in lines)):
        if (found := _ITEM.fullmatch(line)) and int(found[1]) == len(items) + 1:
            items.append(found[2])
        elif found or not items:
            return None
        else:
            items[-1] += f" {line}"
    return items if len(items) == len(LEVELS) else None
