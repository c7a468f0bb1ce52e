"""The events while a student works: files are saved, keys are pressed, and checks end."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import watchfiles

from grader.errors import GraderError
from grader.practice.check import check_answers, visible_grading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from grader.course.model import Course
    from grader.engine.grading import Graded, Grading
    from grader.practice.check import Answers
    from grader.reports.scoring import Rubric

QUIET_MS = 20
"""A save is over when no file has changed for this time: editors write a file in several steps."""
LONGEST_MS = 300
POLL_MS = 100


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
