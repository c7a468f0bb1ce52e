"""Make text from students safe for a report."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator

from grader.text import MOST_OF_A_LINE, printable

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_OF_A_TEXT = 4000
"""The most characters of one text in a report."""

# A terminal's escape sequences: colours and movements, and titles with links.
_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")


def sanitize(text: str) -> str:
    """Make plain text: no control or hidden characters, escape sequences, or paths of this machine; at most so long.

    Line ends and tabs stay. A second call changes nothing.
    """
    for folder in _private_folders():
        text = text.replace(folder, "…")
    # GitHub's runner obeys `##[name]` anywhere in a line, also if a workflow prints the report.
    text = printable(_SEQUENCE.sub("", text).replace("\r\n", "\n")).replace("##[", "## [")
    if len(text) <= MOST_OF_A_TEXT:
        return text
    kept = MOST_OF_A_TEXT - 40
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


def sanitize_line(text: str) -> str:
    """Make one line of plain text, of at most MOST_OF_A_LINE characters."""
    line = " ".join(sanitize(text).splitlines())
    return line if len(line) <= MOST_OF_A_LINE else f"{line[: MOST_OF_A_LINE - 1]}…"


@functools.cache
def _private_folders() -> list[str]:
    """Return the folders of the grader and of Python, and the grader's parent folders except the two outermost."""
    root = Path(__file__).resolve().parents[2]
    return [str(root), sys.prefix, sys.base_prefix, *(str(folder) for folder in root.parents[:-2])]


def _if_text(clean: Callable[[str], str]) -> BeforeValidator:
    return BeforeValidator(lambda value: clean(value) if isinstance(value, str) else value)


Text = Annotated[str, _if_text(sanitize)]
"""Text that a student may have influenced, sanitized whenever a report is made or read."""
Line = Annotated[str, _if_text(sanitize_line)]
"""The same, of one line: the name of a file, or a line of code."""
