"""`grader watch`: checks what a student changes, and prints the verdict and the next step."""

from __future__ import annotations

import datetime
import queue
from typing import TYPE_CHECKING

from grader.cli.check import print_exercises
from grader.cli.console import safe
from grader.cli.progress import print_next, print_progress
from grader.course.rules import read_rules
from grader.practice.check import read_answers
from grader.practice.hints import show_next_hint
from grader.practice.pictures.show import print_pictures
from grader.practice.progress import Progress, next_step
from grader.practice.watch import Checked, Checker, Event, Pressed, Saved, keys, saves

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from grader.course.model import Course

KEYS = "[bold]h[/] hint  [bold]n[/] next  [bold]l[/] list  [bold]s[/] show  [bold]q[/] quit"


def watch(course: Course, folder: Path, console: Console) -> None:
    """Check what changes in a student's folder after each save, until the student quits."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    places = [place for place in (folder, folder / "exercises") if place.is_dir()]
    checker = Checker(course, events.put)
    try:
        with saves(places, events.put), keys(events.put):
            session = _Session(course, folder, checker, console)
            session.begin()
            while session.react(events.get()):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        checker.close()


class _Session:
    """One run of `grader watch`: the exercise that the student works on, and what was found."""

    def __init__(self, course: Course, folder: Path, checker: Checker, console: Console) -> None:
        self.course = course
        self.folder = folder
        self.checker = checker
        self.console = console
        self.rules = read_rules(course)
        self.progress = Progress(course, folder, read_answers(course, folder))
        self.focus: str | None = None

    def begin(self) -> None:
        """Check what was changed since its last check or, if nothing was, the first exercise that does not pass yet."""
        self.console.print("Save a file, and what you changed is checked. The first check takes some seconds.")
        steps = self.progress.steps()
        if changed := [step.exercise for step in steps if step.state == "changed"]:
            self.focus = changed[0]
            self.checker.check(self.progress.answers, changed)
        else:
            self._go_on()

    def react(self, event: Event) -> bool:
        """React to an event. Return False if the student quits."""
        match event:
            case Saved():
                if changed := self.progress.read_again():
                    self.checker.check(self.progress.answers, changed)
            case Checked():
                self._show(event)
            case Pressed("q" | "" | "\x03"):
                return False
            case Pressed("n"):
                self._go_on()
            case Pressed("h") if self.focus:
                self._clear()
                show_next_hint(self.course, self.folder, self.focus, self.console)
                self.console.print(KEYS)
            case Pressed("s") if self.focus:
                self.checker.check(self.progress.answers, [self.focus], drawn=[self.focus])
            case Pressed("l"):
                self._clear()
                print_progress(self.course, self.progress.steps(), self.console)
                self.console.print(KEYS)
        return True

    def _go_on(self) -> None:
        steps = self.progress.steps()
        if step := next_step(steps, self.focus):
            self.focus = step.exercise
            self.checker.check(self.progress.answers, [step.exercise])
        else:
            print_next(self.course, steps, None, self.console)

    def _show(self, done: Checked) -> None:
        """Show the verdict on what changed, and the next step."""
        self._clear()
        if done.graded is None:
            self.console.print(safe(done.problem, self.console))
            return
        self.progress.remember(done.graded.report, done.answers.code)
        steps = self.progress.steps()
        states = {step.exercise: step.state for step in steps}
        self.focus = next((name for name in done.names if states[name] != "passes"), done.names[-1])
        print_exercises(done.graded.report, self.rules, done.names, self.console)
        if done.graded.drawings:
            print_pictures(done.graded.drawings, self.console)
        print_next(self.course, steps, self.focus, self.console)
        # Two verdicts may look the same: this shows that there was a second one.
        self.console.print(f"{KEYS}  [dim]checked at {datetime.datetime.now().astimezone():%H:%M:%S}[/]")

    def _clear(self) -> None:
        if self.console.is_terminal:
            self.console.clear()
