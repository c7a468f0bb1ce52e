"""Shows the hints of an exercise one at a time, and remembers which were shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from grader.course.guidance import HINT_LEVELS, read_hints
from grader.practice.check import unit_of_exercise
from grader.practice.state import updated_state

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from grader.course.model import Course

SECTION = "hints"
"""The section of the state: how many hints of each exercise were shown."""

WIDTH = 88
"""Longer lines are hard to read."""


def show_next_hint(course: Course, folder: Path, exercise: str, console: Console, prefix: str = "grader ") -> None:
    """Print the next hint of an exercise, below those that were shown before.

    Args:
        course: The course.
        folder: The student's folder, for which the last hint is remembered.
        exercise: The exercise's name.
        console: The terminal.
        prefix: What the student types before the name of a command.

    Raises:
        GraderError: The state is held by another program.
        OSError: The state cannot be saved.
    """
    hints = read_hints(course).get(unit_of_exercise(exercise, course), {}).get(exercise, [])
    if not hints:
        console.print(Text(f"{exercise} has no hints. Read its docstring again, or ask your instructor."))
        return
    with updated_state(folder) as state:
        seen = state.section(SECTION)
        before = seen.get(exercise)
        before = min(max(before, 0), len(hints)) if isinstance(before, int) else 0
        level = seen[exercise] = min(before + 1, len(hints))
    if state.problem:
        console.print(Text(state.problem, style="yellow"))
    width = min(console.width, WIDTH)
    console.print(Text(f"{exercise}: hint {level} of {len(hints)}", style="bold"))
    for number, (title, hint) in enumerate(zip(HINT_LEVELS, hints, strict=False), start=1):
        if number > level:
            break
        text = Text(
            f"{number}. {title.capitalize()}: {hint}", style="dim" if number <= before and number < level else ""
        )
        text.highlight_regex(r"`[^`]+`", "cyan")
        console.print(Padding(text, (1, 0, 0, 2)), width=width)
    console.print()
    if level < len(hints):
        console.print(Text(f"For the next hint: {prefix}hint {exercise}"), width=width)
    else:
        console.print(Text(_after_the_last(exercise, prefix)), width=width)


def _after_the_last(exercise: str, prefix: str) -> str:
    return (
        f"This is the last hint. `{prefix}show {exercise}` draws what your code computes, and `grader solution "
        f"{exercise}` prints the solution once your instructor has published it. You can also ask your instructor."
    )
