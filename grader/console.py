"""The terminal: what the command line prints to, how it says what is wrong, and its exit codes."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape

IMPERFECT, BAD_INPUT, OUR_FAULT = 1, 2, 3
"""Done, but not as was asked; bad input; the grader's own fault."""

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def stop(code: int, *sentences: str) -> typer.Exit:
    """Says what is wrong, and gives the exit to raise."""
    for sentence in sentences:
        err.print(escape(sentence), soft_wrap=True)
    return typer.Exit(code)
