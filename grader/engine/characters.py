"""What to type in place of a character that only looks like a part of Python."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from grader.sandbox.strays import QUOTES, TYPED

if TYPE_CHECKING:
    import ast

    from grader.engine.source_lines import SourceLines

# As Python's parser says it, with the column that the worker adds.
_INVALID = re.compile(r"invalid (?:non-printable )?character .*?U\+((?:10|[0-9A-F])?[0-9A-F]{4})\)? in column \d+")
_UNTERMINATED = re.compile(r"^unterminated .*string literal")
# A name in an error, or in a hint on it.
_NAME = re.compile(
    r"(?:\b(?:name|attribute|argument|variable|named) '|(?:Did you mean|defines|assigns) `(?:self\.)?)([^\W\d]\w*)['`]"
)
# Letters of the Cyrillic and the Greek alphabet, and the Latin ones that they look like.
_LATIN = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0421\u0415\u041d\u0406\u041a"
    "\u041c\u041e\u0420\u0405\u0422\u0425\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4"
    "\u03a5\u03a7",
    "aceopxyijsdhABCEHIKMOPSTXoABEZHIKMNOPTYX",
)


def hint_on_characters(hint: str, detail: str, file: str | None, line: int | None, lines: SourceLines) -> str:
    """Return what to type, if an error is about a character or a name that only looks right; otherwise the hint.

    Args:
        hint: What to do about the error otherwise.
        detail: The text of the error.
        file: The source that it is in.
        line: The line of that source.
        lines: The submission.
    """
    is_text = lines.is_text(file, line)
    if (invalid := _INVALID.fullmatch(detail)) and not is_text:
        character = chr(int(invalid[1], 16))
        count = lines.count(character, file)
        return f"{_instead_of(character)}{f' It is in {count} lines.' if count > 1 else ''}"
    if _UNTERMINATED.search(detail) and not is_text:
        code = lines.text(file, line)
        found = next((one for one in code if TYPED.get(one) in QUOTES), None)
        return f"A string ends with the quote that it begins with. {_instead_of(found)}" if found else hint
    sentences = (on_name(name, file, line, lines) for name in _NAME.findall(f"{detail} {hint}"))
    return next(filter(None, sentences), hint)


def on_name(name: str, file: str | None, line: int | None, lines: SourceLines) -> str:
    """Return a sentence on a letter that looks like a Latin one and is none, in a name or its twin; otherwise ""."""
    latin = name.translate(_LATIN)
    if not latin.isascii():
        return ""
    top = lines.around(file, line)[:1]
    names = lines.names(file)
    near = [one for one in names if one[0] == latin or (not one[0].isascii() and one[0].translate(_LATIN) == latin)]
    odd = [(one, place) for one, place in near if one != latin and (name != latin or place in _numbers(top))]
    # A name may also be a word of another language.
    if not odd or not (any(map(str.isascii, name.replace("_", ""))) or latin in dict(near)):
        return ""
    word, number = next((one for one in odd if one[1] == line), odd[0])
    at = next(place for place, letter in enumerate(word) if letter != latin[place])
    column = lines.column(word, file, number)
    where = f" (line {number}, column {column + at})" if column else ""
    alphabet = unicodedata.name(word[at]).partition(" ")[0].capitalize()
    return f"`{word}`{where} has a {alphabet} `{word[at]}`: type the Latin `{latin[at]}`."


def _numbers(nodes: list[ast.AST]) -> range:
    """Return the numbers of the lines of a statement, if there is one."""
    return range(nodes[0].lineno, (nodes[0].end_lineno or 0) + 1) if nodes else range(0)  # type: ignore[attr-defined]


def _instead_of(character: str) -> str:
    """Return a sentence on what to type instead of a character."""
    name, category = unicodedata.name(character, "control character").lower(), unicodedata.category(character)
    plain = unicodedata.normalize("NFKC", character)
    a_name = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    if character == "\x1b":
        return "It begins a colour of a terminal: if the line is output, delete it; otherwise delete such codes in it."
    if category == "Zs":
        return f"It is {a_name}, which looks like a space: delete it and type a space."
    if category.startswith(("C", "Z")):
        return f"It is {a_name}, which cannot be seen: delete the characters around it and type these again."
    if unicodedata.decomposition(character).startswith("<super>"):
        return f"`{character}` is not Python: type `** {plain}`."
    typed = TYPED.get(character) or (plain if plain != character and plain.isascii() else "")
    if typed.startswith("** "):
        return f"`{character}` ({name}) is not Python: write `x {typed}` for `{character}x`."
    if typed:
        return f"`{character}` ({name}) is not Python: type `{typed}`."
    return f"`{character}` ({name}) is not Python: delete it, or write it in a string or a comment."
