"""`grader watch`: checks what a student changes, and prints the verdict and the next step."""

from __future__ import annotations

import datetime
import queue
from typing import TYPE_CHECKING

from grader.cli.check import print_exercises
from grader.cli.console import safe
from grader.cli.progress import print_next, print_progress
from grader.course.guidance import read_rules
from grader.errors import GraderError
from grader.practice.check import read_answers
from grader.practice.hints import show_next_hint
from grader.practice.pictures.show import print_pictures
from grader.practice.progress import Progress, next_step
from grader.practice.watch import Checked, Checker, Event, Pressed, Saved, Unwatched, keys, saves
from grader.submissions.names import filenames
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from grader.course.model import Course

KEYS = "[bold]h[/] hint  [bold]n[/] next  [bold]l[/] list  [bold]s[/] show  [bold]r[/] run  [bold]q[/] quit"


def watch(course: Course, folder: Path, console: Console) -> None:
    """Check what changes in a student's folder after each save, until the student quits."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    places = [place for place in (folder, folder / "exercises") if place.is_dir()]
    code = {name for unit in course.units for name in filenames(unit)[:2]}
    checker = Checker(course, events.put)
    try:
        with saves(places, code, events.put), keys(events.put):
            session = _Session(course, folder, checker, console)
            session.begin()
            while session.react(events.get()):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        checker.close()


class _Session:
    """One run of `grader watch`: the exercise that the student works on, and what was found.

    Attributes:
        focus: The exercise that the student works on.
        awaited: The exercises that are being checked.
        later: What a key asked for meanwhile, and is done after their verdict.
    """

    def __init__(self, course: Course, folder: Path, checker: Checker, console: Console) -> None:
        self.course = course
        self.folder = folder
        self.checker = checker
        self.console = console
        self.rules = read_rules(course)
        self.progress = Progress(course, folder, read_answers(course, folder))
        self.focus: str | None = None
        self.awaited: Sequence[str] = ()
        self.later: Callable[[], None] | None = None

    def begin(self) -> None:
        """Check what was changed since its last check or, if nothing was, the first exercise that does not pass yet."""
        self._say("Save a file, and what you changed is checked. The first check takes some seconds.")
        if changed := [step.exercise for step in self.progress.steps() if step.state == "changed"]:
            self._check(changed)
        else:
            self._go_on()

    def react(self, event: Event) -> bool:
        """React to an event. Return False if the student quits."""
        try:
            match event:
                case Saved(names):
                    self._read_again(f"Saved {listed(names)}" if names else "A file was removed")
                case Unwatched(problem):
                    self._say(problem)
                case Checked():
                    self._show(event)
                case Pressed("q" | "" | "\x03"):
                    return False
                case Pressed(key):
                    self._press(key)
        except (GraderError, OSError) as error:  # the next event may do better
            self._say(str(error))
        return True

    def _press(self, key: str) -> None:
        match key:
            case "n":
                self._after_the_verdict(self._go_on, "The next exercise follows this verdict.")
            case "s":
                self._after_the_verdict(self._draw, "The picture follows this verdict.")
            case "r":
                self._read_again()
            case "h" if self.focus:
                self._clear()
                show_next_hint(self.course, self.folder, self.focus, self.console)
                self._prompt()
            case "l":
                self._clear()
                print_progress(self.course, self.progress.steps(), self.console)
                self._prompt()

    def _read_again(self, saved: str = "") -> None:
        """Check what was changed since it was read last or, if a key asks for a check, the exercise in focus."""
        names = self.progress.read_again()
        if not names and not saved and self.focus and not self.awaited:
            names = [self.focus]
        if names:
            self._clear()
            self._check(names, f"{saved}; checking" if saved else "Checking")
        elif saved:
            self._say(f"{saved}; no code that is checked has changed.")
        else:
            self._prompt()

    def _go_on(self) -> None:
        steps = self.progress.steps()
        if step := next_step(steps, self.focus):
            self._check([step.exercise])
        else:
            print_next(self.course, steps, None, self.console)

    def _draw(self) -> None:
        if self.focus:
            self._check([self.focus], drawn=[self.focus])

    def _check(self, names: Sequence[str], what: str = "Checking", drawn: Sequence[str] = ()) -> None:
        """Say what is checked and start that, together with what the last check has given no verdict on yet."""
        self.focus = names[0]
        self.awaited = [*names, *(name for name in self.awaited if name not in names)]
        self._say(f"{what} {listed(self.awaited)} …")
        self.checker.check(self.progress.answers, self.awaited, drawn)

    def _after_the_verdict(self, do: Callable[[], None], sentence: str) -> None:
        """Start another check: at once or, if one runs, after its verdict, because a new check stops an old one."""
        if self.awaited:
            self.later = do
            self._say(sentence)
        else:
            self._clear()
            do()

    def _show(self, done: Checked) -> None:
        """Show the verdict on what changed, and the next step. Then do what was asked for meanwhile."""
        if done.names is not self.awaited:  # it ended just before a newer check of the same exercises began
            return
        self.awaited = ()
        if done.graded is None:
            self._say(done.problem)
        else:
            # First, because the student may end this program at the verdict.
            self.progress.remember(done.graded.report, done.answers.code)
            print_exercises(done.graded.report, self.rules, done.names, self.console)
            if done.graded.drawings:
                print_pictures(done.graded.drawings, self.console)
            steps = self.progress.steps()
            states = {step.exercise: step.state for step in steps}
            self.focus = next((name for name in done.names if states[name] != "passes"), done.names[-1])
            print_next(self.course, steps, self.focus, self.console)
        # Two verdicts may look the same: this shows that there was a second one.
        self.console.print(f"{KEYS}  [dim]checked at {datetime.datetime.now().astimezone():%H:%M:%S}[/]")
        if self.later:
            do, self.later = self.later, None
            do()

    def _prompt(self) -> None:
        """Print the keys and, below them, what is being checked: its verdict is still to come."""
        self.console.print(KEYS)
        if self.awaited:
            self._say(f"Checking {listed(self.awaited)} …")

    def _say(self, text: str) -> None:
        self.console.print(safe(text, self.console))

    def _clear(self) -> None:
        if self.console.is_terminal:
            self.console.clear()
