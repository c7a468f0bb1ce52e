"""What students receive on an exercise beside its stub: its effort, its hints, and its rules with the tests of each."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from grader.course.model import Course
from grader.files import json_lines

EFFORT = re.compile(r"Time: (?P<minutes>\d+) minutes\. Difficulty: (?P<level>easy|medium|hard)\.")
"""The line at the end of an exercise's docstring that says how long it takes a beginner, and how difficult it is."""

# Text and not syntax, because the file may be one that a student is working on.
_LINES = re.compile(rf"^(?:def|class) (?P<name>\w+)|^ +{EFFORT.pattern}$", re.MULTILINE)

HINTS = "hints.json"
HINTS_TAG = "hints"
"""The tag of a cell with the hints of the exercise above it."""
HINT_LEVELS = ("the idea", "the shapes", "the call")
"""What the hints of an exercise are about, in this order."""

Hints = dict[str, dict[str, list[str]]]
"""By unit and exercise: one hint for each level."""

_ITEM = re.compile(r"(\d+)\. (.*)")

RULES = "rules.json"
Rules = dict[str, dict[str, dict[str, bool]]]
"""By unit, exercise and rule: whether a visible test tries it."""


class Effort(NamedTuple):
    """The expected minutes, with reading the text above the exercise, and the difficulty: easy, medium or hard."""

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


def read_hints(course: Course) -> Hints:
    """Return the hints that `grader build` has written for a course. Without the file there are none."""
    path = course.checks / HINTS
    hints: Hints = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return hints


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
    return items if len(items) == len(HINT_LEVELS) else None


def to_json(guidance: Hints | Rules) -> str:
    """Return the text of a file of hints or rules."""
    return json_lines(guidance, depth=2) + "\n"


def read_rules(course: Course) -> Rules:
    """Return the rules that `grader build` has written for a course. Without the file there are none."""
    path = course.checks / RULES
    rules: Rules = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return rules


def stated_rules(docstring: str) -> list[str]:
    """Return the rules in an exercise's docstring, in their order: each line with a dash, with what continues it."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    lists = (re.split(r"^- ", one, flags=re.MULTILINE)[1:] for one in paragraphs if one.startswith("- "))
    return [" ".join(rule.split()) for rules in lists for rule in rules]
