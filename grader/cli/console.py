"""The terminal: printing, progress, errors and exit codes."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup, TyperOption

from grader.errors import BAD_INPUT, INTERNAL, INTERRUPTED, GraderError, InternalError
from grader.machine import missing_torch
from grader.text import listed, log_lines, printable

if TYPE_CHECKING:
    from grader.course.model import Course

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

PLAIN = "plain"
"""An error handler: how to write a character that a terminal's encoding lacks, such as cp1252 on Windows."""
_IN_PLAIN = {"✓": "+", "✗": "x", "→": "->", "·": "-", "×": "x", "…": "..."}
# A closed terminal sends SIGHUP, which Windows lacks.
_ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}

CourseFolder = Annotated[
    Path | None,
    typer.Option("--course", metavar="DIR", help="The course's folder.  [default: the nearest with an autograder.yml]"),
]
"""An option of every command that works on a course. It is also accepted before the command."""
RENAMED = {
    "emit": "`grader emit` is `grader export` now: grader export READER REPORT",
    "table": "`grader table` is `grader gradebook` now: grader gradebook --reports reports --out grades.csv",
    "--again": "`--again` is `--force` now: grader grade SUBMISSIONS --out OUT --force",
}
"""What to write in place of two commands and an option of versions before 1.0."""
SILENT_SECONDS = 10
"""After how long without a line a log says what is in work."""
_MOST = 4


def _in_plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_IN_PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


codecs.register_error(PLAIN, _in_plain)


class Program(TyperGroup):
    """The command `grader`: the one place that prints an error and exits with its code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move a `--course` before the command behind it, where the commands expect it. Refuse old names."""
        _hide_types_of_flags(self, ctx)
        if args and args[0] == "--course":
            args = [*args[2:], *args[:2]]
        elif args and args[0].startswith("--course="):
            args = [*args[1:], args[0]]
        for old in RENAMED.keys() & {*args[:1], *(word for word in args if word == "--again")}:
            raise stop(BAD_INPUT, RENAMED[old])
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, ready to show its help."""
        if command := super().get_command(ctx, cmd_name):
            _hide_types_of_flags(command, ctx)
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except GraderError as error:
            raise stop(error.exit_code, str(error)) from None
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except ModuleNotFoundError as error:
            if error.name == "torch" and (missing := missing_torch()):
                raise stop(BAD_INPUT, missing) from None
            raise


def _hide_types_of_flags(command: Any, ctx: Any) -> None:
    """Have a command's help show no type after a flag: typer shows <bool>, although a flag takes no value."""
    for option in command.get_params(ctx):
        if isinstance(option, TyperOption) and option.is_bool_flag:
            option.metavar = ""


def run(app: typer.Typer) -> None:
    """Run the command line. Exit with INTERNAL if it cannot print."""
    for number in (signal.SIGINT, *_ENDING):
        # Otherwise it is ignored: Ctrl-C in the background, and under nohup the end of the terminal.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        unwritable(error)


def _end(number: int, _frame: object) -> NoReturn:
    """Raise SystemExit or KeyboardInterrupt, so that partial files and temporary folders are removed."""
    from multiprocessing import active_children

    for child in active_children():
        child.terminate()  # an executor would wait until they have done everything
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)  # the exit code of a shell


def unwritable(error: OSError) -> NoReturn:
    """Exit with INTERNAL because nothing can be printed, for example because a disk is full."""
    # Python would try to print the rest again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    err.print(f"The output could not be written: {error.strerror}.")
    sys.exit(INTERNAL)


def stop(code: int, *sentences: str) -> typer.Exit:
    """Print what is wrong, and return the exit to raise."""
    say(*sentences, console=err)
    return typer.Exit(code)


def can_ask(console: Console) -> bool:
    """Return whether someone sits at this terminal, who can be asked."""
    return console.is_terminal and sys.stdin.isatty() and "CI" not in os.environ


def say(*texts: str, console: Console | None = None) -> None:
    """Print a line of each of these texts, whatever is in them."""
    console = console or out
    for text in texts:
        console.print(safe(text, console), soft_wrap=True)


def say_written(paths: Iterable[Path]) -> None:
    """Print which files were written."""
    say(*(f"wrote {path}" for path in paths))


def safe(text: str, console: Console) -> str:
    """Escape text from others for printing: control characters, rich markup and, in a log, workflow commands."""
    return escape(printable(text) if console.is_terminal else log_lines(text))


@contextlib.contextmanager
def writing(problem: str) -> Iterator[None]:
    """Report an OSError as an InternalError: the problem, then the file and the reason."""
    try:
        yield
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise InternalError(f"{problem}: {place}{error.strerror or error}.") from None


def write_named(path: Path, content: str | bytes, option: str) -> None:
    """Write the file that a user named with an option. Raises GraderError if it cannot be written."""
    from grader.files import write_where_named

    try:
        write_where_named(path, content)
    except OSError as error:
        raise GraderError(f"{option}: {path} cannot be written ({error.strerror}): name another file.") from None


def read_course(named: Path | None, *units: str | None) -> Course:
    """Return the course that a command works on. Raises GraderError if there is none, or none of these units in it."""
    from grader.course.model import find_course
    from grader.documents import nearest

    course = find_course(named)
    for unit in units:
        if unit is not None and unit not in course.units:
            known = ", ".join(course.units)
            raise GraderError(f"There is no unit {unit!r}: autograder.yml has {known}.{nearest(unit, course.units)}")
    return course


def require_folder(path: Path) -> None:
    """Make the folder of `--out` before any work is done. Raises GraderError if it cannot be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GraderError(f"--out: {path} cannot be made a folder ({error.strerror}): name another.") from None
    if not os.access(path, os.W_OK):
        raise GraderError(f"--out: {path} cannot be written to: name another folder.")


class Work:
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
def progress(total: int, what: str) -> Iterator[Work]:
    """Show what is in work and how much is done, until the end of the block."""
    with (_bar if sys.stderr.isatty() else _log)(total, what) as shown:
        yield shown


@contextlib.contextmanager
def _bar(total: int, what: str) -> Iterator[Work]:
    # slow to import, and only long commands need it
    from rich import progress as bars
    from rich.table import Column
    from rich.text import Text

    shown = Work(total, lambda _line: bar.update(task, completed=shown.done))

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
def _log(total: int, what: str) -> Iterator[Work]:
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

    shown = Work(total, show)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield shown
    finally:
        is_over.set()
        news.set()
        watcher.join()
