"""The terminal: what the command line prints to, how it says what is wrong, and its exit codes."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer
from rich.console import Console
from rich.markup import escape

from grader.text import log_lines, printable

IMPERFECT, BAD_INPUT, OUR_FAULT = 1, 2, 3
"""Done, but not as was asked; bad input; the grader's own fault."""

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def run(app: typer.Typer) -> None:
    """The command line. Where it cannot print, because a disk is full, say, it ends as our fault."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter that a terminal does not know is no reason to stop
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:
            raise
        # Python would try to print the rest once more as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        err.print(f"The output could not be written: {error.strerror}.")
        sys.exit(OUR_FAULT)


def stop(code: int, *sentences: str) -> typer.Exit:
    """Says what is wrong, and gives the exit to raise."""
    for sentence in sentences:
        err.print(safe(sentence, err), soft_wrap=True)
    return typer.Exit(code)


def safe(text: str, console: Console) -> str:
    """Escapes text from others for printing: control characters, rich markup and, in a log, workflow commands."""
    return escape(printable(text) if console.is_terminal else log_lines(text))
