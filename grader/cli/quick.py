"""`grader`, `grader check` and `grader show`, done by a spare process without loading the command line.

Loading typer, pydantic and rich takes longer than checking a small exercise.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTINGS = ("COLUMNS", "COLORTERM", "NO_COLOR", "TERM")
"""The environment variables that decide how a terminal is written to."""
# With these, and on Windows, rich has to find out more.
OTHERS = ("CI", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def run_quickly(arguments: Sequence[str]) -> int | None:
    """Have the spare process do a command, print the result, and start the next spare process.

    Args:
        arguments: The command line, without the name of the program.

    Returns:
        The exit code, or None if the command line has to be loaded: it has options, or there is no spare process.
    """
    asked = _read(arguments)
    if asked is None or sys.platform == "win32" or any(name in os.environ for name in OTHERS):
        return None
    # All other commands start without these.
    from grader.course.root import current_folder, find_root
    from grader.errors import INTERRUPTED, GraderError
    from grader.practice import spare

    try:
        root = find_root()
        here = current_folder()
    except GraderError:
        return None
    is_terminal = sys.stdout.isatty()
    asked |= {
        "root": str(root.absolute()),
        "here": str(here),
        "encoding": sys.stdout.encoding,
        "is_terminal": is_terminal,
        "width": _width(),
        "colors": "auto",
        "environment": {name: os.environ[name] for name in SETTINGS if name in os.environ},
    }
    if asked["do"] == "check":
        asked["is_asking"] = asked["name"] is not None and is_terminal and sys.stdin.isatty()
    try:
        done = spare.ask(root, asked)
    except KeyboardInterrupt:
        return INTERRUPTED
    if done is None:
        return None
    _print(done)
    spare.start("grader.cli.background", root)
    return finish(done)


def _read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return what a command line without options asks for; None if it is another."""
    match arguments:
        case []:
            return {"do": "progress"}
        case ["check"]:
            return {"do": "check", "name": None, "student": None, "into": None, "html": None}
        case ["check", str(name)] if not name.startswith("-"):
            return {"do": "check", "name": name, "student": None, "into": None, "html": None}
        case ["show"]:
            return {"do": "show", "name": None, "picture": None}
        case ["show", str(name)] if not name.startswith("-"):
            return {"do": "show", "name": name, "picture": None}
    return None


def _width() -> int:
    """Return the columns of the terminal that any of the standard streams is connected to."""
    for stream in (0, 1, 2):
        try:
            return int(os.environ.get("COLUMNS") or os.get_terminal_size(stream).columns or 80)
        except (OSError, ValueError):
            continue
    return 80


def _print(done: dict[str, Any]) -> None:
    try:
        sys.stdout.write(done["printed"])
        sys.stdout.flush()
    except OSError as error:
        from grader.cli.console import unwritable

        unwritable(error)


def finish(done: dict[str, Any]) -> int:
    """Print what is wrong, or ask a question: only then is the terminal's library needed. Return the exit code."""
    if "error" in done:
        from grader.cli.console import stop

        stop(done["code"], done["error"])
    elif done.get("questions"):
        from grader.cli.console import out
        from grader.practice.own_questions import ask
        from grader.testing.drawings import OwnQuestion

        ask([OwnQuestion(**question) for question in done["questions"]], out)
    code: int = done["code"]
    return code
