"""`grader watch`: checks what a student changes at each save, and prints the verdict and the next step."""

from __future__ import annotations

import contextlib
import datetime
import os
import queue
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import watchfiles
from rich.console import Console

from grader.cli.check_output import print_exercises, print_next, print_progress
from grader.cli.console import safe
from grader.course.guidance import read_rules
from grader.course.model import Course
from grader.errors import GraderError
from grader.practice.check import Answers, check_answers, read_answers, visible_grading
from grader.practice.exercise_help import show_next_hint
from grader.practice.picture_text import print_pictures
from grader.practice.progress import StudentProgress, next_step
from grader.submissions.submission import FOLDER, filenames
from grader.text import listed

if TYPE_CHECKING:
    from grader.engine.grading import Graded, Grading
    from grader.reports.scoring import Rubric


QUIET_MS = 20
"""A save is over when no file has changed for this time: editors write a file in several steps."""
LONGEST_MS = 300
POLL_MS = 100

KEYS = "[bold]h[/] hint  [bold]n[/] next  [bold]l[/] list  [bold]s[/] show  [bold]r[/] run  [bold]q[/] quit"


class Saved(NamedTuple):
    """Files of these names were saved; if there are none, one was removed."""

    names: Sequence[str]


class Unwatched(NamedTuple):
    """The system does not say when a file is saved: why, and what is done about it."""

    problem: str


class Pressed(NamedTuple):
    """A key was pressed; "" at the end of the input."""

    key: str


class Checked(NamedTuple):
    """A check of these exercises in these answers ended, with what was found or with the reason why nothing was."""

    answers: Answers
    names: Sequence[str]
    graded: Graded | None
    problem: str = ""


Event = Saved | Unwatched | Pressed | Checked


class Started(NamedTuple):
    """A grading by the visible tests, and what is done when its engine has imported torch."""

    grading: Grading
    prepared: Future[Rubric]


class Checker:
    """Checks exercises in the background, with torch imported and the visible tests collected.

    A new check stops the one that runs, and its engine ends with it. So there is another engine in reserve.
    """

    def __init__(self, course: Course, send: Callable[[Event], None]) -> None:
        """Start an engine. `send` gets the event at the end of each check, unless the check was stopped."""
        self._course = course
        self._send = send
        self._pool = ThreadPoolExecutor()
        self._lock = threading.Lock()
        self._number = 0
        self._is_running = False
        self._current = self._started()
        self._reserve: Started | None = None

    def check(self, answers: Answers, names: Sequence[str], drawn: Sequence[str] = ()) -> None:
        """Start a check of these exercises, which also draws some of them."""
        with self._lock:
            self._number += 1
            if self._is_running:
                self._current.grading.abort()
                self._current, self._reserve = self._reserve or self._started(), None
            self._is_running = True
            self._pool.submit(self._check, self._number, answers, names, drawn, self._current)

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._number += 1
            for started in filter(None, (self._current, self._reserve)):
                started.grading.abort()
        self._pool.shutdown()

    def _check(
        self, number: int, answers: Answers, names: Sequence[str], drawn: Sequence[str], started: Started
    ) -> None:
        try:
            started.prepared.result()
            graded = check_answers(self._course, answers, names, started.grading, drawn)
            done = Checked(answers, names, graded)
        except (GraderError, OSError) as error:
            done = Checked(answers, names, None, str(error))
        with self._lock:
            if number != self._number:
                return
            self._is_running = False
            if done.graded is None:  # perhaps the engine has ended
                self._current.grading.abort()
                self._current = self._started()
            self._reserve = self._reserve or self._started()
        self._send(done)

    def _started(self) -> Started:
        """Start an engine in the background."""
        grading = visible_grading(self._course)
        return Started(grading, self._pool.submit(grading.rubric))


@contextlib.contextmanager
def saves(folders: Sequence[Path], names: Collection[str], send: Callable[[Event], None]) -> Iterator[None]:
    """Send an event after each save of a file with one of these names in these folders, while the block runs.

    If the system cannot say when that happens, an event says so, and the folders are polled.
    """
    ended = threading.Event()

    def watch() -> None:
        for is_polling in (False, True):
            changes = watchfiles.watch(
                *folders,
                watch_filter=lambda _, path: Path(path).name in names,
                debounce=LONGEST_MS,
                step=QUIET_MS,
                stop_event=ended,
                raise_interrupt=False,
                force_polling=is_polling or None,
                poll_delay_ms=POLL_MS,
                recursive=False,
            )
            try:
                for change in changes:
                    send(Saved(sorted({Path(path).name for _, path in change if Path(path).exists()})))
            except (OSError, RuntimeError) as error:  # RuntimeError: an error of watchfiles itself
                instead = "press r after each save" if is_polling else f"they are read every {POLL_MS} ms instead"
                send(Unwatched(f"Your files cannot be watched ({error}): {instead}."))
            else:
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def keys(send: Callable[[Event], None]) -> Iterator[None]:
    """Send an event for each key that is pressed, while the block runs. Without a terminal there are none."""
    if not sys.stdin.isatty():
        yield
        return
    with _without_enter() as read:

        def listen() -> None:
            while key := read():
                send(Pressed(key))
            send(Pressed(""))

        threading.Thread(target=listen, daemon=True).start()
        yield


@contextlib.contextmanager
def _without_enter() -> Iterator[Callable[[], str]]:
    """Give a function that returns the next key at once, and shows nothing of it."""
    if sys.platform == "win32":
        import msvcrt

        yield msvcrt.getwch
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    # Ctrl-C is a key too: Python can miss a signal that comes just before its main thread waits for an event.
    mode = termios.tcgetattr(sys.stdin)
    mode[tty.CC][termios.VINTR] = bytes([os.fpathconf(sys.stdin.fileno(), "PC_VDISABLE")])
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)
    try:
        yield lambda: sys.stdin.read(1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def watch(course: Course, folder: Path, console: Console) -> None:
    """Check what changes in a student's folder after each save, until the student quits."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    places = [place for place in (folder, folder / FOLDER) if place.is_dir()]
    code = {name for unit in course.units for name in filenames(unit)[:2]}
    checker = Checker(course, events.put)
    try:
        with saves(places, code, events.put), keys(events.put):
            session = _WatchSession(course, folder, checker, console)
            session.begin()
            while session.react(events.get()):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        checker.close()


class _WatchSession:
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
        self.progress = StudentProgress(course, folder, read_answers(course, folder))
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
