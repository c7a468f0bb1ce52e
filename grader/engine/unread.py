"""What is in source text that Python cannot read, or reads over: which names a line would define, and where."""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from typing import TYPE_CHECKING

from grader.sandbox.strays import is_code, is_text, typed

if TYPE_CHECKING:
    from collections.abc import Sequence

# Strings and comments. A quote behind a backslash begins no string: a string before it that is not closed would be read
# to the end of the source again for each such quote.
NO_CODE = re.compile(
    r'(?<!\\)(?:("""|' r"'''" r')(?:\\.|[^\\])*?\1|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*')" r"|#[^\n]*",
    re.DOTALL,
)
# What begins a definition, or is meant to.
BEGINNING = r"(?i:(?:async[ \t]+)?def(?:ine)?|class|fn|func?|function)"
# Names that HTML has for signs.
ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,4});")


@functools.lru_cache(maxsize=8)
def lines_with(character: str, source: str) -> int:
    """Return how many lines of code have a character: it is allowed in strings and comments, and usual in texts."""
    code = NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), source)
    return sum(character in line and not is_text(line) for line in code.split("\n"))


def is_indented_together(lines: Sequence[str]) -> bool:
    """Return whether lines have several statements that are all indented alike, and nothing to the left of them."""
    code = [line for line in lines if is_code(line)]
    margin = code[0][: -len(code[0].lstrip())] if code else ""
    begins = [line for line in code if not line.removeprefix(margin)[:1].isspace()]
    return bool(margin) and len(begins) > 1 and all(line.startswith(margin) for line in code)


def would_define(text: str, name: str, is_indented: bool) -> bool:
    """Return whether a line of a text defines or imports a name, although it may be no Python: `Def name():`.

    is_indented: Whether the line may be indented, quoted as in a mail, or a line of a notebook's file.
    """
    if not text.isascii():
        text = typed("".join(one for one in text if unicodedata.category(one) != "Cf"))
    name = re.escape(name)
    begin = r"^[ \t>\"']*" if is_indented else "^"
    header = rf"{BEGINNING}[ \t]+{name}\b|\w+[ \t]+{name}[ \t]*\(.*:[ \t]*$"
    line = rf"{begin}(?:{header}|{name}[ \t]*[:=]|(?:from|import)\b.*\b{name}\b)"
    return re.search(line, text, re.MULTILINE) is not None


def on_html(code: str) -> str:
    """Return a sentence on a sign that is written as in HTML, or ""."""
    found = list(dict.fromkeys(ENTITY.findall(NO_CODE.sub("", code))))
    signs = (f"`{one}` is HTML for `{html.unescape(one)}`".replace("\xa0", " ") for one in found)
    return f"{', and '.join(signs)}: type that." if found else ""
