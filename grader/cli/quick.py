"""What `grader`, `grader check` and `grader show` ask for, and the way to have a spare process do it.

Loading typer, pydantic and rich takes longer than checking a small exercise, so nothing here needs them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

PROGRAM = "grader.cli.commands"
"""The module that is a spare process, and does what is asked for without one."""
SETTINGS = ("COLUMNS", "COLORTERM", "NO_COLOR", "TERM")
"""The environment variables that decide how a terminal is written to."""
# With these, and on Windows, rich has to find out more.
OTHERS = ("CI", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


class Command(NamedTuple):
    """What a student asks for.

    Attributes:
        do: "check", "show", "progress" or "next".
        root: The folder of the course.
        here: The current folder.
        name: The exercise or unit; without one, all are checked, or the next one is shown.
        student: The student's name; by default that of the folder.
        into: The folder to write the report to.
        html: The file to write the page of a check to.
        picture: The file to write the picture to.
        is_asking: Whether questions on the student's code are wanted.
    """

    do: str
    root: str
    here: str
    name: str | None = None
    student: str | None = None
    into: str | None = None
    html: str | None = None
    picture: str | None = None
    is_asking: bool = False


class Terminal(NamedTuple):
    """How to print; the environment is that of the terminal, if rich did not look at it."""

    encoding: str
    is_terminal: bool
    width: int
    colors: Any
    environment: dict[str, str] | None = None


class CommandResult(NamedTuple):
    """What came of a command.

    Attributes:
        code: The exit code.
        printed: What the spare process would print.
        error: What is wrong, if it could not be done.
        questions: The fields of each `OwnQuestion` on the student's code.
        exercise: The next exercise, and its unit, if that was asked for.
        unit: See `exercise`.
    """

    code: int
    printed: str = ""
    error: str = ""
    questions: Sequence[dict[str, Any]] = ()
    exercise: str = ""
    unit: str = ""


def run_quickly(arguments: Sequence[str]) -> int | None:
    """Have the spare process do a command, print the result, and start the next spare process.

    Args:
        arguments: The command line, without the name of the program.

    Returns:
        The exit code, or None if the command line has to be loaded: it has options, or there is no spare process.
    """
    match arguments:
        case []:
            do, name = "progress", None
        case ["check" | "show" as do]:
            name = None
        case ["check" | "show" as do, name] if not name.startswith("-"):
            pass
        case _:
            return None
    if sys.platform == "win32" or any(variable in os.environ for variable in OTHERS):
        return None
    # All other commands start without these.
    from grader.course.root import current_folder, find_root
    from grader.errors import INTERRUPTED, GraderError
    from grader.practice import spare

    try:
        root, here = find_root(), current_folder()
    except GraderError:
        return None
    is_terminal = sys.stdout.isatty()
    is_asking = do == "check" and name is not None and is_terminal and sys.stdin.isatty()
    environment = {variable: os.environ[variable] for variable in SETTINGS if variable in os.environ}
    terminal = Terminal(sys.stdout.encoding, is_terminal, _width(), "auto", environment)
    try:
        done = done_by_spare(Command(do, str(root.absolute()), str(here), name, is_asking=is_asking), terminal)
    except KeyboardInterrupt:
        return INTERRUPTED
    if done is None:
        return None
    try:
        sys.stdout.write(done.printed)
        sys.stdout.flush()
    except OSError as error:
        from grader.cli.console import unwritable

        unwritable(error)
    spare.start(PROGRAM, root)
    return finish(done)


def done_by_spare(command: Command, terminal: Terminal) -> CommandResult | None:
    """Have the spare process of a course do a command. Return None if there is none, or a file is to be written.

    The spare process has other open files than the user, and may have another umask.
    """
    from pathlib import Path

    from grader.practice import spare

    if command.into or command.html or command.picture:
        return None
    message = {"command": command._asdict(), "terminal": terminal._asdict()}
    reply = spare.ask(Path(command.root), message)
    return CommandResult(**reply) if reply is not None else None


def finish(done: CommandResult) -> int:
    """Print what is wrong, or ask a question: only then is the terminal's library needed. Return the exit code."""
    if done.error:
        from grader.cli.console import stop

        stop(done.code, done.error)
    elif done.questions:
        from grader.cli.console import out
        from grader.practice.exercise_help import ask
        from grader.testing.drawings import OwnQuestion

        ask([OwnQuestion(**question) for question in done.questions], out)
    return done.code


def _width() -> int:
    """Return the columns of the terminal that any of the standard streams is connected to."""
    for stream in (0, 1, 2):
        try:
            return int(os.environ.get("COLUMNS") or os.get_terminal_size(stream).columns or 80)
        except (OSError, ValueError):
            continue
    return 80
