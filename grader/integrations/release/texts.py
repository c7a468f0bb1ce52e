"""How texts are compared with secrets: without spaces and hidden signs, and with what is encoded in them."""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import re
import unicodedata
import zlib
from bisect import bisect
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHORTEST = 20
"""Texts of fewer signs, spaces not counted, occur in any program."""

MOST_UNPACKED = 2**22
"""The most bytes of compressed data inside a text that are searched."""

# What a line begins with in a comment, a quotation or a list; all but letters, digits and the signs of ASCII; quotes,
# of which there are several; and letters that fonts show as nothing.
_IGNORED = re.compile("^[ \t]*[#>*+|-][#>*+|\\s-]*|[^\\w!-~]|[\"'`\u115f\u1160\u3164\uffa0]", re.MULTILINE)
_NEXT = re.compile(r'(?<!\\)"[ \t]*,\s*"')  # between two texts in a list of JSON or Python
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_BASE64 = re.compile(r"(?:[\w+/-]{24,}={0,2}\s*)+", re.ASCII)
_READABLE = re.compile(rb"[\t\n\r -~]{20,}")
_ONLY_BASE64 = re.compile(r"[\w+/-]{200,}", re.ASCII)  # longer than any name


def signs(text: str) -> str:
    """Return what is compared of a text: the same for other spaces, line ends, hidden signs and forms of letters."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text))


def forms(text: str) -> set[str]:
    """Return a text as it is, and with the escapes of JSON, YAML, Python, HTML and addresses, and base64, decoded."""
    once = _ESCAPE.sub(_decoded, _NEXT.sub("\n", text))
    encoded = {_of_base64(found[0]) for found in _BASE64.finditer(once)}
    text, once = (_ONLY_BASE64.sub("", one) for one in (text, once))
    return {text, unquote(text), html.unescape(text), once, _ESCAPE.sub(_decoded, once), *encoded}


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return the number and the text of each line that is long enough to be a secret."""
    return [(number, line) for number, line in enumerate(text.splitlines(), start=1) if is_long(line)]


def is_long(text: str) -> bool:
    """Return whether a text is long enough to be a secret, and is more than a name or a ruler."""
    return len(text) >= SHORTEST and len(re.findall(r"\w+", text)) > 1 and len(signs(text)) >= SHORTEST


class Finder:
    """Finds any of many texts, in a time that does not depend on how many there are."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        for one in wanted:
            self._by_start.setdefault(one[:SHORTEST], []).append(one)

    def find(self, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the line, counted from 1, and the signs of each wanted text in the signs of lines."""
        joined, ends = "".join(lines), list(accumulate(map(len, lines)))
        starts, every = self._by_start, range(len(joined) - SHORTEST + 1)
        for place in [one for one in every if joined[one : one + SHORTEST] in starts]:
            for one in starts[joined[place : place + SHORTEST]]:
                if joined.startswith(one, place):
                    yield bisect(ends, place) + 1, one

    def known(self, texts: Iterable[str]) -> set[str]:
        """Return the wanted texts that are in any of these texts."""
        return {one for text in texts for _, one in self.find([signs(text)])}


def _decoded(escape: re.Match[str]) -> str:
    code, character = escape[1] or escape[2], escape[3]
    return chr(int(code, 16)) if code else _CONTROL.get(character, character)


def _of_base64(text: str) -> str:
    """Return the text that base64 holds, unpacked if it is compressed; "" if it holds none."""
    letters = re.sub(r"[\s=]", "", text).replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return ""
    with contextlib.suppress(zlib.error):
        content = zlib.decompressobj(wbits=47).decompress(content, MOST_UNPACKED)  # zlib's form or gzip's
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return b"\n".join(_READABLE.findall(content)).decode("ascii")
