"""What makes text safe that students had a hand in: names of files, what code printed or raised, and quotes of either.

Every such text passes `visible` on its way into a report. On its way out, to a terminal, a log or a page, it passes
`shown`, `log_lines` or the functions of `emit.escape`.
"""

from __future__ import annotations

import re
import sys

from grader.course import ROOT

MOST_OF_A_TEXT = 4000
"""So many characters of one text are in a report."""
MOST_OF_A_LINE = 400
"""And so many in one line of what is made of it."""

# All that steers a terminal or hides, turns or breaks text, but for tab and newline: Unicode's categories Cc, Cf, Zl
# and Zp, and halves of surrogate pairs, which no file can hold.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Where the grader and Python lie, and what is around the grader, but for the outermost folder: /home tells nothing.
_PRIVATE_FOLDERS = [str(ROOT), sys.prefix, sys.base_prefix, *(str(folder) for folder in ROOT.parents[:-2])]
# A runner obeys `::name::` at the beginning of a line, and `##[name]` wherever it stands.
_COMMAND = re.compile(r":(?=:)|##(?=\[)")


def shown(text: str) -> str:
    """The text without what steers or hides."""
    return UNSEEN.sub(_REPLACEMENT, text)


def visible(text: str) -> str:
    """The same without this machine's paths, and cut; what is visible already stays as it is."""
    for folder in _PRIVATE_FOLDERS:
        text = text.replace(folder, "…")
    text = shown(text)
    if len(text) <= MOST_OF_A_TEXT:
        return text
    kept = MOST_OF_A_TEXT - 40
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


def log_lines(text: str) -> str:
    """The same lines, and nothing in them that a workflow's runner obeys, wherever they are broken again."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", shown(text))


def plain(text: str, most: int = MOST_OF_A_LINE) -> str:
    """One line of plain text, and no more of it than `most` characters. No part of it is an older runner's command."""
    # Only so much is looked at: a message may be very long.
    line = " ".join(shown(text[: 4 * most].replace("\r", " ")).split()).replace("##[", "## [")
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1].rstrip()}…"


def log_line(text: str, most: int = MOST_OF_A_LINE) -> str:
    """The same, and no workflow command even where it begins a line of the log."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", plain(text, most))
