"""The terminal: what the command line prints to, how it says what is wrong, and its exit codes."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from grader.errors import INTERNAL, GraderError
from grader.text import log_lines, printable

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Program(TyperGroup):
    """The command `grader`: the one place that prints an error and exits with its code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GraderError as error:
            raise stop(error.exit_code, str(error)) from None


def run(app: typer.Typer) -> None:
    """Run the command line. Where it cannot print, because a disk is full, say, it exits with INTERNAL."""
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
        sys.exit(INTERNAL)


def stop(code: int, *sentences: str) -> typer.Exit:
    """Says what is wrong, and gives the exit to raise."""
    for sentence in sentences:
        err.print(safe(sentence, err), soft_wrap=True)
    return typer.Exit(code)


def safe(text: str, console: Console) -> str:
    """Escapes text from others for printing: control characters, rich markup and, in a log, workflow commands."""
    return escape(printable(text) if console.is_terminal else log_lines(text))
