"""How long an exercise takes a beginner, and how difficult it is: a line at the end of its docstring."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from grader.course.model import Course

LEVELS = ("easy", "medium", "hard")

EFFORT = re.compile(rf"Time: (?P<minutes>\d+) minutes\. Difficulty: (?P<level>{'|'.join(LEVELS)})\.")
"""The line."""

# Text and not syntax, because the file may be one that a student is working on.
_LINES = re.compile(rf"^(?:def|class) (?P<name>\w+)|^ +{EFFORT.pattern}$", re.MULTILINE)


class Effort(NamedTuple):
    """The expected minutes, with reading the text above the exercise, and the difficulty, one of LEVELS."""

    minutes: int
    difficulty: str


def efforts(course: Course) -> dict[str, dict[str, Effort]]:
    """Return the effort of each exercise, by unit and name. Exercises that do not state it are left out."""
    found: dict[str, dict[str, Effort]] = {}
    for unit, described in course.units.items():
        path, name = course.exercises / f"{unit}.py", ""
        of_unit = found[unit] = {}
        for match in _LINES.finditer(path.read_text(encoding="utf-8") if path.is_file() else ""):
            name = match["name"] or name
            if match["minutes"] and name in described.exercises:
                of_unit[name] = Effort(int(match["minutes"]), match["level"])
    return found
