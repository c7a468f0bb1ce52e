"""Make text from students safe for a report."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from grader.text import printable

MOST_OF_A_TEXT = 4000
"""The most characters of one text in a report."""


def sanitize(text: str) -> str:
    """Make text printable, remove this machine's paths, and truncate it. A second call changes nothing."""
    for folder in _private_folders():
        text = text.replace(folder, "…")
    text = printable(text)
    if len(text) <= MOST_OF_A_TEXT:
        return text
    kept = MOST_OF_A_TEXT - 40
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


@functools.cache
def _private_folders() -> list[str]:
    """Return the folders of the grader and of Python, and the grader's parent folders except the two outermost."""
    root = Path(__file__).resolve().parents[2]
    return [str(root), sys.prefix, sys.base_prefix, *(str(folder) for folder in root.parents[:-2])]


Text = Annotated[str, BeforeValidator(lambda text: sanitize(text) if isinstance(text, str) else text)]
"""Text that a student may have influenced, sanitized whenever a report is made or read."""
