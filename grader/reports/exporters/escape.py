"""Escape text from others for workflow commands and for Markdown."""

from __future__ import annotations

import re

from grader.text import MOST_OF_A_LINE, log_line, plain

MOST_OF_AN_ANNOTATION = 1000
"""The most characters of one line of an annotation."""

# All characters that Markdown, HTML or GitHub's formulas may interpret, in any position. An underscore within a word is
# safe, and so is a colon in a time of day.
_MARKUP = re.compile(
    r"[\\`*\[\]<>&|~^$]|(?<![^\W_])_|_(?![^\W_])|(?<!\d):(?=\S)|:(?!\d\d(?!\w))(?=\S)|^[-+=#]|^\d+(?=[.)])"
)
# GitHub turns these into links even if they are written as entities: people, issues and addresses.
_LINKS = re.compile(r"@(?=\w)|#(?=\w)|(?<![^\W_])(?:GH-(?=\d)|www(?=\.))|:(?=//)", re.IGNORECASE)
_BREAK = "\u200b"
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def command(name: str, message: str, **properties: str | int | None) -> str:
    """Return one workflow command, such as `::error file=a.py,line=3::message`.

    Line ends in the message stay. Properties that are None or empty are left out.
    """
    given = {key: _property(str(value)) for key, value in properties.items() if value not in (None, "")}
    head = " ".join([name, ",".join(f"{key}={value}" for key, value in given.items())]).rstrip()
    lines = (log_line(line, MOST_OF_AN_ANNOTATION) for line in message.split("\n"))
    return f"::{head}::" + "%0A".join(map(_data, lines))


def markdown(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return one line of Markdown that shows this text and nothing else, in a paragraph, a list or a table."""
    return _escaped(plain(text, most))


def sentence(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return a sentence of the course as one line of Markdown; `code` in it stays code."""
    pieces = _CODE.split(plain(text, most))
    return "".join(code(piece) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def code(text: str, most: int = MOST_OF_A_LINE) -> str:
    """Return text as one line of code in Markdown."""
    line = plain(text, most)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    gap = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{gap}{line}{gap}{fence}"


def _escaped(line: str) -> str:
    broken = _LINKS.sub(lambda found: found[0] + _BREAK, line)
    return _MARKUP.sub(lambda found: _entities(found[0]), broken).replace(_BREAK, "&#8203;")


def _entities(text: str) -> str:
    return "".join(f"&#{ord(character)};" for character in text)


def _data(text: str) -> str:
    return text.replace("%", "%25")  # there are no line ends in it


def _property(text: str) -> str:
    return _data(log_line(text)).replace(":", "%3A").replace(",", "%2C")
