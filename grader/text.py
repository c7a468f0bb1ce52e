"""Text from students, made safe to print: file names, output and errors of their code, and sentences that quote them.

Use `printable` for terminals, and `log_lines` or `log_line` for logs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_OF_A_LINE = 400
"""The most characters in one line of an export."""

# Characters that control a terminal or hide, reverse or break text, except tab and newline: Unicode's categories Cc,
# Cf, Zl and Zp; others that fonts show as nothing, but for the selectors of emoji; halves of surrogate pairs, which
# cannot be encoded; and the others that no XML may have.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# GitHub's runner obeys `::name::` at the beginning of a line, and `##[name]` anywhere.
_COMMAND = re.compile(r":(?=:)|##(?=\[)")


def printable(text: str) -> str:
    """Replace control characters, and characters that hide, reverse or break text."""
    return UNSEEN.sub(_REPLACEMENT, text)


def log_lines(text: str) -> str:
    """Make text printable and break up workflow commands, so that no line is one, however it is wrapped."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", printable(text))


def plain(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Make text one printable line of at most `most` characters, without a command in the older form `##[name]`."""
    # A message may be very long, so only its beginning is processed.
    line = " ".join(printable(text[: 4 * most].replace("\r", " ")).split()).replace("##[", "## [")
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1].rstrip()}…"


def log_line(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Make text one plain line, and break up the workflow commands in it."""
    return _COMMAND.sub(lambda found: f"{found[0]} ", plain(text, most))


def who(student: str, name: str) -> str:
    """Return a student's own name and the one in reports, `Ada Doe (ada)`; that in reports alone if it is all."""
    return f"{name} ({student})" if name and name != student else student


def in_words(words: Sequence[str]) -> str:
    """Join words like this: a, b and c."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return the first names of many, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def as_sentence(text: str) -> str:
    """Return a text as a sentence, with a capital letter unless it begins with the path of a file."""
    is_path = "/" in text.partition(" ")[0]
    return ended(text if is_path else f"{text[:1].upper()}{text[1:]}")


def ended(text: str) -> str:
    """Return a text as a sentence: errors often have no full stop."""
    return text.rstrip() if text.rstrip().endswith((".", "!", "?", ":")) else f"{text.rstrip()}."
