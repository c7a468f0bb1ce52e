"""Prints the pictures of an exercise or a unit, and says which exercises have some."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.rule import Rule

from grader.errors import GraderError
from grader.practice.check import unit_of
from grader.practice.pictures.terminal import print_picture
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from grader.course.model import Course
    from grader.testing.drawings import Drawing

DRAWS = "Pictures show what exercises return and what forward hooks see on named layers. Nothing else can be drawn."
_MARK = re.compile(r"^@picture\(\s*[\"'](\w+)[\"']", re.MULTILINE)


def exercises_to_draw(course: Course, name: str) -> list[str]:
    """Return the exercises with a picture that an exercise's or a unit's name means.

    Raises:
        GraderError: There is no such exercise or unit, or it has no picture.
    """
    unit = unit_of(name, course)
    path = course.exercises / f"pictures_{unit}.py"
    marked = set(_MARK.findall(path.read_text(encoding="utf-8"))) if path.is_file() else set()
    drawn = [exercise for exercise in course.units[unit].exercises if exercise in marked]
    wanted = [exercise for exercise in drawn if name in (unit, exercise)]
    if not wanted:
        others = f" In {unit} there are pictures of {listed(drawn)}." if drawn else f" {unit} has none."
        raise GraderError(f"There is no picture of {name}.{others}")
    return wanted


def print_pictures(drawings: Sequence[Drawing], console: Console) -> None:
    """Print pictures, each under the name of its exercise."""
    for drawing in drawings:
        console.print()
        console.print(Rule(drawing.exercise, align="left", characters="-"), width=min(console.width, 80))
        print_picture(drawing, console)
    console.print()
    console.print(DRAWS, style="dim")
