"""`grader` alone: prints how far a student is, and the next thing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from grader.cli.console import safe
from grader.course.guidance import efforts
from grader.practice.progress import next_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from grader.course.model import Course
    from grader.practice.progress import Step

MARKS = {
    "passes": "[green]✓[/]",
    "fails": "[yellow]✗[/]",
    "waits": "[dim]·[/]",
    "changed": "[yellow]?[/]",
    "not written": "[dim]·[/]",
}


def print_progress(course: Course, steps: Sequence[Step], console: Console) -> None:
    """Print each unit with the state of its exercises, and the next thing to do."""
    for unit, described in course.units.items():
        own = [step for step in steps if step.unit == unit]
        count = sum(step.state == "passes" for step in own)
        line = Text.assemble((unit, "bold"), f"  {count} of {len(own)}  ", (described.title, "dim"))
        console.print(line, no_wrap=True, overflow="ellipsis")
        if any(step.state != "not written" for step in own) and count < len(own):
            for step in own:
                console.print(f"  {MARKS[step.state]} {escape(step.exercise)}")
    console.print()
    print_next(course, steps, None, console)


def print_next(course: Course, steps: Sequence[Step], focus: str | None, console: Console) -> None:
    """Print how many exercises pass, and which one is next: the one in focus until it passes."""
    count = sum(step.state == "passes" for step in steps)
    console.print(Text(f"{count} of {len(steps)} exercises pass the visible tests.", style="bold"))
    in_focus = [step for step in steps if step.exercise == focus and step.state != "passes"]
    following = in_focus[0] if in_focus else next_step(steps, focus)
    if following is None:
        console.print("All exercises pass. Have you answered the quizzes? grader quiz UNIT")
    else:
        verb = {"fails": "fix", "waits": "fix", "changed": "check"}.get(following.state, "write")
        effort = efforts(course).get(following.unit, {}).get(following.exercise)
        time = f"{effort.minutes} minutes, {effort.difficulty}" if effort and verb == "write" else ""
        details = "; ".join(filter(None, [following.place, time]))
        console.print(
            safe(f"Next: {verb} {following.exercise}{f' ({details})' if details else ''}", console), soft_wrap=True
        )
