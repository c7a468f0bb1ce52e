"""Shows what is in work and how much is done: as a bar in a terminal, and as lines in a log."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from rich.markup import escape

from grader.cli.console import err
from grader.text import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SILENT_SECONDS = 10
"""After how long without a line a log says what is in work."""
_MOST = 4


class Progress:
    """What is in work, since when, and how much is done.

    Attributes:
        total: How much there is to do.
        done: How much is done.
        show: Called with a line about what is done.
    """

    def __init__(self, total: int, show: Callable[[str], None]) -> None:
        """Begin with nothing."""
        self.total = total
        self.done = 0
        self.show = show
        self._begun: dict[str, float] = {}

    def begin(self, name: str) -> None:
        """Note that something is in work now."""
        self._begun.setdefault(name, time.monotonic())

    def advance(self, name: str, what: str, count: int = 1) -> None:
        """Note that something is done, and what was done with it."""
        begun = self._begun.pop(name, None)
        self.done += count
        took = f" in {time.monotonic() - begun:.0f} s" if begun is not None else ""
        self.show(f"{what} {name}{took} ({self.done} of {self.total})")

    def in_work(self) -> str:
        """Return what is in work, and for how long; what has begun first comes first."""
        now = time.monotonic()
        return listed([f"{name} ({now - begun:.0f} s)" for name, begun in [*self._begun.items()]], _MOST)


@contextlib.contextmanager
def progress(total: int, what: str) -> Iterator[Progress]:
    """Show what is in work and how much is done, until the end of the block."""
    with (_bar if sys.stderr.isatty() else _log)(total, what) as shown:
        yield shown


@contextlib.contextmanager
def _bar(total: int, what: str) -> Iterator[Progress]:
    # slow to import, and only long commands need it
    from rich import progress as bars
    from rich.table import Column
    from rich.text import Text

    shown = Progress(total, lambda _line: bar.update(task, completed=shown.done))

    class InWork(bars.ProgressColumn):
        """What is in work, read again each time that the bar is drawn."""

        def render(self, _task: object) -> Text:
            return Text(shown.in_work())

    names = InWork(Column(no_wrap=True, overflow="ellipsis"))
    done = (bars.TextColumn(what), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
    with bars.Progress(*done, names, console=err, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield shown


@contextlib.contextmanager
def _log(total: int, what: str) -> Iterator[Progress]:
    """Print a line for each that is done, and what is in work if there is no line for a while."""
    news, is_over = threading.Event(), threading.Event()

    def show(line: str) -> None:
        news.set()
        err.print(escape(line), soft_wrap=True)

    def watch() -> None:
        while not is_over.is_set():
            has_news = news.wait(SILENT_SECONDS)
            news.clear()
            if not has_news and (names := shown.in_work()):
                err.print(escape(f"still {what} {names}"), soft_wrap=True)

    shown = Progress(total, show)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield shown
    finally:
        is_over.set()
        news.set()
        watcher.join()
