"""The rules of each exercise, and which of them a visible test tries. Students receive the file."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.course.model import Course

FILENAME = "rules.json"

Rules = dict[str, dict[str, dict[str, bool]]]
"""By unit, exercise and rule: whether a visible test tries it."""


def read_rules(course: Course) -> Rules:
    """Return the rules that `grader build` has written for a course. Without the file there are none."""
    path = course.exercises / FILENAME
    rules: Rules = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return rules


def stated_rules(docstring: str) -> set[str]:
    """Return the rules in an exercise's docstring: each line with a dash, with its continuation lines."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    lists = (re.split(r"^- ", one, flags=re.MULTILINE)[1:] for one in paragraphs if one.startswith("- "))
    return {" ".join(rule.split()) for rules in lists for rule in rules}


def to_json(rules: Rules) -> str:
    """Return the text of the file."""
    return json.dumps(rules, indent=1, ensure_ascii=False) + "\n"
