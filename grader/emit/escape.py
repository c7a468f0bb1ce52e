"""What makes text from others safe to show: in a workflow's log, in Markdown, and as plain text.

Text from others is all that a student may have had a hand in: names of files, what code printed or raised, and
sentences that quote either.
"""

from __future__ import annotations

import re
import unicodedata

MOST_CHARACTERS = 400
"""So much is shown of one text."""
MOST_OF_A_LINE = 1000
"""And so much of a line in an annotation."""

# Control characters, marks that turn or hide text, halves of surrogate pairs, and line ends that are not "\n".
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HIDDEN = "\N{REPLACEMENT CHARACTER}"

# All that Markdown, HTML or GitHub's formulas may take for more than text, wherever it stands.
# An underscore within a word is none of it, nor is a colon in a time of day.
_MARKUP = re.compile(
    r"[\\`*\[\]<>&|~^$]|(?<![^\W_])_|_(?![^\W_])|(?<!\d):(?=\S)|:(?!\d\d(?!\w))(?=\S)|^[-+=#]|^\d+(?=[.)])"
)
# What GitHub makes a link of, even where it is written as entities: people, issues, and addresses.
_LINKS = re.compile(r"@(?=\w)|#(?=\w)|\bGH-(?=\d)|\bwww(?=\.)|:(?=//)", re.IGNORECASE)
_BREAK = "\u200b"
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """One line of plain text: nothing in it that steers or hides, and no more of it than `most` characters.

    A runner obeys `##[name]` wherever it stands in its log, so that is broken too.
    """
    # Only so much is looked at: a message may be very long.
    line = " ".join("".join(map(_seen, text[: 4 * most])).split()).replace("##[", "## [")
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1].rstrip()}…"


def log_line(text: str, most: int = MOST_CHARACTERS) -> str:
    """The same, and no workflow command even where it begins a line of the log."""
    return re.sub(":(?=:)", ": ", plain(text, most))


def command(name: str, message: str, **properties: str | int | None) -> str:
    """One workflow command, such as `::error file=a.py,line=3::message`. Line ends in the message stay.

    Properties that are None or empty are left out.
    """
    given = {key: _property(str(value)) for key, value in properties.items() if value not in (None, "")}
    head = " ".join([name, ",".join(f"{key}={value}" for key, value in given.items())]).rstrip()
    lines = (log_line(line, MOST_OF_A_LINE) for line in message.split("\n"))
    return f"::{head}::" + "%0A".join(map(_data, lines))


def markdown(text: str, most: int = MOST_CHARACTERS) -> str:
    """One line of Markdown that shows this text and nothing else, in a paragraph, a list or a table."""
    broken = _LINKS.sub(lambda found: found[0] + _BREAK, plain(text, most))
    return _MARKUP.sub(lambda found: _entities(found[0]), broken).replace(_BREAK, "&#8203;")


def sentence(text: str, most: int = MOST_CHARACTERS) -> str:
    """The same of a sentence that the course wrote, in which `code` stays code."""
    pieces = _CODE.split(plain(text, most))
    return "".join(code(piece) if number % 2 else _piece(piece) for number, piece in enumerate(pieces))


def code(text: str, most: int = MOST_CHARACTERS) -> str:
    """The same as code."""
    line = plain(text, most)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    gap = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{gap}{line}{gap}{fence}"


def _piece(text: str) -> str:
    """A part of a sentence, with its spaces."""
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{markdown(text)}{after}" if text.strip() else text


def _seen(character: str) -> str:
    if character in "\n\r\t":
        return " "
    return _HIDDEN if unicodedata.category(character) in _UNSEEN else character


def _entities(text: str) -> str:
    return "".join(f"&#{ord(character)};" for character in text)


def _data(text: str) -> str:
    return text.replace("%", "%25")  # and there is no line end left in it


def _property(text: str) -> str:
    return _data(log_line(text)).replace(":", "%3A").replace(",", "%2C")
